/* calque autoencode plot space: two languages' sentences in the shared space, as SVG. */
#include "base/random.h"
#include "calque/extra/pca.h"
#include "calque/lab/tsne.h"
#include "cli/frame/input_sentences.h"
#include "cli/frame/report.h"
#include "cli/frame/stop.h"
#include "lab/cli/autoencode_command.h"
#include "lab/cli/figure.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BY_PCA, BY_TSNE };
static const char *const methods[] = {"pca", "tsne", NULL};

struct space_args {
  size_t size;
  const char *model, *languages, *output;
  int by, sentences, threads;
  bool join, skip_bad;
  const cq_tsne_options *tsne;
};

static const cq_option space_options[] = {
    {CQ_TEXT(struct space_args, "model", model, CHANGES, "DIR", "what `calque autoencode train` has written"),
     .letter = 'm', .flags = CQ_OPTION_REQUIRED},
    {CQ_TEXT(struct space_args, "languages", languages, CHANGES, "A,B", "codes of the first and second column"),
     .letter = 'l', .otherwise = "the model's first two"},
    {CQ_CHOICE(
        struct space_args, "by", by, CHANGES, BY_PCA, methods, "METHOD",
        "principal components (PCA), which keep distances as far as a plane can, or t-SNE, which keeps neighbors")},
    {CQ_INT(struct space_args, "sentences", sentences, CHANGES, 500, 2, 1 << 20, "N",
            "maximum number of pairs to draw; if there are more, a random sample")},
    {CQ_FLAG(struct space_args, "join", join, CHANGES, "draw a line from each sentence to its translation")},
    CLI_FIGURE_OUTPUT(struct space_args),
    CLI_SKIP_BAD(struct space_args, skip_bad),
    CLI_THREADS(struct space_args, threads),
};
static const char *const not_of_plots[] = {"exaggeration", "exaggerated", "lr", NULL};
static const cq_option_part space_groups[] = {
    {.group = &cq_group_tsne, .offset = offsetof(struct space_args, tsne), .left_out = not_of_plots}, {0}};

/* The kept pairs: n rows of two texts, owned. */
typedef struct sample {
  char **texts; /* [n, 2] */
  size_t *lengths;
  size_t n;
} sample;

static bool keep_sampled_pair(sample *s, size_t place, const cq_slice *pair) {
  for (size_t c = 0; c < 2; c++) {
    char *copy = malloc(pair[c].n + 1);
    if (!copy) return false;
    memcpy(copy, pair[c].data, pair[c].n);
    free(s->texts[2 * place + c]);
    s->texts[2 * place + c] = copy, s->lengths[2 * place + c] = pair[c].n;
  }
  return true;
}

/* Every pair is kept with the same probability (Vitter 1985, algorithm R). */
static int take_sample(sample *s, cli_sentences *in, size_t max, uint64_t seed) {
  cq_error error = {0};
  uint64_t n_seen = 0;
  cq_random generator = {seed};
  s->texts = calloc(2 * max, sizeof *s->texts);
  s->lengths = calloc(2 * max, sizeof *s->lengths);
  if (!s->texts || !s->lengths) return cli_fail("out of memory");
  for (;;) {
    if (cli_sentences_next(in, &error)) return cli_fail_error(&error);
    if (in->n == 0) break;
    for (size_t i = 0; i < in->n; i++) {
      const uint64_t place = n_seen < max ? n_seen : cq_random_u64(&generator) % (n_seen + 1);
      n_seen++;
      if (place >= max) continue;
      if (place == s->n) s->n++;
      if (!keep_sampled_pair(s, (size_t)place, &in->slices[2 * i])) return cli_fail("out of memory");
    }
  }
  if (s->n == 0) return cli_fail("no pair is left, %" PRIu64 " lines were skipped", in->n_skipped);
  if (in->n_skipped) cli_note("%" PRIu64 " malformed lines were skipped", in->n_skipped);
  return CLI_OK;
}

static void sample_free(sample *s) {
  for (size_t i = 0; s->texts && i < 2 * s->n; i++) free(s->texts[i]);
  free(s->texts);
  free(s->lengths);
}

