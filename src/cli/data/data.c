/* calque data: parallel text from other forms, joined, sampled, rid of repetitions, filtered, made by a dictionary,
 * counted. */
#include "cli/data/data.h"

#include "cli/frame/stop.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const cq_option cli_data_flow_options[CLI_DATA_N_FLOW_OPTIONS] = {
    {.name = "output",
     .letter = 'o',
     .type = CQ_OPTION_TEXT,
     .argument = "FILE",
     .offset = offsetof(cli_data_flow, output),
     .otherwise = "standard output",
     .help = "write the rows here, gzipped when the name ends in .gz"},
    CLI_SKIP_BAD(cli_data_flow, skip_bad),
};

static bool watch(void *context, uint64_t n_read) {
  cli_progress_draw(context, "row", n_read, 0, NULL, false);
  return !cli_stop_asked();
}

cq_corpus_flow cli_data_flow_of(const cli_data_flow *args, cli_progress *progress) {
  *progress = cli_progress_start();
  cli_stop_catch();
  return (cq_corpus_flow){
      .output = args->output, .skip_bad = args->skip_bad, .progress = watch, .progress_context = progress};
}

int cli_data_report(cq_status status, const cq_corpus_counts *counts, cli_progress *progress, const cq_error *error) {
  char text[1024];
  cli_progress_clear(progress);
  if (status) return cli_fail_error(error);
  size_t n = (size_t)snprintf(text, sizeof text, "%" PRIu64 " rows read, %" PRIu64 " written", counts->n_read,
                              counts->n_written);
  for (size_t i = 0; i < counts->n_losses && n < sizeof text; i++)
    n += (size_t)snprintf(text + n, sizeof text - n, "%s %" PRIu64 " %s", i ? "," : ";", counts->losses[i].n,
                          counts->losses[i].reason);
  cli_note("%s", text);
  return CLI_OK;
}

const char *const cli_data_matches[] = {"exact", "normalised", NULL};

const char *const cli_data_standard_input[1] = {"-"};

int cli_data_split(const char ***out, size_t *n, char **copy, const char *text) {
  *out = NULL, *n = 0, *copy = NULL;
  if (!text) return CLI_OK;
  size_t most = 1;
  for (const char *p = text; *p; p++) most += *p == ',';
  *copy = strdup(text);
  *out = malloc(most * sizeof **out);
  if (!*copy || !*out) return cli_fail("out of memory");
  char *rest = *copy;
  for (char *item; (item = strsep(&rest, ","));) (*out)[(*n)++] = item;
  return CLI_OK;
}

static const cli_command *const children[] = {&cli_data_convert, &cli_data_pivot, &cli_data_sample, &cli_data_dedup,
                                              &cli_data_filter,  &cli_data_gloss, &cli_data_stats,  NULL};

const cli_command cli_data = {
    .name = "data",
    .summary = "parallel text: convert, pivot, sample, dedup, filter, gloss, stats",
    .description = "Brings parallel text into tab-separated columns, and makes training data of it.",
    .example = "calque data convert --from moses news.en.gz news.de.gz -o raw.tsv\n"
               "calque data filter --languages en,de raw.tsv -o clean.tsv\n"
               "calque data dedup clean.tsv --against test.tsv -o en-de.tsv.gz",
    .children = children,
};
