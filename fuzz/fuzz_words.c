/* Any bytes as word vectors in text are an error with a place, or finite vectors that survive being written again. With
 * lines of '=' in them they are a state's vocabulary, its two files of vectors and a corpus: an error, or a loss. */
#include "fuzz.h"

#include "base/utf8.h"
#include "calque/lab/words.h"
#include "calque/words.h"
#include "lab/words/word_vectors.h"

#include <math.h>
#include <string.h>

static void check_status(cq_status status, const cq_error *error) {
  CHECK(status == CQ_OK || (status == CQ_ERR_FORMAT && error->message[0]) || status == CQ_ERR_UNSUPPORTED ||
        status == CQ_ERR_ARGUMENT);
}

static void write_again(const cq_word_vectors *v) {
  cq_word_vectors again;
  cq_error error = {0};
  const size_t n = (size_t)v->words.n * (size_t)v->dim;
  CHECK(cq_word_vectors_write(v, fuzz_path("written"), &error) == CQ_OK);
  CHECK(cq_word_vectors_read(&again, fuzz_path("written"), &error) == CQ_OK);
  CHECK(again.words.n == v->words.n && again.dim == v->dim);
  CHECK(n == 0 || !memcmp(again.data, v->data, n * sizeof *v->data));
  cq_word_vectors_free(&again);
}

static void read_vectors(const uint8_t *data, size_t n) {
  cq_word_vectors v;
  cq_error error = {0};
  const char *path = input_file(data, n);
  const cq_status status = cq_word_vectors_read(&v, path, &error);
  check_status(status, &error);
  CHECK(!status || !strcmp(error.file, path));
  if (!status) {
    CHECK(v.dim >= 1);
    for (uint32_t i = 0; i < v.words.n; i++) {
      const cq_slice word = v.words.items[i];
      CHECK(word.n && !memchr(word.data, ' ', word.n) && cq_utf8_invalid_at(word.data, word.n) == word.n);
    }
    for (size_t i = 0; i < (size_t)v.words.n * (size_t)v.dim; i++) CHECK(isfinite(v.data[i]));
    write_again(&v);
  }
  cq_word_vectors_free(&v);
}

static void read_state(const uint8_t *data, size_t n) {
  static const char *const names[] = {"s.vocab", "s.in.npy", "s.out.npy"};
  for (int i = 0; i < 3; i++) {
    const fuzz_part part = fuzz_next_part(&data, &n);
    fuzz_file(names[i], part.data, i == 0 || part.n == 0 ? part.n : part.n - 1); /* the newline is the separator's */
  }
  cq_words_options o = cq_words_default_options();
  cq_error error = {0};
  double loss = -1;
  o.window = 2, o.negative = 2;
  const cq_status status = cq_words_loss(&loss, input_file(data, n), fuzz_path("s"), &o, NULL, &error);
  check_status(status, &error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  const uint8_t *rest = data;
  size_t n_rest = n;
  if (fuzz_next_part(&rest, &n_rest).n < n)
    read_state(data, n);
  else
    read_vectors(data, n);
  return 0;
}
