/* calque eval mt: translations against reference translations, by BLEU, chrF and METEOR. */
#include "cli/frame/command.h"
#include "cli/frame/report.h"

#include <stdlib.h>
#include <string.h>

enum { BLEU, CHRF, CHRF_WORDS, METEOR, N_MEASURES };

struct args {
  size_t size;
  cli_list measures;
  cq_mt_tokens tokens;
  cq_bleu_smoothing smoothing;
  double smooth_value;
  cq_meteor_options meteor;
  bool lowercase, sentences, json, csv;
};

static const char *const tokens[] = {"13a", "intl", "zh", "char", "none", NULL}; /* in cq_mt_tokens's order */
static const char *const smoothings[] = {"exp", "floor", "add-k", "none", NULL}; /* in cq_bleu_smoothing's */

static void defaults(void *options) {
  *(struct args *)options = (struct args){.smooth_value = -1, .meteor = cq_meteor_default_options()};
}

static const cq_option options[] = {
    {.name = "measure",
     .type = CQ_OPTION_TEXTS,
     .count_offset = offsetof(struct args, measures.n),
     .argument = "NAME",
     .offset = offsetof(struct args, measures),
     .help = "bleu, chrf, chrf++ or meteor; else all"},
    {.name = "tokens",
     .type = CQ_OPTION_CHOICE,
     .argument = "RULES",
     .offset = offsetof(struct args, tokens),
     .choices = tokens,
     .help = "what BLEU and METEOR take for a word"},
    {.name = "lowercase",
     .type = CQ_OPTION_FLAG,
     .offset = offsetof(struct args, lowercase),
     .help = "BLEU and chrF of text in lower case; METEOR's always is"},
    {.name = "smooth",
     .type = CQ_OPTION_CHOICE,
     .argument = "METHOD",
     .offset = offsetof(struct args, smoothing),
     .choices = smoothings,
     .help = "BLEU: what orders without a match count"},
    {.name = "smooth-value",
     .type = CQ_OPTION_NUMBER,
     .argument = "X",
     .offset = offsetof(struct args, smooth_value),
     .max = 1e6,
     .otherwise = "0.1 for floor, 1 for add-k",
     .help = "BLEU: how much of one"},
    {.name = "language",
     .letter = 'l',
     .type = CQ_OPTION_TEXT,
     .argument = "CODE",
     .offset = offsetof(struct args, meteor.language),
     .otherwise = "none",
     .help = "METEOR: match words with the same stem in this language, too: en, de, hi, ar ..."},
    {.name = "synonyms",
     .type = CQ_OPTION_TEXT,
     .argument = "FILE",
     .offset = offsetof(struct args, meteor.synonyms),
     .otherwise = "none",
     .help = "METEOR: match synonyms, too: a set of words a line, separated by tabs"},
    {.name = "alpha",
     .type = CQ_OPTION_NUMBER,
     .argument = "X",
     .offset = offsetof(struct args, meteor.alpha),
     .max = 1,
     .help = "METEOR: weight of recall"},
    {.name = "beta",
     .type = CQ_OPTION_NUMBER,
     .argument = "X",
     .offset = offsetof(struct args, meteor.beta),
     .max = 1e6,
     .help = "METEOR: power of the chunks' share"},
    {.name = "gamma",
     .type = CQ_OPTION_NUMBER,
     .argument = "X",
     .offset = offsetof(struct args, meteor.gamma),
     .max = 1,
     .help = "METEOR: greatest penalty for chunks"},
    {.name = "sentences",
     .letter = 's',
     .type = CQ_OPTION_FLAG,
     .offset = offsetof(struct args, sentences),
     .help = "print a line for each sentence before those of the corpus"},
    CLI_JSON(struct args, json),
    {.name = "csv",
     .type = CQ_OPTION_FLAG,
     .offset = offsetof(struct args, csv),
     .help = "print comma-separated values"},
};

/* One measure of one call. */
typedef struct figure {
  const char *name;    /* as in --measure */
  const char *heading; /* in the table */
  bool wanted;
  double score, *sentences; /* [n] */
  char signature[CQ_MT_SIGNATURE];
} figure;

typedef struct figures {
  figure each[N_MEASURES];
  cq_bleu_result bleu;
  cq_meteor_result meteor;
} figures;

static const figure measures[N_MEASURES] = {
    [BLEU] = {"bleu", "BLEU"},
    [CHRF] = {"chrf", "chrF"},
    [CHRF_WORDS] = {"chrf++", "chrF++"},
    [METEOR] = {"meteor", "METEOR"},
};

/* --- measuring --- */

