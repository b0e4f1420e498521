/* calque cache check: what training and mining keep of vectors. */
#include "cli/frame/command.h"
#include "cli/frame/report.h"

#include <inttypes.h>

struct check_args {
  size_t size;
  const char *cache;
};

static const cq_option check_options[] = {
    {.name = "cache",
     .type = CQ_OPTION_TEXT,
     .argument = "DIR",
     .offset = offsetof(struct check_args, cache),
     .otherwise = "~/.cache/calque",
     .help = "the cache"},
};

typedef struct totals {
  uint64_t n_parts, n_damaged;
} totals;

static void print_part(void *context, const cq_cache_part *part) {
  totals *t = context;
  t->n_parts++;
  t->n_damaged += part->n_damaged;
  if (part->n_damaged)
    printf("%s: %" PRIu64 " of %" PRIu64 " damaged\n", part->path, part->n_damaged, part->n);
  else
    printf("%s: %" PRIu64 ", nothing is damaged\n", part->path, part->n);
}

static int run_cache_check(const cli_call *call) {
  const struct check_args *args = call->options;
  cq_error error = {0};
  totals t = {0};
  if (cq_cache_check(args->cache, print_part, &t, &error)) return cli_fail_error(&error);
  if (t.n_parts == 0) cli_note("the cache is empty");
  return t.n_damaged ? cli_fail("%" PRIu64 " damaged; what is needed of it will be computed again", t.n_damaged)
                     : CLI_OK;
}

static const cli_command cache_check = {
    .name = "check",
    .summary = "verify the checksums of cached vectors",
    .description =
        "Compares each model's vectors, and the states of searches that were stopped, with their checksums. "
        "Exits with 1 where something is damaged. Whoever uses the cache verifies what it reads and computes "
        "again what is damaged; a cache may be deleted at any time.",
    .example = "calque cache check",
    CLI_OPTIONS(struct check_args, check_options),
    .run = run_cache_check,
};

static const cli_command *const children[] = {&cache_check, NULL};

const cli_command cli_cache = {
    .name = "cache",
    .summary = "verify the cache of vectors: check",
    .description = "Training and mining keep the vectors of sentences by model, so that a model is asked once.",
    .example = "calque cache check --cache DIR",
    .children = children,
};
