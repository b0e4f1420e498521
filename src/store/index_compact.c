/* Compaction: the next generation of all files, without deleted records. */
#include "store/index_writer.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>
#include <unistd.h>

enum { RECORDS = 1024 }; /* written at a time */

typedef struct compacting {
  const cq_index_store *store;
  const cq_index_snapshot *old;
  const char *directory;
  cq_index_files files;
  cq_document_batch batch;
  cq_index_passage *passages; /* [RECORDS] */
  float *vectors;             /* [RECORDS, dim] */
  float *hubs;                /* [RECORDS], if there are any */
  int hubs_file;              /* -1: none */
  size_t n_waiting;
  int64_t n; /* records of the new generation */
} compacting;

static cq_status write_waiting(compacting *c, cq_error *error) {
  const int64_t first = c->n - (int64_t)c->n_waiting;
  cq_status status =
      cq_index_files_write(&c->files, first, c->passages, c->vectors, c->n_waiting, c->old->m.dim, c->directory, error);
  if (!status && c->hubs_file >= 0)
    status = cq_index_hubs_write(c->hubs_file, c->store, first, c->hubs, (int64_t)c->n_waiting, error);
  c->n_waiting = 0;
  return status;
}

static cq_status compact_document(void *context, int64_t first, const cq_document *document, cq_error *error) {
  compacting *c = context;
  const cq_index_snapshot *old = c->old;
  const size_t dim = (size_t)old->m.dim;
  if (cq_index_bit(old->deleted, first)) return CQ_OK;
  const int64_t new_first = c->n;
  cq_status status = cq_document_batch_add(&c->batch, document, new_first, error);
  for (int64_t i = first; !status && i < old->m.n && old->passages[i].first == first; i++) {
    if (!cq_index_snapshot_is_sound(old, i)) return cq_index_snapshot_fail(old, i, error);
    c->passages[c->n_waiting] = old->passages[i];
    c->passages[c->n_waiting].first = (uint32_t)new_first;
    memcpy(c->vectors + c->n_waiting * dim, cq_index_snapshot_vectors(old) + (size_t)i * dim, dim * sizeof(float));
    if (old->hubs) c->hubs[c->n_waiting] = old->hubs[i].mean;
    c->n++;
    if (++c->n_waiting == RECORDS) status = write_waiting(c, error);
  }
  return status;
}

/* Creates the files of a new generation, replacing any left by an earlier attempt. */
static cq_status begin_files(compacting *c, int64_t generation, cq_error *error) {
  static const char *const files[] = {"documents", "passages", "vectors", "checks"};
  char path[PATH_MAX];
  cq_status status = CQ_OK;
  for (int i = 0; !status && i < 4; i++)
    if (!(status = cq_index_path(path, c->directory, files[i], generation, error))) unlink(path);
  if (!status) status = cq_index_files_open(&c->files, c->directory, generation, error);
  c->batch.to = c->files.documents;
  return status;
}

static cq_status write_generation(compacting *c, int64_t generation, int64_t hubness, cq_error *error) {
  char path[PATH_MAX];
  c->passages = cq_alloc_array(RECORDS, sizeof *c->passages);
  c->vectors = cq_alloc_array(RECORDS * (size_t)c->old->m.dim, sizeof *c->vectors);
  c->hubs = cq_alloc_array(RECORDS, sizeof *c->hubs);
  cq_status status = c->passages && c->vectors && c->hubs ? CQ_OK : cq_fail_memory(error, c->directory);
  if (!status) status = begin_files(c, generation, error);
  if (!status && c->old->m.n_queries) status = cq_index_copy_queries(c->store, hubness, error);
  if (!status && c->old->m.n_queries) status = cq_index_hubs_open(&c->hubs_file, c->store, hubness, true, error);
  if (!status) status = cq_document_store_visit(c->old->documents, 0, c->old->m.n, compact_document, c, error);
  if (!status) status = write_waiting(c, error);
  if (!status) status = cq_document_batch_flush(&c->batch, error);
  if (!status) status = cq_index_files_sync(&c->files, c->directory, error);
  if (!status && c->hubs_file >= 0) status = cq_index_hubs_sync(c->hubs_file, c->store, hubness, error);
  if (!status) status = cq_index_path(path, c->directory, "vectors", generation, error);
  return status ? status : cq_sync_name(path, error);
}

/* An empty list of deletions in the next generation: readers of the old manifest must not find the list of another
 * generation. */
static cq_status begin_deleted(cq_index_manifest *next, const char *directory, cq_error *error) {
  char path[PATH_MAX];
  next->generation++, next->n_deleted_bytes = 0, next->deleted_check = cq_check64("", 0, 0);
  const cq_status status = cq_index_path(path, directory, "deleted", next->generation, error);
  return status ? status : cq_file_write(path, "", 0, error);
}

cq_status cq_index_store_check_committed(const cq_index_store *s, cq_error *error) {
  return s->n_new || s->changed || s->hubness != s->newest->m.hubness
             ? cq_fail_file(error, CQ_ERR_ARGUMENT, s->directory, "it has changes that are not committed")
             : CQ_OK;
}

cq_status cq_index_store_compact(cq_index_store *s, const cq_index_words *words, size_t n_words, cq_error *error) {
  cq_index_snapshot *newer = NULL;
  cq_status status = cq_index_store_check_writing(s, error);
  if (!status) status = cq_index_store_check_committed(s, error);
  if (status) return status;
  compacting c = {.store = s, .old = s->newest, .directory = s->directory, .hubs_file = -1};
  cq_index_files_init(&c.files);
  cq_index_manifest next = c.old->m;
  next.files++, next.hubness += next.n_queries > 0;
  status = write_generation(&c, next.files, next.hubness, error);
  next.n = c.n;
  next.approximate++, next.n_approximate = 0, next.approximate_check = 0;
  next.words = (cq_index_words *)(uintptr_t)words, next.n_words = n_words; /* borrowed: snapshots have their own */
  for (size_t i = 0; i < n_words; i++)
    if (words[i].number > next.last_words) next.last_words = words[i].number;
  unsigned char *deleted = cq_alloc_zeroed(cq_index_bytes_of_bits(next.n));
  if (!status && !deleted) status = cq_fail_memory(error, s->directory);
  if (!status) status = cq_index_store_reserve_words(s, n_words, error);
  if (!status) status = begin_deleted(&next, s->directory, error);
  if (!status) status = cq_index_snapshot_open(&newer, s->directory, &next, deleted, s->newest, error);
  if (!status) status = cq_index_manifest_save(&newer->m, s->directory, error);
  cq_document_batch_free(&c.batch);
  cq_free(c.passages);
  cq_free(c.vectors);
  cq_free(c.hubs);
  if (status) {
    if (c.hubs_file >= 0) close(c.hubs_file);
    cq_index_snapshot_release(newer);
    cq_index_files_close(&c.files);
    cq_free(deleted);
    return status;
  }
  cq_index_files_close(&s->files);
  s->files = c.files;
  if (s->hubs >= 0) close(s->hubs);
  s->hubs = c.hubs_file, s->hubness = next.hubness, s->n_hubs = next.n;
  cq_free(s->deleted);
  s->deleted = deleted;
  s->next_approximate = next.approximate, s->n_approximate = 0, s->approximate_check = 0;
  if (n_words) memcpy(s->words, words, n_words * sizeof *words);
  s->n_words = n_words, s->last_words = next.last_words, s->changed_words = false;
  cq_index_publish(s, newer);
  cq_index_remove_left(s);
  return CQ_OK;
}
