/* Aligns the translations of each language, one language per thread, and keeps each piece's links. See meanings.h. */
#include "recipe/student/meanings.h"

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "calque/lines.h"
#include "recipe/student/student_text.h"
#include "train/align.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum { MAX_COLUMNS = 64, MAX_LINKS = 16, N_ITERATIONS = 5 };
/* Each translation is aligned a second time, with piece dropout: this way, rare pieces occur in the text's words, too,
 * and later in words that the text lacks. */
#define PIECE_DROPOUT 0.3

typedef struct cq_language_meanings {
  size_t first; /* its first file; its other ones come later */
  cq_meaning *meanings;
  size_t n, capacity;
  cq_link *links;
  size_t n_links, link_capacity;
  uint64_t n_pairs;
} language;

/* A worker's tools. */
typedef struct bench {
  double *source_count; /* [n_new] whole numbers, so that their order does not matter */
  cq_aligner *aligner;  /* of the language at hand */
  cq_token_memory *token;
  cq_ids source, target;
} bench;

typedef struct work {
  const cq_meanings_task *task;
  cq_meanings *m;
  bench *benches; /* [threads] */
  bool splits;    /* the vocabulary has several possible splits of a word */
  const cq_student_options *tells;
  atomic_size_t n_done;
  atomic_bool stopped;
} work;

int64_t cq_old_role(const cq_tokenizer_info *now, const cq_tokenizer_info *old, int64_t id) {
  if (id == now->cls_id) return old->cls_id;
  if (id == now->sep_id) return old->sep_id;
  if (id == now->pad_id) return old->pad_id;
  if (id == now->unk_id) return old->unk_id;
  if (id == now->mask_id) return old->mask_id;
  return -1;
}

/* --- a language --- */

/* Tokenizes a translation of b->source with piece dropout. */
static cq_status add_translation(const work *w, bench *b, const language *l, cq_slice text, double share, int weight,
                                 cq_error *error) {
  b->target.n = 0;
  if (w->splits) cq_token_memory_drop_pieces(b->token, share, l->n_pairs);
  const cq_status status =
      cq_tokenizer_encode(&b->target, w->task->new_tokenizer, b->token, text, false, 0, NULL, error);
  if (status) return status;
  return cq_aligner_add(b->aligner, b->source.ids, b->source.n, b->target.ids, b->target.n, weight, error);
}

static cq_status add_line(const work *w, bench *b, language *l, cq_slice line, int weight, cq_error *error) {
  const cq_meanings_task *t = w->task;
  cq_slice columns[MAX_COLUMNS];
  const size_t n = cq_tsv_split(columns, MAX_COLUMNS, line);
  if (n < 2 || n > MAX_COLUMNS) return CQ_OK; /* no translations; or malformed, see read_file */
  b->source.n = b->target.n = 0;
  if (w->splits) cq_token_memory_drop_pieces(b->token, 0, 0);
  cq_status status = cq_tokenizer_encode(&b->target, t->new_tokenizer, b->token, columns[0], false, 0, NULL, error);
  for (size_t i = 0; !status && i < b->target.n; i++) b->source_count[b->target.ids[i]] += weight;
  if (!status) status = cq_tokenizer_encode(&b->source, t->old_tokenizer, NULL, columns[0], false, 0, NULL, error);
  const int32_t unknown = (int32_t)cq_tokenizer_describe(t->old_tokenizer)->unk_id;
  size_t n_known = 0;
  for (size_t i = 0; i < b->source.n; i++)
    if (b->source.ids[i] != unknown && b->source.ids[i] < t->n_old) b->source.ids[n_known++] = b->source.ids[i];
  b->source.n = n_known;
  for (size_t k = 1; !status && k < n; k++) {
    status = add_translation(w, b, l, columns[k], 0, weight, error);
    if (!status && w->splits) status = add_translation(w, b, l, columns[k], PIECE_DROPOUT, weight, error);
    l->n_pairs++;
  }
  return status;
}