/* out [2, n, dim]: the vectors of the first column, then of the second. */
static int encode_sample(float **out, int *dim, const cq_autoencoder *model, const char *const languages[2],
                         const sample *s, cq_context *ctx) {
  cq_error error = {0};
  cq_slice *slices = malloc(s->n * sizeof *slices);
  int code = slices ? CLI_OK : cli_fail("out of memory");
  for (size_t c = 0; c < 2 && code == CLI_OK; c++) {
    const cq_encoder *encoder = cq_autoencoder_encoder(model, languages[c]);
    if (!encoder) {
      code = cli_fail("the model has no language '%s'", languages[c]);
      break;
    }
    *dim = cq_encoder_dim(encoder); /* all have the same */
    if (!*out) *out = malloc(2 * s->n * (size_t)*dim * sizeof **out);
    if (!*out) {
      code = cli_fail("out of memory");
      break;
    }
    for (size_t i = 0; i < s->n; i++) slices[i] = (cq_slice){s->texts[2 * i + c], s->lengths[2 * i + c]};
    if (cq_encoder_encode(*out + c * s->n * (size_t)*dim, NULL, encoder, slices, s->n, NULL, ctx, &error))
      code = cli_fail_error(&error);
  }
  free(slices);
  return code;
}

static bool watch_tsne(void *context, uint64_t iteration, uint64_t n_iterations) {
  cli_progress_draw(context, "iteration", iteration, n_iterations, NULL, false);
  return !cli_stop_asked();
}

/* places [n, 2] of vectors [n, dim], and the figure's labels for its axes (NULL: none) and for the method. */
static int project_vectors(double *places, char labels[2][64], char *method, size_t method_size, const float *vectors,
                           size_t n, int dim, const cli_call *call, cq_context *ctx) {
  const struct space_args *args = call->options;
  cq_error error = {0};
  if (args->by == BY_PCA) {
    double shares[2];
    if (cq_pca(places, shares, vectors, n, dim, 2, ctx, &error)) return cli_fail_error(&error);
    for (int c = 0; c < 2; c++)
      snprintf(labels[c], sizeof labels[c], "%s principal component, %.1f%% of the variance", c ? "second" : "first",
               100 * shares[c]);
    snprintf(method, method_size, "by principal components");
    return CLI_OK;
  }
  cq_tsne_options o = *args->tsne;
  cli_progress progress = cli_progress_start();
  double divergence, max = fmax(1.5, (double)(n - 1) / 3); /* a larger perplexity would take in everything */
  if (!cli_given(call, "perplexity") && o.perplexity > max) o.perplexity = max;
  o.progress = watch_tsne, o.progress_context = &progress;
  cli_stop_catch();
  const cq_status status = cq_tsne(places, &divergence, vectors, n, dim, &o, ctx, &error);
  cli_progress_clear(&progress);
  if (status) return cli_fail_error(&error);
  cli_note("Kullback-Leibler divergence %.4f after %d iterations", divergence, o.n_iterations);
  snprintf(method, method_size, "by t-SNE of perplexity %g", o.perplexity);
  return CLI_OK;
}

/* The height of a figure with the aspect ratio of places [n, 2], within limits. */
static int height_of(const double *places, size_t n) {
  double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
  for (size_t i = 0; i < 2 * n; i++) {
    low[i % 2] = fmin(low[i % 2], places[i]);
    high[i % 2] = fmax(high[i % 2], places[i]);
  }
  const double share = high[0] > low[0] ? (high[1] - low[1]) / (high[0] - low[0]) : 1;
  return 120 + (int)(550 * fmin(1, fmax(0.5, share)));
}

/* Arranges places [2, n, 2] as series need them: x, y for each language, and for translations in turn. */
static int draw_space(const struct space_args *args, const char *const languages[2], const double *places, size_t n,
                      char labels[2][64], const char *method) {
  double *numbers = malloc(8 * n * sizeof *numbers), *x = numbers, *y = numbers + 2 * n, *both_x = numbers + 4 * n,
         *both_y = numbers + 6 * n;
  char title[256];
  if (!numbers) return cli_fail("out of memory");
  for (size_t i = 0; i < 2 * n; i++) {
    const size_t in_turn = 2 * (i % n) + i / n;
    x[i] = both_x[in_turn] = places[2 * i];
    y[i] = both_y[in_turn] = places[2 * i + 1];
  }
  const cq_chart_series series[3] = {
      {.name = "translations", .x = both_x, .y = both_y, .n = 2 * n, .kind = CQ_CHART_JOINS},
      {.name = languages[0], .x = x, .y = y, .n = n, .kind = CQ_CHART_POINTS},
      {.name = languages[1], .x = x + n, .y = y + n, .n = n, .kind = CQ_CHART_POINTS}};
  const bool pca = args->by == BY_PCA;
  snprintf(title, sizeof title, "%zu pairs of %s and %s, %s", n, languages[0], languages[1], method);
  const cq_chart chart = {.title = title,
                          .x_label = pca ? labels[0] : NULL,
                          .y_label = pca ? labels[1] : NULL,
                          .series = args->join ? series : series + 1,
                          .n_series = args->join ? 3 : 2,
                          .height = height_of(places, 2 * n),
                          .same_unit = true,
                          .no_numbers = !pca};
  const int code = cli_write_figure(args->output, &chart, 1);
  free(numbers);
  return code;
}

