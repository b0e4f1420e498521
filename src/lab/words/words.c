/* Word vectors from a file: trains, saves and evaluates them. */
#include "calque/lab/words.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/options.h"
#include "calque/lines.h"
#include "calque/npy.h"
#include "lab/words/word_vectors.h"
#include "words/train_words.h"

#include <limits.h>
#include <stdio.h>

struct cq_words {
  cq_word_vectors vectors;
  cq_word_model model; /* of vectors that were trained here */
  uint64_t *counts;
};

cq_status cq_words_train(cq_words **out, const char *path, const cq_words_options *options, cq_context *ctx,
                         cq_error *error) {
  cq_words_options o;
  cq_word_corpus corpus = {0};
  *out = NULL;
  cq_status status = cq_options_take(&o, &cq_group_words, options, error);
  if (status) return status;
  cq_words *w = cq_alloc_zeroed(sizeof *w);
  if (!w) return cq_fail_memory(error, "word vectors");
  status = cq_word_corpus_read(&corpus, path, error);
  if (!status) status = cq_word_corpus_finish(&corpus, o.min_count, error);
  if (!status) status = cq_word_model_train(&w->model, &corpus, &o, ctx, error);
  if (!status) {
    w->vectors.words = corpus.words, corpus.words = (cq_intern){0};
    w->counts = corpus.counts, corpus.counts = NULL;
    w->vectors.dim = o.dim;
    w->vectors.data = cq_alloc_array(w->vectors.words.n, (size_t)o.dim * sizeof *w->vectors.data);
    if (!w->vectors.data) status = cq_fail_memory(error, "word vectors");
  }
  for (uint32_t i = 0; !status && i < w->vectors.words.n; i++)
    cq_word_model_vector(w->vectors.data + (size_t)i * (size_t)o.dim, &w->model, i);
  cq_word_corpus_free(&corpus);
  if (status)
    cq_words_free(w);
  else
    *out = w;
  return status;
}

cq_status cq_words_open(cq_words **out, const char *path, cq_error *error) {
  *out = NULL;
  cq_words *w = cq_alloc_zeroed(sizeof *w);
  if (!w) return cq_fail_memory(error, path);
  cq_status status = cq_word_vectors_read(&w->vectors, path, error);
  if (status)
    cq_words_free(w);
  else
    *out = w;
  return status;
}

void cq_words_free(cq_words *w) {
  if (!w) return;
  cq_word_vectors_free(&w->vectors);
  cq_word_model_free(&w->model);
  cq_free(w->counts);
  cq_free(w);
}

cq_status cq_words_save(const cq_words *w, const char *path, cq_error *error) {
  return cq_word_vectors_write(&w->vectors, path, error);
}

/* --- the state that the loss is computed from --- */

static cq_status state_path(char path[PATH_MAX], const char *prefix, const char *end, cq_error *error) {
  if (snprintf(path, PATH_MAX, "%s.%s", prefix, end) < PATH_MAX) return CQ_OK;
  return cq_fail(error, CQ_ERR_ARGUMENT, "%s: the path is too long", prefix);
}

static cq_status save_rows(const char *path, const float *rows, const cq_word_model *m, cq_error *error) {
  cq_npy_writer *w;
  cq_status status = cq_npy_writer_open(&w, path, CQ_NPY_F32, m->dim, error);
  if (status) return status;
  for (uint32_t i = 0; !status && i < m->n; i++) status = cq_npy_writer_rows(w, rows + i * m->stride, 1, error);
  if (!status) return cq_npy_writer_commit(w, error);
  cq_npy_writer_abort(w);
  return status;
}

cq_status cq_words_save_state(const cq_words *w, const char *prefix, cq_error *error) {
  char path[PATH_MAX];
  cq_writer writer;
  if (!w->model.n || w->model.grams)
    return cq_fail(error, CQ_ERR_ARGUMENT, "a state is kept only of vectors as they were trained, without subwords");
  cq_status status = state_path(path, prefix, "in.npy", error);
  if (!status) status = save_rows(path, w->model.in, &w->model, error);
  if (!status) status = state_path(path, prefix, "out.npy", error);
  if (!status) status = save_rows(path, w->model.out, &w->model, error);
  if (!status) status = state_path(path, prefix, "vocab", error);
  if (!status) status = cq_writer_open(&writer, path, error);
  if (status) return status;
  for (uint32_t i = 0; i < w->model.n; i++) {
    const cq_slice word = w->vectors.words.items[i];
    fprintf(writer.stream, "%.*s\t%llu\n", (int)word.n, word.data, (unsigned long long)w->counts[i]);
  }
  status = cq_writer_commit(&writer, error);
  cq_writer_abort(&writer);
  return status;
}

typedef struct state {
  cq_intern words;
  uint64_t *counts;
  size_t capacity;
  cq_word_model model;
} state;

