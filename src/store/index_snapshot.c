/* Reads the part of an index that its manifest counts, and verifies it against its checks. */
#include "store/index_snapshot.h"

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/slice.h"

#include <inttypes.h>
#include <string.h>

cq_status cq_index_path(char out[PATH_MAX], const char *directory, const char *what, int64_t generation,
                        cq_error *error) {
  char name[48];
  snprintf(name, sizeof name, "%s-%" PRId64, what, generation);
  return cq_path_join(out, PATH_MAX, directory, name, error);
}

/* Maps a file that holds n bytes at least. */
static cq_status map_file(cq_mapping *out, char **path_out, const char *directory, const char *name, int64_t generation,
                          int64_t n, cq_error *error) {
  char path[PATH_MAX];
  cq_status status = cq_index_path(path, directory, name, generation, error);
  if (!status) status = cq_mapping_open(out, path, error);
  if (!status && (uint64_t)out->n < (uint64_t)n)
    status = cq_fail_file(error, CQ_ERR_FORMAT, path, "%zu bytes, the manifest says %lld", out->n, (long long)n);
  if (!status && path_out && !(*path_out = cq_strdup(path))) status = cq_fail_memory(error, path);
  return status;
}

static cq_index_check check_of_record(const cq_index_snapshot *s, size_t record) {
  cq_index_check check;
  memcpy(&check, s->checks.data + record * sizeof check, sizeof check);
  return check;
}

static cq_status read_deleted(cq_index_snapshot *s, const char *directory, const unsigned char *deleted,
                              cq_error *error) {
  char path[PATH_MAX];
  cq_mapping mapping = {0};
  cq_status status = CQ_OK;
  s->deleted = cq_alloc_zeroed(cq_index_bytes_of_bits(s->m.n));
  if (!s->deleted) return cq_fail_memory(error, "deleted documents");
  if (deleted) {
    memcpy(s->deleted, deleted, cq_index_bytes_of_bits(s->m.n));
  } else if (s->m.generation > 0) {
    status = cq_index_path(path, directory, "deleted", s->m.generation, error);
    if (!status) status = cq_mapping_open(&mapping, path, error);
    if (!status && mapping.n != (size_t)s->m.n_deleted_bytes)
      status = cq_fail_file(error, CQ_ERR_FORMAT, path, "%zu bytes, the manifest says %lld", mapping.n,
                            (long long)s->m.n_deleted_bytes);
    if (!status && cq_check64(mapping.data, mapping.n, 0) != s->m.deleted_check)
      status = cq_fail_file(error, CQ_ERR_FORMAT, path, "it is damaged: it does not fit its check");
    if (!status) memcpy(s->deleted, mapping.data, mapping.n); /* what was added since is not deleted */
    cq_mapping_close(&mapping);
  }
  for (int64_t i = 0; !status && i < s->m.n / 8; i++) s->n_deleted += __builtin_popcount(s->deleted[i]);
  for (int64_t i = s->m.n / 8 * 8; !status && i < s->m.n; i++) s->n_deleted += cq_index_bit(s->deleted, i);
  return status;
}

/* Checks that it continues the previous one. */
static cq_status know_again(const cq_index_snapshot *s, const char *directory, const cq_index_snapshot *before,
                            cq_error *error) {
  if (before && (s->m.dim != before->m.dim || strcmp(s->m.model, before->m.model) != 0 ||
                 strcmp(s->m.identity, before->m.identity) != 0))
    return cq_fail_file(error, CQ_ERR_ARGUMENT, directory, "another index is in its place: open it again");
  return CQ_OK;
}

/* Reuses the verified checks and vector lengths of an earlier snapshot. */
static cq_status remember_sound(cq_index_snapshot *s, const cq_index_snapshot *before, cq_error *error) {
  s->sound = cq_alloc_zeroed(cq_index_bytes_of_bits(s->m.n));
  s->lengths = cq_alloc_array_zeroed((size_t)s->m.n + 1, sizeof *s->lengths);
  if (!s->sound || !s->lengths) return cq_fail_memory(error, s->vectors_path);
  if (before && before->m.files == s->m.files)
    for (int64_t i = 0; i < before->m.n && i < s->m.n; i++)
      atomic_init(&s->lengths[i], atomic_load_explicit(&before->lengths[i], memory_order_relaxed));
  if (!before || before->m.files != s->m.files || before->m.hubness != s->m.hubness) return CQ_OK;
  for (int64_t i = 0; i < before->m.n / 8 && i < s->m.n / 8; i++) /* whole bytes: later bits are of others */
    atomic_init(&s->sound[i], atomic_load_explicit(&before->sound[i], memory_order_relaxed));
  return CQ_OK;
}

