/* calque mine: parallel sentences out of two corpora, paraphrases out of one, or pairs of rows out of files of
 * vectors. */
#include "cli/frame/command.h"
#include "cli/frame/output.h"
#include "cli/frame/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const margins[] = {"ratio", "distance", "absolute", NULL};
static const char *const retrievals[] = {"forward", "backward", "intersect", "max", NULL};

struct args {
  size_t size;
  const char *model, *cache, *output, *gold;
  cli_list drop;
  double threshold;
  int threads, k, margin, retrieval, candidates, dim, first_pass;
  bool text, skip_bad;
};

static void defaults(void *options) {
  const cq_mine_options o = cq_mine_default_options();
  *(struct args *)options = (struct args){.k = (int)o.k,
                                          .margin = (int)o.choice.margin,
                                          .retrieval = (int)o.choice.retrieval,
                                          .candidates = (int)o.choice.per_row,
                                          .threshold = o.choice.threshold,
                                          .first_pass = (int)o.first_pass};
}

#define AT(field) .offset = offsetof(struct args, field)
static const cq_option options[] = {
    CLI_MODEL_OR_VECTORS(struct args, model, "SOURCE and TARGET are vectors"),
    {.name = "output",
     .letter = 'o',
     .type = CQ_OPTION_TEXT,
     .argument = "FILE",
     AT(output),
     .otherwise = "standard output",
     .help = "write the pairs here"},
    {.name = "margin",
     .type = CQ_OPTION_CHOICE,
     .argument = "KIND",
     AT(margin),
     .choices = margins,
     .help = "the score"},
    {.name = "retrieval",
     .type = CQ_OPTION_CHOICE,
     .argument = "KIND",
     AT(retrieval),
     .choices = retrievals,
     .help =
         "candidates: each source's best, each target's best, both at once, or both sides' taken one to one by score"},
    {.name = "k",
     .letter = 'k',
     .type = CQ_OPTION_INT,
     .argument = "N",
     AT(k),
     .min = 1,
     .max = 4096,
     .help = "neighbours that a margin is taken over"},
    CLI_FIRST_PASS(struct args, first_pass, "numbers in which candidates are first looked for; the pairs are the same"),
    {.name = "candidates",
     .type = CQ_OPTION_INT,
     .argument = "N",
     AT(candidates),
     .min = 1,
     .max = 4096,
     .help = "forward and backward: the N best of each sentence, at most k"},
    {.name = "threshold",
     .type = CQ_OPTION_NUMBER,
     .argument = "X",
     AT(threshold),
     .min = -INFINITY,
     .otherwise = "none",
     .help = "leave out pairs that score less"},
    {.name = "threshold-from",
     .type = CQ_OPTION_TEXT,
     .argument = "GOLD",
     AT(gold),
     .help = "take the threshold of greatest F1 on this file of true pairs: source id, tab, target id"},
    {.name = "drop",
     .type = CQ_OPTION_TEXTS,
     .count_offset = offsetof(struct args, drop.n),
     .argument = "KIND",
     AT(drop),
     .help = "leave out pairs with the same text on both sides (copies), other digits (numbers), or URLs and addresses "
             "on one side or little else (links)"},
    {.name = "text", .type = CQ_OPTION_FLAG, AT(text), .help = "files of ids: add cosine and sentences to each line"},
    CLI_RAW_DIM(struct args, dim, "numbers in a row, for files of f32 alone (LASER's)"),
    CLI_VECTOR_CACHE(
        struct args, cache,
        "where vectors are kept for the next run, and a long search while it runs: killed, it goes on there"),
    CLI_SKIP_BAD(struct args, skip_bad),
    CLI_THREADS(struct args, threads),
};
#undef AT

/* A row as one field: its id, its text, or its number from 1. */
static void print_row(FILE *out, const cq_mining *m, cq_side side, uint32_t row, size_t line) {
  const cq_slice id = cq_mining_id(m, side, row, line), text = cq_mining_sentence(m, side, row);
  if (id.data)
    cli_field(out, id);
  else if (text.data)
    cli_field(out, text);
  else
    fprintf(out, "%" PRIu32, row + 1);
}

static void print_pair(FILE *out, const cq_mining *m, const cq_mined_pair *p, bool text) {
  const bool ids = cq_mining_id(m, CQ_SOURCE, p->source, 0).data || cq_mining_id(m, CQ_TARGET, p->target, 0).data;
  /* A sentence with ids is printed once for each of them; one without says the same each time. */
  const size_t n_source = ids ? cq_mining_n_lines(m, CQ_SOURCE, p->source) : 1;
  const size_t n_target = ids ? cq_mining_n_lines(m, CQ_TARGET, p->target) : 1;
  for (size_t i = 0; i < n_source; i++) {
    for (size_t j = 0; j < n_target; j++) {
      fprintf(out, "%.9g\t", p->score);
      print_row(out, m, CQ_SOURCE, p->source, i);
      fputc('\t', out);
      print_row(out, m, CQ_TARGET, p->target, j);
      if (text) {
        const cq_slice a = cq_mining_sentence(m, CQ_SOURCE, p->source), b = cq_mining_sentence(m, CQ_TARGET, p->target);
        fprintf(out, "\t%.9g\t", p->cosine);
        cli_field(out, a);
        fputc('\t', out);
        cli_field(out, b);
      }
      fputc('\n', out);
    }
  }
}