static cq_status read_vocabulary(state *s, const char *path, cq_error *error) {
  cq_lines *lines;
  cq_slice line, columns[2];
  cq_status status = cq_lines_open(&lines, path, error);
  if (status) return status;
  while (!(status = cq_lines_next(&line, lines, error)) && line.data) {
    double count = 0;
    const uint32_t before = s->words.n;
    if (cq_tsv_split(columns, 2, line) != 2 || !cq_slice_number(&count, columns[1]) || !(count >= 0 && count <= 1e15)) {
      status = cq_fail_line(error, CQ_ERR_FORMAT, path, cq_lines_number(lines), "expected a word, a tab and its count");
      break;
    }
    const uint32_t id = cq_intern_put(&s->words, columns[0]);
    if (id == CQ_INTERN_NONE || !cq_reserve((void **)&s->counts, &s->capacity, s->words.n, sizeof *s->counts))
      status = cq_fail_memory(error, path);
    else if (id != before)
      status = cq_fail_line(error, CQ_ERR_FORMAT, path, cq_lines_number(lines), "a word that appears twice");
    if (status) break;
    s->counts[id] = (uint64_t)count;
  }
  cq_lines_close(lines);
  return status;
}

static cq_status read_rows(float **out, state *s, const char *path, cq_error *error) {
  cq_npy *npy;
  cq_status status = cq_npy_open(&npy, path, error);
  if (status) return status;
  const int64_t dim = cq_npy_columns(npy);
  if (cq_npy_dtype(npy) != CQ_NPY_F32 || cq_npy_rows(npy) != s->words.n || (s->model.dim && s->model.dim != dim))
    status = cq_fail_file(error, CQ_ERR_FORMAT, path, "not %u rows of f32 as the vocabulary and the other file have",
                          s->words.n);
  s->model.dim = (int)dim;
  s->model.stride = (dim + 15) / 16 * 16;
  if (!status && !(*out = cq_alloc_array_zeroed(s->words.n, (size_t)s->model.stride * sizeof **out)))
    status = cq_fail_memory(error, path);
  for (int64_t i = 0; !status && i < s->words.n; i++)
    memcpy(*out + i * s->model.stride, (const float *)cq_npy_data(npy) + i * dim, (size_t)dim * sizeof **out);
  cq_npy_close(npy);
  return status;
}

/* The corpus in the state's word numbers; words that it lacks are left out. */
static cq_status corpus_of_state(cq_word_corpus *out, const state *s, const char *path, cq_error *error) {
  cq_word_corpus read = {0};
  cq_u32_array ids = {0};
  cq_status status = cq_word_corpus_read(&read, path, error);
  for (uint32_t i = 0; !status && i < s->words.n; i++)
    if (cq_intern_put(&out->words, s->words.items[i]) == CQ_INTERN_NONE) status = cq_fail_memory(error, path);
  for (size_t d = 0; !status && d < read.n_documents; d++) {
    ids.n = 0;
    for (size_t i = read.starts[d]; !status && i < read.starts[d + 1]; i++) {
      const uint32_t id = cq_intern_find(&s->words, read.words.items[read.tokens.items[i]]);
      if (id != CQ_INTERN_NONE && !cq_u32_array_append(&ids, &id, 1)) status = cq_fail_memory(error, path);
    }
    if (!status) status = cq_word_corpus_add(out, ids.items, ids.n, error);
  }
  if (!status && !(out->counts = cq_alloc_array(s->words.n, sizeof *out->counts))) status = cq_fail_memory(error, path);
  if (!status && s->words.n) memcpy(out->counts, s->counts, s->words.n * sizeof *out->counts);
  cq_u32_array_free(&ids);
  cq_word_corpus_free(&read);
  return status;
}

cq_status cq_words_loss(double *loss, const char *corpus_path, const char *prefix, const cq_words_options *options,
                        cq_context *ctx, cq_error *error) {
  cq_words_options o;
  char path[PATH_MAX];
  state s = {0};
  cq_word_corpus corpus = {0};
  cq_status status = cq_options_take(&o, &cq_group_words, options, error);
  if (!status) status = state_path(path, prefix, "vocab", error);
  if (!status) status = read_vocabulary(&s, path, error);
  s.model.n = s.words.n;
  if (!status) status = state_path(path, prefix, "in.npy", error);
  if (!status) status = read_rows(&s.model.in, &s, path, error);
  if (!status) status = state_path(path, prefix, "out.npy", error);
  if (!status) status = read_rows(&s.model.out, &s, path, error);
  if (!status) status = corpus_of_state(&corpus, &s, corpus_path, error);
  if (!status) status = cq_word_model_loss(loss, &s.model, &corpus, s.counts, &o, ctx, error);
  cq_word_corpus_free(&corpus);
  cq_word_model_free(&s.model);
  cq_intern_free(&s.words);
  cq_free(s.counts);
  return status;
}

size_t cq_words_n(const cq_words *w) {
  return w->vectors.words.n;
}

int cq_words_dim(const cq_words *w) {
  return w->vectors.dim;
}

cq_slice cq_words_word(const cq_words *w, size_t i) {
  return w->vectors.words.items[i];
}

size_t cq_words_find(const cq_words *w, cq_slice word) {
  const uint32_t id = cq_intern_find(&w->vectors.words, word);
  return id == CQ_INTERN_NONE ? SIZE_MAX : id;
}

const float *cq_words_vector(const cq_words *w, size_t i) {
  return w->vectors.data + i * (size_t)w->vectors.dim;
}

uint64_t cq_words_n_read(const cq_words *w) {
  return w->model.n_read;
}