static cq_status open_documents(cq_index_snapshot *s, const char *directory, const cq_index_snapshot *before,
                                cq_error *error) {
  char path[PATH_MAX];
  cq_status status = map_file(&s->passages_file, &s->passages_path, directory, "passages", s->m.files,
                              s->m.n * (int64_t)sizeof(cq_index_passage), error);
  s->passages = (const cq_index_passage *)(const void *)s->passages_file.data;
  if (!status && before && before->m.files == s->m.files) {
    s->documents = cq_document_store_share(before->documents);
    return CQ_OK;
  }
  if (!status) status = cq_index_path(path, directory, "documents", s->m.files, error);
  return status ? status : cq_document_store_open(&s->documents, path, false, error);
}

cq_status cq_index_snapshot_open(cq_index_snapshot **out, const char *directory, const cq_index_manifest *m,
                                 const unsigned char *deleted, const cq_index_snapshot *before, cq_error *error) {
  *out = NULL;
  cq_index_snapshot *s = cq_alloc_zeroed(sizeof *s);
  if (!s) return cq_fail_memory(error, directory);
  atomic_init(&s->n_users, 1);
  pthread_mutex_init(&s->selecting, NULL);
  cq_status status = cq_index_manifest_copy(&s->m, m, error);
  if (!status)
    status = map_file(&s->vectors, &s->vectors_path, directory, "vectors", m->files,
                      m->n * m->dim * (int64_t)sizeof(float), error);
  if (!status)
    status = map_file(&s->checks, NULL, directory, "checks", m->files, m->n * (int64_t)sizeof(cq_index_check), error);
  if (!status && m->n_queries)
    status = map_file(&s->hubs_file, &s->hubs_path, directory, "hubness", m->hubness, m->n * (int64_t)sizeof *s->hubs,
                      error);
  if (!status && m->n_queries) s->hubs = (const cq_index_hub *)(const void *)s->hubs_file.data;
  if (!status) status = know_again(s, directory, before, error);
  if (!status) status = read_deleted(s, directory, deleted, error);
  if (!status) status = open_documents(s, directory, before, error);
  if (!status) status = remember_sound(s, before, error);
  if (status) cq_index_snapshot_release(s);
  *out = status ? NULL : s;
  return status;
}

void cq_index_snapshot_release(cq_index_snapshot *s) {
  if (!s || atomic_fetch_sub(&s->n_users, 1) > 1) return;
  cq_mapping_close(&s->passages_file);
  cq_mapping_close(&s->vectors);
  cq_mapping_close(&s->checks);
  cq_mapping_close(&s->hubs_file);
  cq_document_store_close(s->documents);
  for (int i = 0; i < CQ_INDEX_N_SELECTIONS; i++) {
    cq_free(s->selections[i].filter);
    cq_free(s->selections[i].records);
  }
  pthread_mutex_destroy(&s->selecting);
  cq_free((void *)s->sound);
  cq_free((void *)s->lengths);
  cq_free(s->vectors_path);
  cq_free(s->passages_path);
  cq_free(s->hubs_path);
  cq_free(s->deleted);
  cq_index_manifest_free(&s->m);
  cq_free(s);
}

cq_index_info cq_index_snapshot_info(const cq_index_snapshot *s) {
  return (cq_index_info){.model = s->m.model,
                         .fingerprint = s->m.fingerprint,
                         .identity = s->m.identity,
                         .files = s->m.files,
                         .tasks = s->m.tasks,
                         .dim = s->m.dim,
                         .n = s->m.n,
                         .n_live = s->m.n - s->n_deleted,
                         .n_documents = s->m.n_documents,
                         .n_approximate = s->m.n_approximate,
                         .approximate = s->m.approximate,
                         .words = s->m.words,
                         .n_words = s->m.n_words,
                         .n_queries = s->m.n_queries,
                         .k = s->m.k};
}

const float *cq_index_snapshot_vectors(const cq_index_snapshot *s) {
  return (const float *)(const void *)s->vectors.data;
}

_Atomic double *cq_index_snapshot_lengths(const cq_index_snapshot *s) {
  return s->lengths;
}

const cq_index_hub *cq_index_snapshot_hubness(const cq_index_snapshot *s) {
  return s->hubs;
}

cq_index_passage cq_index_snapshot_passage(const cq_index_snapshot *s, int64_t record) {
  return s->passages[record];
}

bool cq_index_snapshot_is_live(const cq_index_snapshot *s, int64_t record) {
  return !cq_index_bit(s->deleted, record);
}

/* --- documents --- */

cq_status cq_index_snapshot_document(cq_document *out, cq_arena *arena, const cq_index_snapshot *s, int64_t first,
                                     cq_error *error) {
  return cq_document_store_read(out, arena, s->documents, first, error);
}

