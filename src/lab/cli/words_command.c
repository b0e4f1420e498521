/* calque words train | nearest | loss: word vectors. */
#include "calque/lab/words.h"
#include "cli/frame/command.h"
#include "cli/frame/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct train_args {
  size_t size;
  const char *state;
  int threads;
};

static const cq_option train_options[] = {
    {CQ_TEXT(struct train_args, "state", state, KEEPS, "PREFIX",
             "also write PREFIX.in.npy, PREFIX.out.npy and PREFIX.vocab, for `words loss`"),
     .otherwise = "none"},
    {CQ_INT(struct train_args, "threads", threads, CHANGES, 0, 0, 1024, "N",
            "with 1, the result depends on the seed alone; several threads update the same vectors without locks "
            "(Hogwild)"),
     .letter = 't', .otherwise = "one per processor"},
};

static void draw_words(void *progress, uint64_t done, uint64_t all) {
  cli_progress_draw(progress, "words", done, all, "", false);
}

static int run_words_train(const cli_call *call) {
  const struct train_args *args = call->options;
  cq_words_options *o = call->library;
  cli_progress progress = cli_progress_start();
  cq_error error = {0};
  cq_context *ctx;
  cq_words *words = NULL;
  o->progress = draw_words, o->progress_context = &progress;
  int code = cli_open_context(&ctx, args->threads);
  if (code) return code;
  const double begin = cli_now_s();
  if (cq_words_train(&words, call->arguments[0], o, ctx, &error)) code = CLI_FAILED;
  const double seconds = cli_now_s() - begin;
  if (!code && (cq_words_save(words, call->arguments[1], &error) ||
                (args->state && cq_words_save_state(words, args->state, &error))))
    code = CLI_FAILED;
  cli_progress_clear(&progress);
  if (code)
    code = cli_fail_error(&error);
  else
    cli_note("%zu words of %d dimensions; %" PRIu64 " words read in %.2f s, %.0f a second", cq_words_n(words),
             cq_words_dim(words), cq_words_n_read(words), seconds, (double)cq_words_n_read(words) / seconds);
  cq_words_free(words);
  cq_context_free(ctx);
  return code;
}

static const cli_command words_train = {
    .name = "train",
    .summary = "train word vectors on text",
    CLI_ARGUMENTS("CORPUS VECTORS", 2, 2),
    .description = "CORPUS has one document per line, words separated by blanks (`calque lexical terms` makes such "
                   "lines); plain or compressed. VECTORS is written in word2vec's text format. Skip-gram with negative "
                   "sampling as in gensim, or CBOW; with subwords as in fastText.",
    .example = "calque words train corpus.txt vectors.txt --window 10 --epochs 20",
    CLI_GROUP(&cq_group_words),
    CLI_OPTIONS(struct train_args, train_options),
    .run = run_words_train,
};

/* --- nearest --- */

struct nearest_args {
  size_t size;
  int top, threads;
};

static const cq_option nearest_options[] = {
    {CQ_INT(struct nearest_args, "top", top, CHANGES, 10, 1, 100000, "K", "words for each"), .letter = 'k'},
    CLI_THREADS(struct nearest_args, threads),
};

static int print_nearest(const cq_words *words, const char *word, int top, cq_context *ctx) {
  const size_t at = cq_words_find(words, (cq_slice){word, strlen(word)}), n = cq_words_n(words);
  const int dim = cq_words_dim(words);
  if (at == SIZE_MAX) {
    cli_note("there is no word '%s'", word);
    return CLI_OK;
  }
  cq_error error = {0};
  const size_t k = (size_t)top + 1 < n ? (size_t)top + 1 : n;
  cq_neighbors found = {0};
  cq_nearest_options o = cq_nearest_default_options();
  o.k = k;
  int code = CLI_OK;
  if (cq_nearest(&found, NULL, cq_words_vector(words, at), 1, cq_words_vector(words, 0), n, (size_t)dim, &o, ctx,
                 &error))
    code = cli_fail_error(&error);
  for (size_t i = 0, shown = 0; code == CLI_OK && i < k && shown < (size_t)top; i++) {
    if (found.index[i] == at || found.index[i] == UINT32_MAX) continue;
    const cq_slice other = cq_words_word(words, found.index[i]);
    printf("%s\t%.4f\t%.*s\n", word, found.cosine[i], (int)other.n, other.data);
    shown++;
  }
  cq_neighbors_free(&found);
  return code;
}

static int run_words_nearest(const cli_call *call) {
  const struct nearest_args *args = call->options;
  cq_error error = {0};
  cq_context *ctx;
  cq_words *words = NULL;
  int code = cli_open_context(&ctx, args->threads);
  if (code == CLI_OK && cq_words_open(&words, call->arguments[0], &error)) code = cli_fail_error(&error);
  for (size_t i = 1; code == CLI_OK && i < call->n_arguments; i++)
    code = print_nearest(words, call->arguments[i], args->top, ctx);
  cq_words_free(words);
  cq_context_free(ctx);
  return code;
}

static const cli_command words_nearest = {
    .name = "nearest",
    .summary = "show a word's nearest neighbors",
    CLI_ARGUMENTS("VECTORS WORD...", 2, -1),
    .description = "Prints lines of word, cosine and neighbor, separated by tabs, best first.",
    .example = "calque words nearest vectors.txt river --top 5",
    CLI_OPTIONS(struct nearest_args, nearest_options),
    .run = run_words_nearest,
};

/* --- loss --- */

/* Options that do not affect the loss, because it does not matter how vectors were trained. */
static const char *const not_of_loss[] = {
    "dim", "epochs", "lr", "min-lr", "min-count", "cbow", "share-negatives", "min-ngram", "max-ngram", "buckets", NULL};

static int run_words_loss(const cli_call *call) {
  const cli_threads_args *args = call->options;
  cq_error error = {0};
  cq_context *ctx;
  int code = cli_open_context(&ctx, args->threads);
  for (size_t i = 1; code == CLI_OK && i < call->n_arguments; i++) {
    double loss;
    if (cq_words_loss(&loss, call->arguments[0], call->arguments[i], call->library, ctx, &error))
      code = cli_fail_error(&error);
    else
      printf("%s\t%.6f\n", call->arguments[i], loss);
  }
  cq_context_free(ctx);
  return code;
}

static const cli_command words_loss = {
    .name = "loss",
    .summary = "measure how well trained vectors predict a text's words",
    CLI_ARGUMENTS("CORPUS PREFIX...", 2, -1),
    .description = "Prints the mean loss per pair of word and neighbor for each state PREFIX.in.npy, PREFIX.out.npy, "
                   "PREFIX.vocab. "
                   "Windows and negatives are drawn from the seed, the same for every state.",
    .example = "calque words loss corpus.txt ours gensims --window 10",
    CLI_GROUP(&cq_group_words, .left_out = not_of_loss),
    CLI_THREADS_ONLY,
    .run = run_words_loss,
};

static const cli_command *const children[] = {&words_train, &words_nearest, &words_loss, NULL};

const cli_command cli_words = {
    .name = "words",
    .summary = "word vectors: train, nearest, loss",
    .description = "Trains word vectors on text: skip-gram or CBOW with negative sampling, optionally with subwords.",
    .example = "calque words train corpus.txt vectors.txt\n"
               "calque words nearest vectors.txt river",
    .children = children,
};