static cq_status read_file(const work *w, bench *b, language *l, const cq_training_data *file, cq_error *error) {
  cq_lines *lines;
  cq_slice line;
  cq_status status = cq_lines_open(&lines, file->path, error);
  if (status) return status;
  for (;;) {
    status = cq_lines_next(&line, lines, error);
    /* Malformed lines were already reported while building the vocabulary. */
    if (status == CQ_ERR_FORMAT && !cq_lines_broken(lines)) continue;
    if (status || !line.data || (status = add_line(w, b, l, line, cq_text_times(file), error))) break;
  }
  cq_lines_close(lines);
  return status;
}

static cq_status keep_links(const work *w, language *l, const cq_aligner *a, cq_error *error) {
  const cq_meanings_task *t = w->task;
  const cq_tokenizer_info *now = cq_tokenizer_describe(t->new_tokenizer),
                          *old = cq_tokenizer_describe(t->old_tokenizer);
  for (int64_t id = 0; id < t->n_new; id++) {
    if (!cq_reserve((void **)&l->links, &l->link_capacity, l->n_links + MAX_LINKS, sizeof *l->links) ||
        !cq_reserve((void **)&l->meanings, &l->capacity, l->n + 1, sizeof *l->meanings))
      return cq_fail_memory(error, "alignment");
    const size_t n =
        cq_old_role(now, old, id) < 0 ? cq_aligner_links(a, (int32_t)id, l->links + l->n_links, MAX_LINKS) : 0;
    if (n == 0) continue;
    const double count = (double)cq_aligner_count(a, (int32_t)id) / (w->splits ? 2 : 1);
    l->meanings[l->n++] = (cq_meaning){(int32_t)id, (uint32_t)l->n_links, (uint32_t)n, count};
    l->n_links += n;
  }
  return CQ_OK;
}

static bool is_same_language(const cq_training_data *a, const cq_training_data *b) {
  return a == b || (a->label && b->label && strcmp(a->label, b->label) == 0);
}

static cq_status align_language(void *context, size_t item, int worker, cq_error *error) {
  work *w = context;
  bench *b = &w->benches[worker];
  language *l = &w->m->languages[item];
  const cq_meanings_task *t = w->task;
  if (atomic_load(&w->stopped)) return CQ_OK;
  cq_status status = cq_aligner_new(&b->aligner, t->n_old, t->n_new, error);
  for (size_t i = l->first; !status && i < t->n_pairs; i++)
    if (is_same_language(&t->pairs[l->first], &t->pairs[i])) status = read_file(w, b, l, &t->pairs[i], error);
  if (!status) status = cq_aligner_run(b->aligner, N_ITERATIONS, error);
  if (!status) status = keep_links(w, l, b->aligner, error);
  cq_aligner_free(b->aligner);
  b->aligner = NULL;
  const size_t done = atomic_fetch_add(&w->n_done, 1) + 1;
  if (worker == 0 && !cq_student_tell(w->tells, "alignment", done, w->m->n_languages)) atomic_store(&w->stopped, true);
  return status;
}

/* --- all of them --- */

static cq_status list_languages(cq_meanings *m, const cq_meanings_task *t, cq_error *error) {
  m->languages = cq_alloc_array_zeroed(t->n_pairs, sizeof *m->languages);
  m->source_count = cq_alloc_array_zeroed((size_t)t->n_new, sizeof *m->source_count);
  if (!m->languages || !m->source_count) return cq_fail_memory(error, "alignment");
  for (size_t i = 0; i < t->n_pairs; i++) {
    size_t first = 0;
    while (!is_same_language(&t->pairs[first], &t->pairs[i])) first++;
    if (first == i) m->languages[m->n_languages++].first = i;
  }
  return CQ_OK;
}