cq_status cq_index_snapshot_visit(const cq_index_snapshot *s, int64_t from, int64_t to,
                                  cq_status (*visit)(void *, int64_t, const cq_document *, cq_error *), void *context,
                                  cq_error *error) {
  return cq_document_store_visit(s->documents, from, to, visit, context, error);
}

cq_status cq_index_snapshot_find(int64_t *first, const cq_index_snapshot *s, cq_slice id, cq_error *error) {
  const cq_status status = cq_document_store_find(first, s->documents, id, s->m.n, error);
  if (!status && *first >= 0 && cq_index_bit(s->deleted, *first)) *first = -1;
  return status;
}

typedef struct marking {
  const cq_index_snapshot *s;
  cq_index_selection *to;
} marking;

static void mark_document(void *context, int64_t first) {
  const marking *m = context;
  if (cq_index_bit(m->s->deleted, first)) return;
  for (int64_t i = first; i < m->s->m.n && m->s->passages[i].first == first; i++) {
    cq_index_set_bit(m->to->records, i);
    m->to->n_records++;
  }
}

static cq_status select_records(cq_index_selection *out, const cq_index_snapshot *s, const char *text,
                                cq_error *error) {
  cq_filter filter;
  *out = (cq_index_selection){.filter = cq_strdup(text), .records = cq_alloc_zeroed(cq_index_bytes_of_bits(s->m.n))};
  cq_status status = out->filter && out->records ? CQ_OK : cq_fail_memory(error, "filter");
  if (!status && !(status = cq_filter_parse(&filter, cq_slice_of(text), error))) {
    status = cq_document_store_select(s->documents, &filter, s->m.n, mark_document, &(marking){s, out}, error);
    cq_filter_free(&filter);
  }
  return status;
}

/* The cached entry of a filter; if there is none, the least recently used entry, emptied. */
static cq_index_selection *place_of_filter(cq_index_snapshot *s, const char *filter) {
  cq_index_selection *oldest = s->selections;
  for (int i = 0; i < CQ_INDEX_N_SELECTIONS; i++) {
    cq_index_selection *selection = &s->selections[i];
    if (selection->filter && strcmp(selection->filter, filter) == 0) return selection;
    if (selection->used < oldest->used) oldest = selection;
  }
  cq_free(oldest->filter);
  cq_free(oldest->records);
  *oldest = (cq_index_selection){0};
  return oldest;
}

cq_status cq_index_snapshot_select(unsigned char **out, int64_t *n_selected, cq_index_snapshot *s, const char *filter,
                                   cq_error *error) {
  const size_t n_bytes = cq_index_bytes_of_bits(s->m.n);
  cq_status status = CQ_OK;
  *out = cq_alloc(n_bytes);
  if (!*out) return cq_fail_memory(error, "filter");
  pthread_mutex_lock(&s->selecting);
  cq_index_selection *selection = place_of_filter(s, filter);
  if (!selection->filter) {
    status = select_records(selection, s, filter, error);
    if (status) {
      cq_free(selection->filter);
      cq_free(selection->records);
      *selection = (cq_index_selection){0};
    }
  }
  if (!status) {
    selection->used = ++s->n_uses;
    memcpy(*out, selection->records, n_bytes);
    *n_selected = selection->n_records;
  }
  pthread_mutex_unlock(&s->selecting);
  if (status) {
    cq_free(*out);
    *out = NULL;
  }
  return status;
}

typedef struct counting {
  const cq_index_snapshot *s;
  void (*found)(void *, cq_slice, size_t);
  void *context;
} counting;

static void count_language(void *context, cq_slice language, int64_t first) {
  const counting *c = context;
  if (!cq_index_bit(c->s->deleted, first)) c->found(c->context, language, 1);
}

cq_status cq_index_snapshot_languages(const cq_index_snapshot *s, void (*found)(void *, cq_slice, size_t),
                                      void *context, cq_error *error) {
  counting c = {s, found, context};
  return cq_document_store_languages(s->documents, s->m.n, count_language, &c, error);
}

/* --- checks --- */

cq_status cq_index_file_check(uint64_t *out, const char *path, cq_error *error) {
  cq_mapping mapping = {0};
  cq_status status = cq_mapping_open(&mapping, path, error);
  if (!status) *out = cq_check64(mapping.data, mapping.n, 0);
  cq_mapping_close(&mapping);
  return status;
}

cq_status cq_index_snapshot_verify_approximate(const cq_index_snapshot *s, const char *path, cq_error *error) {
  uint64_t check;
  const cq_status status = cq_index_file_check(&check, path, error);
  if (status || check == s->m.approximate_check) return status;
  return cq_fail_file(error, CQ_ERR_FORMAT, path,
                      "it is damaged: it does not fit its check ('calque index approximate' rebuilds it, 'search "
                      "--exact' does without)");
}