static int run_space(const cli_call *call) {
  const struct space_args *args = call->options;
  const char *languages[2] = {NULL, NULL};
  char codes[CLI_CODES], labels[2][64], method[64];
  cq_error error = {0};
  cq_autoencoder *model = NULL;
  cq_context *ctx = NULL;
  sample s = {0};
  float *vectors = NULL;
  double *places = NULL;
  int dim = 0;
  cli_sentences in = {.paths = call->arguments,
                      .n_paths = call->n_arguments,
                      .columns = {1, 2},
                      .n_columns = 2,
                      .rows = 1024,
                      .skip_bad = args->skip_bad};
  if (args->by == BY_PCA && (cli_given(call, "perplexity") || cli_given(call, "iterations")))
    return cli_usage(call->path, "--perplexity and --iterations are for --by tsne");
  if (args->by == BY_TSNE && 2 * args->sentences > CQ_TSNE_MAX_VECTORS)
    return cli_usage(call->path, "--sentences is %d, --by tsne takes %d pairs at most", args->sentences,
                     CQ_TSNE_MAX_VECTORS / 2);
  int code = args->languages ? cli_two_codes(languages, codes, call->path, args->languages) : CLI_OK;
  if (code) return code;
  code = cli_open_context(&ctx, args->threads);
  if (code == CLI_OK && cq_autoencoder_open(&model, args->model, &error)) code = cli_fail_error(&error);
  for (size_t c = 0; c < 2 && code == CLI_OK && !args->languages; c++) languages[c] = cq_autoencoder_language(model, c);
  if (code == CLI_OK) code = take_sample(&s, &in, (size_t)args->sentences, args->tsne->seed);
  if (code == CLI_OK) code = encode_sample(&vectors, &dim, model, languages, &s, ctx);
  if (code == CLI_OK && !(places = malloc(4 * s.n * sizeof *places))) code = cli_fail("out of memory");
  if (code == CLI_OK) code = project_vectors(places, labels, method, sizeof method, vectors, 2 * s.n, dim, call, ctx);
  if (code == CLI_OK) code = draw_space(args, languages, places, s.n, labels, method);
  free(places);
  free(vectors);
  sample_free(&s);
  cli_sentences_close(&in);
  cq_autoencoder_free(model);
  cq_context_free(ctx);
  return code;
}

static const cli_command plot_space = {
    .name = "space",
    .summary = "plot two languages' sentences in the shared space (PCA or t-SNE)",
    .arguments = "[PAIRS...]",
    .max_arguments = -1,
    .description = "PAIRS are files of two tab-separated columns, or standard input. Each sentence is a point, in the "
                   "color of its language; translations should lie together. t-SNE takes time and memory proportional "
                   "to the square of the number of sentences (at most 5,000), and its long distances mean nothing. For "
                   "fewer than 46 pairs its perplexity is less than 30.",
    .example = "calque autoencode plot space --model fr-it --by tsne --join test.tsv.gz -o space.svg",
    CLI_OPTIONS(struct space_args, space_options),
    .groups = space_groups,
    .run = run_space,
};

static const cli_command *const children[] = {&plot_space, &cli_plot_losses, NULL};

const cli_command cli_autoencode_plot = {
    .name = "plot",
    .summary = "figures as SVG: space, losses",
    .description = "Figures of a model and of its training, as SVG.",
    .example = "calque autoencode plot space --model fr-it test.tsv.gz -o space.svg",
    .children = children,
};
