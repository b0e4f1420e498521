/* calque model center: makes a model's vectors independent of the language. cq_center does the work and defines the
 * options. */
#include "calque/center.h"
#include "cli/frame/command.h"
#include "cli/frame/report.h"

struct args {
  size_t size;
  const char *output;
  bool json;
};

static const cq_option options[] = {
    {CQ_TEXT(struct args, "output", output, CHANGES, "DIRECTORY", "write the new model here"), .letter = 'o',
     .flags = CQ_OPTION_REQUIRED},
    CLI_JSON(struct args, json),
};

static void print_cosines(const cq_center_result *r) {
  const struct {
    const char *name;
    double before, after;
  } rows[] = {{"its meaning", r->before.same_meaning, r->after.same_meaning},
              {"others of its language", r->before.same_language, r->after.same_language},
              {"those of other languages", r->before.other_language, r->after.other_language}};
  printf("%-36s %8s %8s\n", "cosine of a translation with", "before", "after");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    printf("%-36s %8.3f %8.3f\n", rows[i].name, rows[i].before, rows[i].after);
}

static void print_json_cosines(const char *name, const cq_center_cosines *c) {
  printf(", \"%s\": {", name);
  cli_json_number(stdout, "\"same_meaning\": ", c->same_meaning, 6);
  cli_json_number(stdout, ", \"same_language\": ", c->same_language, 6);
  cli_json_number(stdout, ", \"other_language\": ", c->other_language, 6);
  printf("}");
}

static int run_model_center(const cli_call *call) {
  const struct args *args = call->options;
  cq_error error = {0};
  cq_center_result r;
  const int code = cli_check_options(call);
  if (code) return code;
  if (cq_center(args->output, call->arguments[0], &r, call->library, NULL, &error)) return cli_fail_error(&error);
  if (args->json) {
    printf("{\"n_pairs\": %llu, \"n_bad\": %llu", (unsigned long long)r.n_pairs, (unsigned long long)r.n_bad);
    print_json_cosines("before", &r.before);
    print_json_cosines("after", &r.after);
    printf("}\n");
  } else {
    print_cosines(&r);
  }
  if (r.n_bad) cli_note("%llu malformed lines left out", (unsigned long long)r.n_bad);
  cli_note("wrote %s", args->output);
  return CLI_OK;
}

const cli_command cli_model_center = {
    .name = "center",
    .summary = "make vectors depend on the meaning, not on the language",
    CLI_ARGUMENTS("MODEL", 1, 1),
    .description = "Takes out of a multilingual model's vectors what they say about the language. In most models, "
                   "unrelated sentences of one language are nearer to each other than those of two, so that search "
                   "prefers documents in the query's own language. Some hundred pairs a language suffice, and nothing "
                   "is trained: the result is the model with one linear map after its vectors. The table printed is "
                   "measured on a tenth of the pairs, which the map is not made from.",
    .example = "calque model center multilingual-e5-small --pairs en-de.tsv --pairs en-ko.tsv \\\n"
               "    --pairs en-sw.tsv.gz --output e5-neutral",
    CLI_GROUP(&cq_group_center),
    CLI_OPTIONS(struct args, options),
    .run = run_model_center,
};