static cq_status open_benches(work *w, int n, cq_error *error) {
  if (!(w->benches = cq_alloc_array_zeroed((size_t)n, sizeof *w->benches))) return cq_fail_memory(error, "alignment");
  for (int i = 0; i < n; i++) {
    bench *b = &w->benches[i];
    b->source_count = cq_alloc_array_zeroed((size_t)w->task->n_new, sizeof *b->source_count);
    if (w->splits) b->token = cq_token_memory_new();
    if (!b->source_count || (w->splits && !b->token)) return cq_fail_memory(error, "alignment");
  }
  return CQ_OK;
}

static void close_benches(work *w, int n) {
  for (int i = 0; w->benches && i < n; i++) {
    cq_free(w->benches[i].source_count), cq_free(w->benches[i].source.ids), cq_free(w->benches[i].target.ids);
    cq_token_memory_free(w->benches[i].token);
  }
  cq_free(w->benches);
}

cq_status cq_meanings_find(cq_meanings *m, const cq_meanings_task *task, const cq_student_options *tells,
                           cq_context *ctx, cq_error *error) {
  const int n = cq_context_n_threads(ctx);
  work w = {.task = task, .m = m, .tells = tells};
  *m = (cq_meanings){0};
  w.splits = strcmp(cq_tokenizer_describe(task->new_tokenizer)->type, "Unigram") == 0;
  cq_status status = list_languages(m, task, error);
  if (!status) status = open_benches(&w, n, error);
  if (!status) status = cq_context_try(ctx, m->n_languages, align_language, &w, error);
  for (size_t i = 0; !status && i < m->n_languages; i++) m->n_pairs += m->languages[i].n_pairs;
  if (!status && atomic_load(&w.stopped)) status = cq_fail(error, CQ_ERR_STOPPED, "stopped while aligning");
  for (int i = 0; !status && i < n; i++)
    for (int64_t id = 0; id < task->n_new; id++) m->source_count[id] += w.benches[i].source_count[id];
  close_benches(&w, n);
  return status;
}

void cq_meanings_free(cq_meanings *m) {
  for (size_t i = 0; i < m->n_languages; i++) cq_free(m->languages[i].meanings), cq_free(m->languages[i].links);
  cq_free(m->languages);
  cq_free(m->source_count);
  *m = (cq_meanings){0};
}

/* --- a piece's meaning --- */

static double row_length(const float *row, int64_t dim) {
  double sum = 0;
  for (int64_t j = 0; j < dim; j++) sum += (double)row[j] * (double)row[j];
  return sqrt(sum);
}

/* The weighted mean of the linked rows, scaled to their mean length: the mean of rows in different directions is short,
 * but the encoder was trained on rows of full length. */
static void mean_of_links(float *mean, const cq_link *links, size_t n, const float *rows, int64_t dim) {
  double length = 0;
  memset(mean, 0, (size_t)dim * sizeof *mean);
  for (size_t i = 0; i < n; i++) {
    const float *row = rows + links[i].source * dim;
    for (int64_t j = 0; j < dim; j++) mean[j] += links[i].weight * row[j];
    length += (double)links[i].weight * row_length(row, dim);
  }
  const double short_length = row_length(mean, dim);
  const float scale = short_length > 0 ? (float)(length / short_length) : 1;
  for (int64_t j = 0; j < dim; j++) mean[j] *= scale;
}

cq_status cq_meanings_add(float *sum, double *target_count, const cq_meanings *m, const float *old, int64_t dim,
                          cq_error *error) {
  float *mean = cq_alloc_array((size_t)dim, sizeof *mean);
  if (!mean) return cq_fail_memory(error, "alignment");
  for (size_t i = 0; i < m->n_languages; i++) {
    const language *l = &m->languages[i];
    for (const cq_meaning *p = l->meanings; p < l->meanings + l->n; p++) {
      float *to = sum + p->piece * dim;
      mean_of_links(mean, l->links + p->first, p->n, old, dim);
      for (int64_t j = 0; j < dim; j++) to[j] += (float)p->count * mean[j];
      target_count[p->piece] += p->count;
    }
  }
  cq_free(mean);
  return CQ_OK;
}