static int write_pairs(const struct args *args, const cq_mining *m) {
  cq_error error = {0};
  cli_output file = {0};
  size_t n;
  const cq_mined_pair *pairs = cq_mining_pairs(&n, m);
  if (args->output && cli_output_open(&file, args->output, &error)) return cli_fail_error(&error);
  FILE *out = args->output ? file.stream : stdout;
  for (size_t i = 0; i < n && !ferror(out); i++) print_pair(out, m, &pairs[i], args->text);
  if (!args->output) return ferror(out) ? CLI_FAILED : CLI_OK; /* said when standard output is finished */
  if (ferror(out)) {
    cli_output_fail(&file, &error);
    cli_output_abort(&file);
    return cli_fail_error(&error);
  }
  return cli_output_commit(&file, &error) ? cli_fail_error(&error) : CLI_OK;
}

/* What cannot be written is better known before the work. */
static int check_output(const char *path) {
  cq_error error = {0};
  cli_output file = {0};
  if (!path || access(path, F_OK) == 0) return CLI_OK; /* what is there, a pipe say, is opened once */
  const cq_status status = cli_output_open(&file, path, &error);
  cli_output_abort(&file);
  return status ? cli_fail_error(&error) : CLI_OK;
}

static int read_filters(unsigned *drop, const cli_call *call, const cli_list *list) {
  static const struct {
    const char *name;
    unsigned filter;
  } filters[] = {{"copies", CQ_DROP_COPIES}, {"numbers", CQ_DROP_NUMBERS}, {"links", CQ_DROP_LINKS}};
  for (size_t i = 0; i < list->n; i++) {
    size_t f = 0;
    while (f < 3 && strcmp(filters[f].name, list->items[i]) != 0) f++;
    if (f == 3) return cli_usage(call->path, "--drop is '%s', expected copies, numbers or links", list->items[i]);
    *drop |= filters[f].filter;
  }
  return CLI_OK;
}

static int run(const cli_call *call) {
  const struct args *args = call->options;
  cq_error error = {0};
  cq_context *ctx = NULL;
  cq_mining *mining = NULL;
  cli_progress line = cli_progress_start();
  cq_mine_options o = cq_mine_default_options();
  int code = read_filters(&o.drop, call, &args->drop);
  if (code) return code;
  if (!args->model && (args->gold || args->drop.n || args->text))
    return cli_usage(call->path, "--threshold-from, --drop and --text need sentences, and a --model to encode them");
  if (args->gold && call->n_arguments == 1)
    return cli_usage(call->path, "--threshold-from is for pairs between two files");
  if (args->model && args->dim) return cli_usage(call->path, "--dim is for files of vectors, without --model");
  o.source = call->arguments[0], o.target = call->n_arguments == 2 ? call->arguments[1] : NULL;
  o.model = args->model, o.cache_directory = args->cache, o.gold = args->gold;
  o.raw_dim = (size_t)args->dim, o.k = (size_t)args->k, o.skip_bad = args->skip_bad;
  o.first_pass = (cq_first_pass)args->first_pass;
  o.choice = (cq_margin_options){(cq_margin)args->margin, (cq_retrieval)args->retrieval, (size_t)args->candidates,
                                 args->threshold};
  o.notice = cli_notice, o.progress = cli_progress_watch, o.progress_context = &line;
  code = check_output(args->output);
  if (code == CLI_OK) code = cli_open_context(&ctx, args->threads);
  if (code == CLI_OK) {
    code = cq_mine(&mining, &o, ctx, &error) ? CLI_FAILED : CLI_OK;
    cli_progress_clear(&line);
    if (code) cli_fail_error(&error);
  }
  if (code == CLI_OK && args->gold) {
    const cq_f1_point p = cq_mining_tuned(mining);
    cli_note("threshold %.6g: precision %.2f, recall %.2f, F1 %.2f (%zu pairs, %zu of them right)", p.threshold,
             100 * p.precision, 100 * p.recall, 100 * p.f1, p.n_taken, p.n_correct);
  }
  if (code == CLI_OK) code = write_pairs(args, mining);
  cq_mining_free(mining);
  cq_context_free(ctx);
  return code;
}

const cli_command cli_mine = {
    .name = "mine",
    .summary = "find translations between two corpora, or paraphrases in one",
    .arguments = "SOURCE [TARGET]",
    .min_arguments = 1,
    .max_arguments = 2,
    .description =
        "Finds sentences of two files that are translations of one another, by the margin of their cosine over those "
        "of "
        "their neighbours (Artetxe & Schwenk 2019), and prints lines of score, source and target, best first. Files "
        "hold a sentence a line, or an id, a tab and a sentence (then ids are printed); plain or gzipped. Without "
        "--model "
        "they hold vectors, and row numbers are printed. With one file, pairs within it are found. Neighbours are "
        "exact.",
    .example = "calque mine --model multilingual news.de.gz news.en.gz --threshold 1.06 --drop copies > pairs.tsv\n"
               "calque mine --model multilingual train.de.gz train.en.gz --threshold-from train.gold",
    CLI_OPTIONS(struct args, options),
    .defaults = defaults,
    .run = run,
};
