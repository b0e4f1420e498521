/* calque similarity: the cosine of two sentences, or of two columns of a file, line by line. */
#include "base/number.h"
#include "base/utf8.h"
#include "cli/frame/command.h"
#include "cli/frame/input_sentences.h"
#include "cli/frame/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct args {
  size_t size;
  const char *model, *tsv, *columns;
  int threads, batch;
  bool json, skip_bad;
  const cq_encode_options *encode;
  const cq_encoder_options *encoder;
};

static const cq_option options[] = {
    CLI_MODEL_OR_SHIPPED(struct args, model),
    {CQ_TEXT(struct args, "tsv", tsv, CHANGES, "FILE",
             "compare two columns of this file (\"-\": standard input) instead of two arguments")},
    {CQ_TEXT(struct args, "columns", columns, CHANGES, "A,B", "the two columns, from 1"), .text = "1,2"},
    CLI_JSON(struct args, json),
    CLI_SKIP_BAD(struct args, skip_bad),
    CLI_BATCH(struct args, batch),
    CLI_THREADS(struct args, threads),
};
static const char *const of_no_cosine[] = {"normalize", "strict", NULL};
static const cq_option_part groups[] = {
    {.group = &cq_group_encode, .offset = offsetof(struct args, encode), .left_out = of_no_cosine},
    {.group = &cq_group_encoder, .offset = offsetof(struct args, encoder)},
    {0}};

typedef struct job {
  const struct args *args;
  cq_encoder *encoder;
  cq_context *ctx;
  cq_encode_stats stats;
  size_t dim;
} job;

static void print_similarity(bool json, double cosine, cq_slice a, cq_slice b) {
  if (json) {
    cli_json_number(stdout, "{\"similarity\": ", cosine, 6);
    cli_json_text(stdout, ", \"a\": ", a);
    cli_json_text(stdout, ", \"b\": ", b);
    fputs("}\n", stdout);
  } else {
    printf("%.4f\t", cosine);
    cq_print_text(stdout, a), putchar('\t'), cq_print_text(stdout, b), putchar('\n');
  }
}

static int fail_not_finite(cq_slice a, cq_slice b) {
  return cli_fail("the model gives a vector with a number that is not finite for '%.*s' or '%.*s'",
                  (int)(a.n < 200 ? a.n : 200), a.data, (int)(b.n < 200 ? b.n : 200), b.data);
}

static int compare_two(job *j, const char *a, const char *b) {
  cq_error error = {0};
  cq_slice pair[2] = {{a, strlen(a)}, {b, strlen(b)}};
  float *vectors = malloc(2 * j->dim * sizeof *vectors);
  int code = CLI_OK;
  if (!vectors) return cli_fail("out of memory");
  if (cq_encoder_encode(vectors, &j->stats, j->encoder, pair, 2, j->args->encode, j->ctx, &error)) {
    code = cli_fail_error(&error);
  } else {
    double cosine = cq_cosine(vectors, vectors + j->dim, j->dim);
    if (isnan(cosine))
      code = fail_not_finite(pair[0], pair[1]);
    else if (j->args->json)
      print_similarity(true, cosine, pair[0], pair[1]);
    else
      printf("%.4f\n", cosine);
  }
  free(vectors);
  return code;
}

static int compare_columns(job *j, int column_a, int column_b) {
  cq_error error = {0};
  int code = CLI_OK;
  cli_sentences in = {.paths = &j->args->tsv,
                      .n_paths = 1,
                      .columns = {column_a, column_b},
                      .n_columns = 2,
                      .rows = (size_t)j->args->batch,
                      .skip_bad = j->args->skip_bad};
  float *vectors = malloc(in.rows * 2 * j->dim * sizeof *vectors);
  if (!vectors) code = cli_fail("out of memory");
  while (code == CLI_OK) {
    if (cli_sentences_next(&in, &error)) code = cli_sentences_fail(&in, &error);
    if (code || in.n == 0) break;
    if (cq_encoder_encode(vectors, &j->stats, j->encoder, in.slices, 2 * in.n, j->args->encode, j->ctx, &error)) {
      code = cli_sentences_fail(&in, &error);
      break;
    }
    for (size_t i = 0; i < in.n && code == CLI_OK; i++) {
      const float *row = vectors + 2 * i * j->dim;
      const double cosine = cq_cosine(row, row + j->dim, j->dim);
      if (isnan(cosine))
        code = fail_not_finite(in.slices[2 * i], in.slices[2 * i + 1]);
      else
        print_similarity(j->args->json, cosine, in.slices[2 * i], in.slices[2 * i + 1]);
    }
    if (ferror(stdout)) code = CLI_FAILED; /* said when standard output is finished */
  }
  if (in.n_skipped) cli_note("%" PRIu64 " malformed lines were skipped", in.n_skipped);
  cli_sentences_close(&in);
  free(vectors);
  return code;
}

/* "A,B", each from 1 to 64. */
static bool parse_two_columns(int *a, int *b, const char *text) {
  char first[8];
  uint64_t x, y;
  size_t n = strcspn(text, ",");
  if (n >= sizeof first || text[n] != ',') return false;
  memcpy(first, text, n), first[n] = '\0';
  if (!cq_parse_count(&x, first) || !cq_parse_count(&y, text + n + 1)) return false;
  *a = (int)x, *b = (int)y;
  return x >= 1 && x <= 64 && y >= 1 && y <= 64;
}

static int run_similarity(const cli_call *call) {
  const struct args *args = call->options;
  job j = {.args = args};
  int code = cli_check_options(call), column_a, column_b;
  if (code) return code;
  if (args->tsv ? call->n_arguments != 0 : call->n_arguments != 2)
    return cli_usage(call->path, "expected two sentences, or --tsv FILE and none");
  if (!parse_two_columns(&column_a, &column_b, args->columns))
    return cli_usage(call->path, "--columns is '%s', expected two numbers from 1 to 64 such as 1,2", args->columns);
  code = cli_open_model(&j.encoder, args->model, args->encoder);
  if (code == CLI_OK) code = cli_open_context(&j.ctx, args->threads);
  if (code) goto done;
  j.dim = (size_t)cq_encoder_encode_dim(j.encoder, args->encode);
  code = args->tsv ? compare_columns(&j, column_a, column_b) : compare_two(&j, call->arguments[0], call->arguments[1]);
  if (code == CLI_OK && j.stats.n_truncated)
    cli_note("%" PRIu64 " of %" PRIu64 " sentences were longer than %d tokens and were truncated", j.stats.n_truncated,
             j.stats.n_sentences, cq_encoder_max_seq_length(j.encoder));
done:
  cq_context_free(j.ctx);
  cq_encoder_free(j.encoder);
  return code;
}

const cli_command cli_similarity = {
    .name = "similarity",
    .summary = "cosine similarity of two sentences, or of two columns of a file",
    CLI_ARGUMENTS("[A B]", 0, 2),
    .description = "Prints the cosine similarity of two sentences: 1 for the same meaning, near 0 for unrelated ones. "
                   "With --tsv, prints a line of cosine, first and second sentence for each line of a file, separated "
                   "by tabs.",
    .example = "calque similarity --model multilingual \"A dog barks.\" \"Ein Hund bellt.\"\n"
               "calque similarity --model multilingual --tsv pairs.tsv.gz | sort -rn | head",
    CLI_OPTIONS(struct args, options),
    .groups = groups,
    .run = run_similarity,
};
