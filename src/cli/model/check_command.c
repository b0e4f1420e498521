/* calque model check: compares the vectors of two models on the same sentences. */
#include "cli/frame/command.h"
#include "cli/frame/input_sentences.h"
#include "cli/frame/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct args {
  size_t size;
  int threads;
  double min_cosine;
  bool json;
  const cq_encoder_options *encoder;
};

static const cq_option options[] = {
    {CQ_NUMBER(struct args, "min-cosine", min_cosine, CHANGES, -1, -1, 1, "X",
               "fail when a sentence's two vectors have a cosine below this, e.g. 0.99999"),
     .otherwise = "any"},
    CLI_JSON(struct args, json),
    CLI_THREADS(struct args, threads),
};

static const cq_option_part parts[] = {{.group = &cq_group_encoder, .offset = offsetof(struct args, encoder)}, {0}};

/* The sentences compared if no file is given: scripts, lengths, and difficult cases for tokenizers. */
static const char *const built_in[] = {
    "",
    "A dog barks.",
    "The committee, which had met twice in April, could not agree on a date; it will try again next week.",
    "Der Hund schläft unter dem Küchentisch.",
    "¿Dónde está la estación de tren más cercana?",
    "Кошка спит на тёплом подоконнике.",
    "बच्चे नदी के किनारे खेल रहे हैं।",
    "الكتاب على الطاولة بجانب النافذة.",
    "我们明天早上八点出发。",
    "Prices rose by 3.75 % in 2019 (from $1,200 to $1,245).",
    "e-mail: someone@example.org — reply-to unknown!",
    "naïve café, ﬁne ﬂuff, Å vs. Å 🙂",
};

/* Figures over all sentences, for the differences between numbers and for the cosines between vectors. */
typedef struct differences {
  double max_difference, sum, min_cosine, cosine_sum;
  size_t n, n_numbers, n_broken; /* number of sentences; of numbers; of sentences with NaN or infinity */
  char worst[96];                /* the sentence of the lowest cosine, its beginning */
} differences;

static void compare_rows(differences *d, const float *a, const float *b, const cq_slice *sentences, size_t n,
                         size_t dim) {
  for (size_t i = 0; i < n; i++) {
    const float *x = a + i * dim, *y = b + i * dim;
    bool same = !memcmp(x, y, dim * sizeof *x); /* two zero vectors agree, though their cosine is 0 */
    double cosine = same ? 1 : cq_cosine(x, y, dim), sum = 0;
    for (size_t j = 0; j < dim; j++) sum += (double)x[j] + (double)y[j];
    d->n_broken += isfinite(sum) ? 0 : 1;
    for (size_t j = 0; j < dim; j++) {
      double difference = fabs((double)x[j] - (double)y[j]);
      if (!(difference <= d->max_difference)) d->max_difference = difference; /* NaN sticks */
      d->sum += difference;
    }
    if (!(cosine >= d->min_cosine)) {
      d->min_cosine = cosine;
      size_t shown = sentences[i].n < 60 ? sentences[i].n : 60;
      while (shown && shown < sentences[i].n && ((unsigned char)sentences[i].data[shown] & 0xc0) == 0x80) shown--;
      snprintf(d->worst, sizeof d->worst, "%.*s%s", (int)shown, sentences[i].data, shown < sentences[i].n ? "..." : "");
    }
    d->cosine_sum += cosine;
  }
  d->n += n, d->n_numbers += n * dim;
}

typedef struct pair {
  cq_encoder *models[2];
  cq_context *ctx;
  size_t dim;
  float *vectors[2];
} pair;

static cq_status compare_chunk(differences *d, pair *p, const cq_slice *sentences, size_t n, cq_error *error) {
  cq_encode_options o = cq_encode_default_options();
  for (int m = 0; m < 2; m++) {
    cq_status status = cq_encoder_encode(p->vectors[m], NULL, p->models[m], sentences, n, &o, p->ctx, error);
    if (status) return status;
  }
  compare_rows(d, p->vectors[0], p->vectors[1], sentences, n, p->dim);
  return CQ_OK;
}