static bool is_sound_passage(const cq_index_snapshot *s, int64_t record) {
  return cq_check64(&s->passages[record], sizeof *s->passages, (uint64_t)record) ==
         check_of_record(s, (size_t)record).passage;
}

static bool is_sound_hub(const cq_index_snapshot *s, int64_t record) {
  return !s->hubs || cq_index_check_of_hub(s->hubs[record].mean, record) == s->hubs[record].check;
}

bool cq_index_snapshot_is_sound(const cq_index_snapshot *s, int64_t record) {
  const unsigned char bit = (unsigned char)(1u << (record % 8));
  if (atomic_load_explicit(&s->sound[record / 8], memory_order_relaxed) & bit) return true;
  const size_t row = (size_t)s->m.dim * sizeof(float);
  if (cq_check64(s->vectors.data + (size_t)record * row, row, (uint64_t)record) !=
          check_of_record(s, (size_t)record).vector ||
      !is_sound_passage(s, record) || !is_sound_hub(s, record))
    return false;
  atomic_fetch_or_explicit(&s->sound[record / 8], bit, memory_order_relaxed);
  return true;
}

cq_status cq_index_snapshot_fail(const cq_index_snapshot *s, int64_t record, cq_error *error) {
  if (!is_sound_passage(s, record))
    return cq_fail_file(error, CQ_ERR_FORMAT, s->passages_path,
                        "record %lld (bytes %lld to %lld) is damaged: it does not fit its check", (long long)record,
                        (long long)record * 16, (long long)record * 16 + 15);
  if (!is_sound_hub(s, record))
    return cq_fail_file(error, CQ_ERR_FORMAT, s->hubs_path,
                        "the number of record %lld (bytes %lld to %lld) is damaged: it does not fit its check",
                        (long long)record, (long long)record * 8, (long long)record * 8 + 7);
  const long long row = s->m.dim * (long long)sizeof(float);
  return cq_fail_file(error, CQ_ERR_FORMAT, s->vectors_path,
                      "the vector of record %lld (bytes %lld to %lld) is damaged: it does not fit its check",
                      (long long)record, record * row, (record + 1) * row - 1);
}

enum { PART = 2048 }; /* records that a thread compares at a time */

typedef struct comparison {
  const cq_index_snapshot *s;
  _Atomic int64_t damaged; /* the first damaged record, or n */
} comparison;

static void compare_part(void *context, size_t part, int thread) {
  comparison *c = context;
  (void)thread;
  const int64_t first = (int64_t)part * PART, end = first + PART < c->s->m.n ? first + PART : c->s->m.n;
  for (int64_t i = first; i < end; i++) {
    if (cq_index_snapshot_is_sound(c->s, i)) continue;
    int64_t known = atomic_load(&c->damaged);
    while (i < known && !atomic_compare_exchange_weak(&c->damaged, &known, i)) {
    }
    return;
  }
}

/* Verifies that every document is at its first record, and that each record belongs to one document. */
typedef struct walking {
  const cq_index_snapshot *s;
  int64_t next; /* record */
} walking;

static cq_status walk_document(void *context, int64_t first, const cq_document *document, cq_error *error) {
  walking *w = context;
  const cq_index_passage *passages = w->s->passages;
  bool fits = first == w->next && first < w->s->m.n;
  for (; fits && w->next < w->s->m.n && passages[w->next].first == first; w->next++)
    fits = passages[w->next].begin <= passages[w->next].end && passages[w->next].end <= document->text.n;
  if (fits && w->next > first) return CQ_OK;
  return cq_fail_file(error, CQ_ERR_FORMAT, w->s->passages_path, "record %lld does not fit the document '%.*s'",
                      (long long)w->next, (int)document->id.n, document->id.data);
}

cq_status cq_index_snapshot_verify(const cq_index_snapshot *s, cq_context *ctx, cq_error *error) {
  comparison c = {.s = s};
  walking w = {.s = s};
  atomic_init(&c.damaged, s->m.n);
  cq_context_run(ctx, ((size_t)s->m.n + PART - 1) / PART, compare_part, &c);
  const int64_t damaged = atomic_load(&c.damaged);
  if (damaged < s->m.n) return cq_index_snapshot_fail(s, damaged, error);
  cq_status status = cq_document_store_visit(s->documents, 0, s->m.n, walk_document, &w, error);
  if (!status && w.next < s->m.n)
    status =
        cq_fail_file(error, CQ_ERR_FORMAT, s->passages_path, "record %lld belongs to no document", (long long)w.next);
  return status ? status : cq_document_store_verify(s->documents, error);
}
