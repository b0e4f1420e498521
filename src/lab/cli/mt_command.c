/* calque eval mt: evaluates translations against reference translations, by BLEU, chrF and METEOR. */
#include "calque/analysis.h"
#include "calque/lab/mt.h"
#include "cli/frame/command.h"
#include "cli/frame/report.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { BLEU, CHRF, CHRF_WORDS, METEOR, N_MEASURES };

static const char *const measure_names[] = {"bleu", "chrf", "chrf++", "meteor", NULL};

struct args {
  size_t size;
  unsigned measures; /* bit m: measure m; 0: all */
  bool sentences;
  cli_tables as;
  cq_bleu_options *bleu;
  cq_meteor_options *meteor;
};

static const cq_option options[] = {
    {CQ_CHOICES(struct args, "measure", measures, CHANGES, measure_names, "NAME", "compute only this")},
    {CQ_FLAG(struct args, "sentences", sentences, CHANGES, "print a line for each sentence before the corpus scores"),
     .letter = 's'},
    CLI_TABLES(struct args, as),
};
static const char *const as_bleu[] = {"tokens", NULL};
static const char *const not_of_corpora[] = {"effective-order", NULL};
static const cq_option_note notes[] = {{"tokens", "zh for Chinese, char for other --language without blanks, or 13a"},
                                       {0}};
static const cq_option_part groups[] = {
    {.group = &cq_group_bleu, .offset = offsetof(struct args, bleu), .left_out = not_of_corpora, .notes = notes},
    {.group = &cq_group_meteor, .offset = offsetof(struct args, meteor), .left_out = as_bleu},
    {0}};

/* One measure of one call. */
typedef struct figure {
  bool wanted;
  double score, *sentences; /* [n] */
  char signature[CQ_MT_SIGNATURE];
} figure;

typedef struct figures {
  figure each[N_MEASURES];
  cq_bleu_result bleu;
  cq_meteor_result meteor;
} figures;

static const char *const headings[N_MEASURES] = {"BLEU", "chrF", "chrF++", "METEOR"};

/* --- measuring --- */

/* The tokenization that sacreBLEU chooses for a language; characters instead of a segmenter's words. */
static cq_mt_tokens tokens_of_language(const char *language) {
  static const char *const chinese[] = {"zh", "zho", "chi", "cmn", "yue", "lzh"};
  static const char *const without_blanks[] = {"ja", "jpn", "th", "tha", "km", "khm", "lo", "lao", "my", "mya"};
  const size_t n = strcspn(language, "-_");
  for (size_t i = 0; i < sizeof chinese / sizeof *chinese; i++)
    if (strlen(chinese[i]) == n && !strncasecmp(chinese[i], language, n)) return CQ_MT_ZH;
  for (size_t i = 0; i < sizeof without_blanks / sizeof *without_blanks; i++)
    if (strlen(without_blanks[i]) == n && !strncasecmp(without_blanks[i], language, n)) return CQ_MT_CHAR;
  return CQ_MT_13A;
}

/* Whether what blanks separate is too long to be words, as in Chinese. */
static bool lacks_blanks(const cq_mt_texts *texts) {
  size_t n_words = 0, n_characters = 0;
  for (size_t i = 0; i < texts->n; i++) {
    const cq_slice text = texts->references[0][i];
    n_words++;
    for (size_t at = 0; at < text.n; at++) {
      n_words += text.data[at] == ' ';
      n_characters += ((unsigned char)text.data[at] & 0xc0) != 0x80;
    }
  }
  return n_characters > 15 * n_words;
}

static cq_status measure_bleu(figures *f, const struct args *args, const cq_mt_texts *texts, cq_error *error) {
  figure *own = &f->each[BLEU];
  cq_status status = cq_bleu(&f->bleu, own->sentences, texts, args->bleu, error);
  own->score = f->bleu.score;
  return status ? status : cq_bleu_signature(own->signature, args->bleu, texts->n_references, error);
}

static cq_status measure_chrf(figure *own, int word_order, const struct args *args, const cq_mt_texts *texts,
                              cq_error *error) {
  cq_chrf_options o = cq_chrf_default_options();
  o.word_order = word_order, o.lowercase = args->bleu->lowercase;
  cq_status status = cq_chrf(&own->score, own->sentences, texts, &o, error);
  return status ? status : cq_chrf_signature(own->signature, &o, texts->n_references, error);
}

static cq_status measure_meteor(figures *f, const struct args *args, const cq_mt_texts *texts, cq_error *error) {
  figure *own = &f->each[METEOR];
  args->meteor->tokens = args->bleu->tokens; /* --tokens is of both */
  cq_status status = cq_meteor(&f->meteor, own->sentences, texts, args->meteor, error);
  own->score = f->meteor.score;
  return status ? status : cq_meteor_signature(own->signature, args->meteor, texts->n_references, error);
}

