/* calque cache check, info, clear: the cached vectors of training and mining. */
#include "cli/frame/command.h"
#include "cli/frame/report.h"

#include <inttypes.h>
#include <time.h>

struct check_args {
  size_t size;
  const char *cache;
};

#define CACHE_ROW(owner)                                                                                               \
  { CQ_TEXT(owner, "cache", cache, CHANGES, "DIR", "the cache"), .otherwise = "~/.cache/calque" }
static const cq_option check_options[] = {CACHE_ROW(struct check_args)};

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
  return t.n_damaged ? cli_fail("%" PRIu64 " damaged; needed vectors will be computed again", t.n_damaged) : CLI_OK;
}

static const cli_command cache_check = {
    .name = "check",
    .summary = "verify the checksums of cached vectors",
    .description = "Compares each model's vectors, and the states of searches that were stopped, with their checksums. "
                   "Exits with 1 if something is damaged. Commands that use the cache verify what they read and "
                   "recompute damaged entries; a cache may be deleted at any time.",
    .example = "calque cache check",
    CLI_OPTIONS(struct check_args, check_options),
    .run = run_cache_check,
};

/* --- info, clear --- */

struct clear_args {
  size_t size;
  const char *cache;
  double days;
};

static const cq_option clear_options[] = {
    CACHE_ROW(struct clear_args),
    {CQ_NUMBER(struct clear_args, "days", days, CHANGES, 0, 0, 1e6, "N", "only models without additions for N days"),
     .otherwise = "everything"},
};

typedef struct sizes {
  uint64_t n_parts, n_bytes;
} sizes;

static void print_size(void *context, const cq_cache_part *part) {
  sizes *s = context;
  const time_t changed = (time_t)part->changed;
  char date[32] = "";
  struct tm day;
  if (localtime_r(&changed, &day)) strftime(date, sizeof date, "%Y-%m-%d", &day);
  s->n_parts++, s->n_bytes += part->n_bytes;
  printf("%" PRIu64 "\t%s\t%s\n", part->n_bytes, date, part->path);
}

static int report_sizes(const sizes *s, const char *what, cq_status status, const cq_error *error) {
  if (status) return cli_fail_error(error);
  cli_note("%" PRIu64 " %s, %.1f MB", s->n_parts, what, (double)s->n_bytes / 1e6);
  return CLI_OK;
}

static int run_cache_info(const cli_call *call) {
  const struct check_args *args = call->options;
  cq_error error = {0};
  sizes s = {0};
  return report_sizes(&s, "parts", cq_cache_info(args->cache, print_size, &s, &error), &error);
}

static int run_cache_clear(const cli_call *call) {
  const struct clear_args *args = call->options;
  cq_error error = {0};
  sizes s = {0};
  return report_sizes(&s, "parts removed", cq_cache_clear(args->cache, args->days, print_size, &s, &error), &error);
}

static const cli_command cache_info = {
    .name = "info",
    .summary = "list what is cached: bytes, date, path",
    .description = "Prints a line for each model's vectors, each state of a search and each index of a read-only "
                   "folder: bytes, the day something was last added, the path.",
    .example = "calque cache info",
    CLI_OPTIONS(struct check_args, check_options),
    .run = run_cache_info,
};
static const cli_command cache_clear = {
    .name = "clear",
    .summary = "remove cached entries, or only old ones",
    .description = "Removes cached vectors, states of searches and indexes of folders, and prints what was removed, as "
                   "'calque cache info' does. It is computed again when needed.",
    .example = "calque cache clear --days 30",
    CLI_OPTIONS(struct clear_args, clear_options),
    .run = run_cache_clear,
};

static const cli_command *const children[] = {&cache_check, &cache_clear, &cache_info, NULL};

const cli_command cli_cache = {
    .name = "cache",
    .summary = "the cache of vectors: check, clear, info",
    .description = "Training and mining keep the vectors of sentences by model, so that each is encoded once; search "
                   "keeps the indexes of read-only folders.",
    .example = "calque cache check --cache DIR",
    .children = children,
};