static int compare_file(differences *d, pair *p, const char *path, size_t rows) {
  cq_error error = {0};
  int code = CLI_OK;
  cli_sentences in = {.paths = &path, .n_paths = 1, .n_columns = 1, .rows = rows};
  while (code == CLI_OK) {
    cq_status status = cli_sentences_next(&in, &error);
    if (!status && in.n == 0) break;
    if (!status) status = compare_chunk(d, p, in.slices, in.n, &error);
    if (status) code = cli_sentences_fail(&in, &error);
  }
  cli_sentences_close(&in);
  return code;
}

static int report_check(const differences *d, const struct args *args) {
  double mean = d->n_numbers ? d->sum / (double)d->n_numbers : 0;
  double mean_cosine = d->n ? d->cosine_sum / (double)d->n : 0;
  if (args->json) {
    printf("{\"n\": %zu", d->n);
    cli_json_number(stdout, ", \"max_difference\": ", d->max_difference, 0);
    cli_json_number(stdout, ", \"mean_difference\": ", mean, 0);
    cli_json_number(stdout, ", \"min_cosine\": ", d->min_cosine, 0);
    cli_json_number(stdout, ", \"mean_cosine\": ", mean_cosine, 0);
    cli_json_text(stdout, ", \"worst\": ", cq_slice_of(d->worst));
    fputs("}\n", stdout);
  } else {
    printf("sentences            %zu\nmax difference       %.3g\nmean difference      %.3g\nmin cosine           "
           "%.8f%s%s%s\n"
           "mean cosine          %.8f\n",
           d->n, d->max_difference, mean, d->min_cosine, d->worst[0] ? "  (" : "", d->worst, d->worst[0] ? ")" : "",
           mean_cosine);
  }
  if (d->n_broken) return cli_fail("the vectors of %zu sentences are not numbers", d->n_broken);
  if (args->min_cosine > -1 && !(d->min_cosine >= args->min_cosine))
    return cli_fail("the lowest cosine is %.8f, expected at least %.8f", d->min_cosine, args->min_cosine);
  return CLI_OK;
}

static int run_check(const cli_call *call) {
  enum { ROWS = 1024, N_BUILT_IN = sizeof built_in / sizeof *built_in };
  const struct args *args = call->options;
  cq_error error = {0};
  pair p = {0};
  differences d = {.min_cosine = 1};
  int code = CLI_FAILED;
  if (cli_open_model(&p.models[0], call->arguments[0], args->encoder) ||
      cli_open_model(&p.models[1], call->arguments[1], args->encoder) || cli_open_context(&p.ctx, args->threads))
    goto done;
  p.dim = (size_t)cq_encoder_dim(p.models[0]);
  if ((size_t)cq_encoder_dim(p.models[1]) != p.dim) {
    cli_fail("%s has %zu dimensions, %s has %d", call->arguments[0], p.dim, call->arguments[1],
             cq_encoder_dim(p.models[1]));
    goto done;
  }
  for (int m = 0; m < 2; m++)
    if (!(p.vectors[m] = malloc(ROWS * p.dim * sizeof(float)))) {
      cli_fail("out of memory");
      goto done;
    }
  if (call->n_arguments == 3) {
    code = compare_file(&d, &p, call->arguments[2], ROWS);
  } else {
    cq_slice sentences[N_BUILT_IN];
    for (size_t i = 0; i < N_BUILT_IN; i++) sentences[i] = (cq_slice){built_in[i], strlen(built_in[i])};
    code = compare_chunk(&d, &p, sentences, N_BUILT_IN, &error) ? cli_fail_error(&error) : CLI_OK;
  }
  if (code == CLI_OK) code = report_check(&d, args);
done:
  for (int m = 0; m < 2; m++) {
    free(p.vectors[m]);
    cq_encoder_free(p.models[m]);
  }
  cq_context_free(p.ctx);
  return code;
}

const cli_command cli_model_check = {
    .name = "check",
    .summary = "compare the vectors of two models",
    CLI_ARGUMENTS("A B [FILE]", 2, 3),
    .description = "Encodes the same sentences with two models and compares the vectors, for example after a "
                   "conversion. The sentences are the lines of a file (\"-\": standard input), or a dozen built-in "
                   "ones in several scripts.",
    .example = "calque model check original converted sentences.txt --min-cosine 0.99999",
    CLI_OPTIONS(struct args, options),
    .groups = parts,
    .run = run_check,
};
