/* calque eval retrieval: evaluates a ranked run against relevance judgments. */
#include "calque/lab/retrieval.h"
#include "cli/frame/command.h"
#include "cli/frame/report.h"

struct args {
  size_t size;
  bool per_topic;
  cli_tables as;
};

static const cq_option options[] = {
    {CQ_FLAG(struct args, "per-topic", per_topic, CHANGES, "print each topic's figures before those over all"),
     .letter = 'q'},
    CLI_TABLES(struct args, as),
};

/* One topic's figures or, of ALL, those over all. */
enum { ALL = -1 };

static cq_slice name_of(const cq_retrieval_eval *r, long topic) {
  return topic == ALL ? (cq_slice){"all", 3} : cq_retrieval_eval_topic(r, (size_t)topic);
}

static double print_figure(const cq_retrieval_eval *r, long topic, size_t m) {
  return topic == ALL ? cq_retrieval_eval_overall(r, m) : cq_retrieval_eval_value(r, (size_t)topic, m);
}

static void print_topic_json(const cq_retrieval_eval *r, long topic) {
  cli_json_text(stdout, "{\"topic\": ", name_of(r, topic));
  for (size_t m = 0; m < cq_retrieval_eval_n_measures(r); m++) {
    printf(", \"%s\": ", cq_retrieval_eval_measure(r, m));
    cli_json_number(stdout, "", print_figure(r, topic, m), 0);
  }
  printf("}\n");
}

static void print_topic_lines(const cq_retrieval_eval *r, long topic) {
  const cq_slice name = name_of(r, topic);
  for (size_t m = 0; m < cq_retrieval_eval_n_measures(r); m++)
    printf("%s\t%.*s\t%.*f\n", cq_retrieval_eval_measure(r, m), (int)name.n, name.data,
           cq_retrieval_eval_is_count(r, m) ? 0 : 4, print_figure(r, topic, m));
}

/* A row for each topic and a column for each measure; as text, trec_eval's lines are printed instead. */
static int print_retrieval_table(const cq_retrieval_eval *r, bool per_topic, cli_table_format format) {
  const size_t n_measures = cq_retrieval_eval_n_measures(r);
  cli_table table = {.n_columns = 1 + n_measures};
  cli_table_cell(&table, "topic");
  for (size_t m = 0; m < n_measures; m++) cli_table_cell(&table, "%s", cq_retrieval_eval_measure(r, m));
  const long n_topics = (long)cq_retrieval_eval_n_topics(r);
  for (long t = per_topic ? 0 : n_topics; t <= n_topics; t++) {
    const long topic = t < n_topics ? t : ALL;
    const cq_slice name = name_of(r, topic);
    cli_table_cell(&table, "%.*s", (int)name.n, name.data);
    for (size_t m = 0; m < n_measures; m++)
      cli_table_cell(&table, "%.*f", cq_retrieval_eval_is_count(r, m) ? 0 : 4, print_figure(r, topic, m));
  }
  const bool failed = table.failed;
  if (!failed) cli_table_print(&table, stdout, format);
  cli_table_free(&table);
  return failed ? cli_fail("out of memory") : CLI_OK;
}

static int run_retrieval(const cli_call *call) {
  const struct args *args = call->options;
  void (*const print)(const cq_retrieval_eval *, long) = args->as.json ? print_topic_json : print_topic_lines;
  cq_error error = {0};
  cq_retrieval_eval *r;
  cli_table_format format;
  int code = cli_tables_format(&format, call, &args->as);
  if (code) return code;
  if (cq_eval_retrieval(&r, call->arguments[0], call->arguments[1], call->library, &error))
    return cli_fail_error(&error);
  if (format != CLI_TABLE_TEXT) {
    code = print_retrieval_table(r, args->per_topic, format);
  } else {
    for (size_t t = 0; args->per_topic && t < cq_retrieval_eval_n_topics(r); t++) print(r, (long)t);
    print(r, ALL);
  }
  if (cq_retrieval_eval_notice(r)) cli_note("%s", cq_retrieval_eval_notice(r));
  cq_retrieval_eval_free(r);
  return code;
}

const cli_command cli_eval_retrieval = {
    .name = "retrieval",
    .summary = "MAP, nDCG, precision, recall of ranked documents",
    CLI_ARGUMENTS("QRELS RUN", 2, 2),
    .description = "Compares a run with relevance judgments, both plain or compressed. A run has lines of topic, Q0, "
                   "document, rank, score and tag; judgments have lines of topic, iteration, document and relevance. "
                   "Prints lines of measure, topic and figure, the same as trec_eval's.",
    .example = "calque eval retrieval qrels.txt run.txt --measure map --measure ndcg_cut_10",
    CLI_GROUP(&cq_group_retrieval_eval),
    CLI_OPTIONS(struct args, options),
    .run = run_retrieval,
};