static int choose(figures *f, const cli_call *call) {
  const struct args *args = call->options;
  memcpy(f->each, measures, sizeof measures);
  for (size_t m = 0; m < N_MEASURES; m++) f->each[m].wanted = args->measures.n == 0;
  for (size_t i = 0; i < args->measures.n; i++) {
    size_t m = 0;
    while (m < N_MEASURES && strcmp(args->measures.items[i], measures[m].name) != 0) m++;
    if (m == N_MEASURES)
      return cli_usage(call->path, "there is no measure '%s', expected bleu, chrf, chrf++ or meteor",
                       args->measures.items[i]);
    f->each[m].wanted = true;
  }
  return CLI_OK;
}

static cq_status bleu(figures *f, const struct args *args, const cq_mt_texts *texts, cq_error *error) {
  const cq_bleu_options o = {.tokens = args->tokens,
                             .lowercase = args->lowercase,
                             .smoothing = args->smoothing,
                             .smooth_value = args->smooth_value};
  cq_bleu_signature(f->each[BLEU].signature, &o, texts->n_references);
  cq_status status = cq_bleu(&f->bleu, f->each[BLEU].sentences, texts, &o, error);
  f->each[BLEU].score = f->bleu.score;
  return status;
}

static cq_status chrf(figure *f, int word_order, const struct args *args, const cq_mt_texts *texts, cq_error *error) {
  cq_chrf_options o = cq_chrf_default_options();
  o.word_order = word_order, o.lowercase = args->lowercase;
  cq_chrf_signature(f->signature, &o, texts->n_references);
  return cq_chrf(&f->score, f->sentences, texts, &o, error);
}

static cq_status meteor(figures *f, const struct args *args, const cq_mt_texts *texts, cq_error *error) {
  cq_meteor_options o = args->meteor;
  o.tokens = args->tokens;
  cq_meteor_signature(f->each[METEOR].signature, &o, texts->n_references);
  cq_status status = cq_meteor(&f->meteor, f->each[METEOR].sentences, texts, &o, error);
  f->each[METEOR].score = f->meteor.score;
  return status;
}

static int measure(figures *f, const struct args *args, const cq_mt_texts *texts) {
  cq_error error = {0};
  cq_status status = CQ_OK;
  for (size_t m = 0; args->sentences && m < N_MEASURES; m++)
    if (f->each[m].wanted && !(f->each[m].sentences = calloc(texts->n, sizeof(double))))
      return cli_fail("out of memory");
  if (f->each[BLEU].wanted) status = bleu(f, args, texts, &error);
  if (!status && f->each[CHRF].wanted) status = chrf(&f->each[CHRF], 0, args, texts, &error);
  if (!status && f->each[CHRF_WORDS].wanted) status = chrf(&f->each[CHRF_WORDS], 2, args, texts, &error);
  if (!status && f->each[METEOR].wanted) status = meteor(f, args, texts, &error);
  if (!status && f->meteor.n_approximate)
    cli_note("METEOR: %zu sentences repeat words too often for all alignments to be tried", f->meteor.n_approximate);
  return status ? cli_fail_error(&error) : CLI_OK;
}

/* --- what is printed --- */

static void print_counts(const char *name, const size_t *counts) {
  for (size_t n = 0; n < CQ_BLEU_ORDER; n++) printf("%s%zu", n ? ", " : name, counts[n]);
}

static void print_bleu_counts(const cq_bleu_result *r) {
  for (size_t n = 0; n < CQ_BLEU_ORDER; n++) printf("%s%.9g", n ? ", " : ", \"precisions\": [", r->precisions[n]);
  printf("], \"brevity_penalty\": %.9g", r->brevity_penalty);
  print_counts(", \"n_correct\": [", r->n_correct);
  print_counts("], \"n_total\": [", r->n_total);
  printf("], \"n_hypothesis_words\": %zu, \"n_reference_words\": %zu", r->n_hypothesis_words, r->n_reference_words);
}

static void print_meteor_counts(const cq_meteor_result *r) {
  printf(", \"mean\": %.9g, \"precision\": %.9g, \"recall\": %.9g, \"fragmentation_penalty\": %.9g, "
         "\"n_exact\": %zu, \"n_stem\": %zu, \"n_synonym\": %zu, \"n_chunks\": %zu, \"n_hypothesis_words\": %zu, "
         "\"n_reference_words\": %zu, \"n_approximate\": %zu",
         r->mean, r->precision, r->recall, r->fragmentation_penalty, r->n_exact, r->n_stem, r->n_synonym, r->n_chunks,
         r->n_hypothesis_words, r->n_reference_words, r->n_approximate);
}

