/* Models, threads and labeled files, from the arguments that commands share. */
#include "cli/frame/command.h"
#include "cli/frame/report.h"

#include <string.h>
#include <unistd.h>

const char *const cli_precisions[] = CQ_PRECISION_NAMES;

int cli_open_model(cq_encoder **out, const char *name, const cq_encoder_options *options) {
  cq_error error = {0};
  cq_encoder_options o = options ? *options : cq_encoder_default_options();
  o.notice = cli_notice;
  return cq_encoder_open(out, name, &o, &error) ? cli_fail_error(&error) : CLI_OK;
}

int cli_open_measured(cq_encoder **out, cq_reranker **reranker, const char *name, const cq_encoder_options *options) {
  bool is_reranker;
  cq_error error = {0};
  cq_encoder_options o = *options;
  if (!reranker || cq_model_is_reranker(&is_reranker, name, NULL) || !is_reranker)
    return cli_open_model(out, name, options);
  o.notice = cli_notice;
  return cq_reranker_open(reranker, name, &o, &error) ? cli_fail_error(&error) : CLI_OK;
}

void cli_note_reranked(const cq_encode_stats *stats, const cq_reranker *reranker) {
  if (stats->n_truncated)
    cli_note("%llu of %llu pairs of query and passage were longer than the reranker's %d tokens and were truncated",
             (unsigned long long)stats->n_truncated, (unsigned long long)stats->n_sentences,
             cq_reranker_max_seq_length(reranker));
}

int cli_open_context(cq_context **out, int n_threads) {
  cq_error error = {0};
  return cq_context_open(out, n_threads, &error) ? cli_fail_error(&error) : CLI_OK;
}

const char *cli_label_end(const char *argument) {
  const char *equals = strchr(argument, '=');
  return equals && equals > argument && access(argument, F_OK) != 0 ? equals : NULL;
}

char *cli_split_label(const char **file, const char *argument) {
  const char *equals = cli_label_end(argument);
  *file = argument;
  if (equals) {
    *file = equals + 1;
    return strndup(argument, (size_t)(equals - argument));
  }
  size_t end = strlen(argument), begin;
  while (end > 1 && argument[end - 1] == '/') end--;
  for (begin = end; begin > 0 && argument[begin - 1] != '/';) begin--;
  const char *name = argument + begin, *dot = strstr(name, ".tsv");
  return strndup(name, dot && dot > name ? (size_t)(dot - name) : end - begin);
}