static int measure_texts(figures *f, const struct args *args, const cq_mt_texts *texts) {
  cq_error error = {0};
  cq_status status = CQ_OK;
  for (unsigned m = 0; m < N_MEASURES; m++) {
    figure *own = &f->each[m];
    own->wanted = !args->measures || args->measures & 1u << m;
    if (args->sentences && own->wanted && !(own->sentences = calloc(texts->n, sizeof(double))))
      return cli_fail("out of memory");
  }
  const char *language = args->meteor->language;
  if (f->each[METEOR].wanted && language && !cq_has_stemmer(language))
    cli_note("METEOR: there is no stemmer for the language '%s', only equal words match", language);
  if (f->each[BLEU].wanted) status = measure_bleu(f, args, texts, &error);
  if (!status && f->each[CHRF].wanted) status = measure_chrf(&f->each[CHRF], 0, args, texts, &error);
  if (!status && f->each[CHRF_WORDS].wanted) status = measure_chrf(&f->each[CHRF_WORDS], 2, args, texts, &error);
  if (!status && f->each[METEOR].wanted) status = measure_meteor(f, args, texts, &error);
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

static void print_mt_json(const figures *f, const struct args *args, const cq_mt_texts *texts) {
  const char *between = "";
  printf("{\"measure\": \"mt\", \"n\": %zu, \"results\": [", texts->n);
  for (size_t m = 0; m < N_MEASURES; m++) {
    if (!f->each[m].wanted) continue;
    printf("%s\n  {\"name\": \"%s\"", between, measure_names[m]);
    cli_json_number(stdout, ", \"score\": ", f->each[m].score, 0);
    cli_json_text(stdout, ", \"signature\": ", cq_slice_of(f->each[m].signature));
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
      printf("%s\"%s\": %.9g", between, measure_names[m], f->each[m].sentences[i]);
      between = ", ";
    }
    printf("}");
  }
  printf(args->sentences ? "\n]}\n" : "}\n");
}

static void sentence_rows(cli_table *table, const figures *f, size_t n, bool csv) {
  cli_table_cell(table, "sentence");
  for (size_t m = 0; m < N_MEASURES; m++)
    if (f->each[m].wanted) cli_table_cell(table, "%s", csv ? measure_names[m] : headings[m]);
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
    cli_table_cell(table, "%s", csv ? measure_names[m] : headings[m]);
    cli_table_cell(table, csv ? "%.9g" : "%.2f", f->each[m].score);
    cli_table_cell(table, "%s", f->each[m].signature);
    if (m != METEOR) continue;
    cli_table_cell(table, csv ? "meteor-mean" : "METEOR, mean");
    cli_table_cell(table, csv ? "%.9g" : "%.2f", f->meteor.mean);
    cli_table_cell(table, "%s", f->each[m].signature);
  }
}

static int print_mt_tables(const figures *f, const struct args *args, const cq_mt_texts *texts,
                           cli_table_format format) {
  const bool csv = format == CLI_TABLE_CSV;
  cli_table sentences = {.n_columns = 1}, corpus = {.n_columns = 3};
  for (size_t m = 0; m < N_MEASURES; m++) sentences.n_columns += f->each[m].wanted;
  if (args->sentences) sentence_rows(&sentences, f, texts->n, csv);
  corpus_rows(&corpus, f, csv);
  const bool failed = sentences.failed || corpus.failed;
  if (!failed && args->sentences) {
    cli_table_print(&sentences, stdout, format);
    printf("\n");
  }
  if (!failed) cli_table_print(&corpus, stdout, format);
  cli_table_free(&sentences);
  cli_table_free(&corpus);
  return failed ? cli_fail("out of memory") : CLI_OK;
}

static int run_mt(const cli_call *call) {
  const struct args *args = call->options;
  figures f = {0};
  cq_error error = {0};
  cq_mt_texts *texts;
  cli_table_format format;
  if (cli_tables_format(&format, call, &args->as)) return CLI_USAGE;
  if (cq_mt_read(&texts, call->arguments[0], call->arguments + 1, call->n_arguments - 1, &error))
    return cli_fail_error(&error);
  if (args->meteor->language && !cli_given(call, "tokens"))
    args->bleu->tokens = tokens_of_language(args->meteor->language);
  else if (!cli_given(call, "tokens") && lacks_blanks(texts))
    cli_note("the references hardly have blanks, which separate words here: name the --language, as in zh");
  int code = measure_texts(&f, args, texts);
  if (code == CLI_OK && args->as.json)
    print_mt_json(&f, args, texts);
  else if (code == CLI_OK)
    code = print_mt_tables(&f, args, texts, format);
  for (size_t m = 0; m < N_MEASURES; m++) free(f.each[m].sentences);
  cq_mt_free(texts);
  return code;
}

const cli_command cli_eval_mt = {
    .name = "mt",
    .summary = "BLEU, chrF and METEOR of translations against references",
    CLI_ARGUMENTS("HYPOTHESES REFERENCES...", 2, -1),
    .description =
        "Compares translations, one sentence per line, with one or more files of reference translations, plain or "
        "compressed, all with the same number of lines. BLEU, chrF and chrF++ are sacreBLEU's figures and have its "
        "signatures, with calque's version; text must not be tokenized. METEOR matches equal words, then, if "
        "requested, stems and synonyms; its score is computed from sums over the corpus, and the mean of the "
        "sentences' scores is printed next to it. BLEU of a sentence uses the n-gram orders that the sentence has.",
    .example = "calque eval mt output.de reference.de --language de\n"
               "calque eval mt output.zh first.zh second.zh --tokens zh --measure bleu --json",
    CLI_OPTIONS(struct args, options),
    .groups = groups,
    .run = run_mt,
};