static void print_json(const figures *f, const struct args *args, const cq_mt_texts *texts) {
  const char *between = "";
  printf("{\"measure\": \"mt\", \"n\": %zu, \"results\": [", texts->n);
  for (size_t m = 0; m < N_MEASURES; m++) {
    if (!f->each[m].wanted) continue;
    printf("%s\n  {\"name\": \"%s\", \"score\": %.9g, \"signature\": ", between, f->each[m].name, f->each[m].score);
    cli_json_text(stdout, f->each[m].signature, strlen(f->each[m].signature));
    if (m == BLEU) print_bleu_counts(&f->bleu);
    if (m == METEOR) print_meteor_counts(&f->meteor);
    printf("}");
    between = ",";
  }
  printf("\n]");
  for (size_t i = 0; args->sentences && i < texts->n; i++) {
    printf(i ? ",\n  {" : ", \"sentences\": [\n  {");
    between = "";
    for (size_t m = 0; m < N_MEASURES; m++) {
      if (!f->each[m].wanted) continue;
      printf("%s\"%s\": %.9g", between, f->each[m].name, f->each[m].sentences[i]);
      between = ", ";
    }
    printf("}");
  }
  printf(args->sentences ? "\n]}\n" : "}\n");
}

static void sentence_rows(cli_table *table, const figures *f, size_t n, bool csv) {
  cli_table_cell(table, "sentence");
  for (size_t m = 0; m < N_MEASURES; m++)
    if (f->each[m].wanted) cli_table_cell(table, "%s", csv ? f->each[m].name : f->each[m].heading);
  for (size_t i = 0; i < n; i++) {
    cli_table_cell(table, "%zu", i + 1);
    for (size_t m = 0; m < N_MEASURES; m++)
      if (f->each[m].wanted) cli_table_cell(table, csv ? "%.9g" : "%.2f", f->each[m].sentences[i]);
  }
}

static void corpus_rows(cli_table *table, const figures *f, bool csv) {
  cli_table_cell(table, csv ? "measure" : "");
  cli_table_cell(table, "score");
  cli_table_cell(table, "signature");
  for (size_t m = 0; m < N_MEASURES; m++) {
    if (!f->each[m].wanted) continue;
    cli_table_cell(table, "%s", csv ? f->each[m].name : f->each[m].heading);
    cli_table_cell(table, csv ? "%.9g" : "%.2f", f->each[m].score);
    cli_table_cell(table, "%s", f->each[m].signature);
    if (m != METEOR) continue;
    cli_table_cell(table, csv ? "meteor-mean" : "METEOR, mean");
    cli_table_cell(table, csv ? "%.9g" : "%.2f", f->meteor.mean);
    cli_table_cell(table, "%s", f->each[m].signature);
  }
}

static int print_tables(const figures *f, const struct args *args, const cq_mt_texts *texts) {
  cli_table sentences = {.n_columns = 1}, corpus = {.n_columns = 3};
  for (size_t m = 0; m < N_MEASURES; m++) sentences.n_columns += f->each[m].wanted;
  if (args->sentences) sentence_rows(&sentences, f, texts->n, args->csv);
  corpus_rows(&corpus, f, args->csv);
  const bool failed = sentences.failed || corpus.failed;
  if (!failed && args->sentences) {
    cli_table_print(&sentences, stdout, args->csv);
    printf("\n");
  }
  if (!failed) cli_table_print(&corpus, stdout, args->csv);
  cli_table_free(&sentences);
  cli_table_free(&corpus);
  return failed ? cli_fail("out of memory") : CLI_OK;
}

static int run(const cli_call *call) {
  const struct args *args = call->options;
  figures f = {0};
  cq_error error = {0};
  cq_mt_texts *texts;
  if (args->json && args->csv) return cli_usage(call->path, "--json and --csv exclude each other");
  int code = choose(&f, call);
  if (code) return code;
  if (cq_mt_read(&texts, call->arguments[0], call->arguments + 1, call->n_arguments - 1, &error))
    return cli_fail_error(&error);
  code = measure(&f, args, texts);
  if (code == CLI_OK && args->json)
    print_json(&f, args, texts);
  else if (code == CLI_OK)
    code = print_tables(&f, args, texts);
  for (size_t m = 0; m < N_MEASURES; m++) free(f.each[m].sentences);
  cq_mt_free(texts);
  return code;
}

const cli_command cli_eval_mt = {
    .name = "mt",
    .summary = "BLEU, chrF and METEOR of translations against references",
    .arguments = "HYPOTHESES REFERENCES...",
    .min_arguments = 2,
    .max_arguments = -1,
    .description =
        "Compares translations, a sentence a line, with one or more files of reference translations, plain or gzipped, "
        "all of as many lines. BLEU, chrF and chrF++ are sacreBLEU's figures and have its signatures, with calque's "
        "version; text must not be tokenised. METEOR matches equal words, then stems and synonyms where they are "
        "asked for; its score is from the sums over the corpus, and the mean of the sentences' scores stands beside "
        "it. A sentence's BLEU counts the orders that it has.",
    .example = "calque eval mt output.de reference.de --language de\n"
               "calque eval mt output.zh first.zh second.zh --tokens zh --measure bleu --json",
    CLI_OPTIONS(struct args, options),
    .defaults = defaults,
    .run = run,
};
