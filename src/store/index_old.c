/* Indexes of older formats, whose documents are lines of one file: id <tab> language <tab> text. A record is a document.
 * They are read into memory, and made anew when they are to be written. */
#include "store/index_snapshot.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/slice.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { AT_A_TIME = 4096 }; /* lines that become documents in one transaction */

/* A line's parts; false: it has fewer than three. */
static bool split_line(cq_document *out, cq_slice line) {
  const char *first = memchr(line.data, '\t', line.n), *end = line.data + line.n;
  const char *second = first ? memchr(first + 1, '\t', (size_t)(end - first - 1)) : NULL;
  if (!second) return false;
  *out = (cq_document){.id = {line.data, (size_t)(first - line.data)},
                       .language = {first + 1, (size_t)(second - first - 1)},
                       .text = {second + 1, (size_t)(end - second - 1)}};
  return true;
}

static cq_status read_line(cq_document *out, size_t *at, const cq_index_snapshot *s, const cq_mapping *lines,
                           int64_t record, const char *path, cq_error *error) {
  const size_t n_bytes = (size_t)s->m.n_bytes, begin = *at;
  const char *text = (const char *)lines->data + begin;
  const char *end = begin < n_bytes ? memchr(text, '\n', n_bytes - begin) : NULL;
  cq_index_check check;
  if (!end || !split_line(out, (cq_slice){text, (size_t)(end - text)}))
    return cq_fail_line(error, CQ_ERR_FORMAT, path, (uint64_t)record + 1,
                        "expected id, language and text separated by tabs");
  *at = begin + (size_t)(end - text) + 1;
  if (!s->checks.n) return CQ_OK;
  memcpy(&check, s->checks.data + (size_t)record * sizeof check, sizeof check);
  if (check.passage == cq_check64(text, *at - begin, (uint64_t)record)) return CQ_OK;
  return cq_fail_line(error, CQ_ERR_FORMAT, path, (uint64_t)record + 1,
                      "the document is damaged: it does not fit its check");
}

cq_status cq_index_read_lines(cq_index_snapshot *s, const char *directory, cq_error *error) {
  char path[PATH_MAX];
  cq_mapping lines = {0};
  size_t at = 0;
  cq_document *documents = cq_alloc_array(AT_A_TIME, sizeof *documents);
  int64_t *firsts = cq_alloc_array(AT_A_TIME, sizeof *firsts);
  cq_index_passage *passages = cq_alloc_array_zeroed((size_t)s->m.n, sizeof *passages);
  s->passages = passages;
  cq_status status = documents && firsts && passages ? cq_path_join(path, sizeof path, directory, "documents", error)
                                                     : cq_fail_memory(error, directory);
  if (!status && !(s->passages_path = cq_strdup(path))) status = cq_fail_memory(error, path);
  if (!status) status = cq_mapping_open(&lines, path, error);
  if (!status && lines.n < (size_t)s->m.n_bytes)
    status =
        cq_fail_file(error, CQ_ERR_FORMAT, path, "%zu bytes, the manifest says %lld", lines.n, (long long)s->m.n_bytes);
  if (!status) status = cq_document_store_open(&s->documents, NULL, true, error);
  for (int64_t record = 0; !status && record < s->m.n;) {
    size_t n = 0;
    for (; !status && n < AT_A_TIME && record < s->m.n; record++) {
      status = read_line(&documents[n], &at, s, &lines, record, path, error);
      if (status) break;
      passages[record] = (cq_index_passage){.first = (uint32_t)record, .end = (uint32_t)documents[n].text.n};
      firsts[n++] = record;
    }
    if (!status) status = cq_document_store_append(s->documents, documents, firsts, n, error);
  }
  if (!status && at != (size_t)s->m.n_bytes)
    status = cq_fail_file(error, CQ_ERR_FORMAT, path, "more text than %lld documents", (long long)s->m.n);
  cq_mapping_close(&lines);
  cq_free(documents);
  cq_free(firsts);
  return status;
}

/* --- making them anew --- */

static cq_status copy_document(void *context, int64_t first, const cq_document *document, cq_error *error) {
  return cq_document_batch_add(context, document, first, error);
}

static cq_status write_checks(const char *path, const cq_index_snapshot *s, cq_error *error) {
  const size_t row = (size_t)s->m.dim * sizeof(float);
  cq_writer w = {0};
  cq_status status = cq_writer_open(&w, path, error);
  for (int64_t i = 0; !status && i < s->m.n; i++) {
    cq_index_check check;
    if (!cq_index_snapshot_is_sound(s, i)) {
      status = cq_index_snapshot_fail(s, i, error);
      break;
    }
    check.vector = cq_check64(s->vectors.data + (size_t)i * row, row, (uint64_t)i);
    check.passage = cq_check64(&s->passages[i], sizeof *s->passages, (uint64_t)i);
    status = cq_writer_bytes(&w, &check, sizeof check, error);
  }
  if (!status) status = cq_writer_commit(&w, error);
  cq_writer_abort(&w);
  return status;
}

/* What old formats had no check of gets one. */
static cq_status check_files(cq_index_manifest *m, const char *directory, cq_error *error) {
  char path[PATH_MAX];
  cq_status status = CQ_OK;
  if (m->generation > 0) {
    status = cq_index_path(path, directory, "deleted", m->generation, error);
    if (!status) status = cq_index_file_check(&m->deleted_check, path, error);
  }
  if (!status && m->n_approximate > 0) {
    status = cq_index_path(path, directory, "approximate", m->approximate, error);
    if (!status) status = cq_index_file_check(&m->approximate_check, path, error);
  }
  return status;
}

static cq_status write_files(const char *directory, cq_index_manifest *m, const cq_index_snapshot *old,
                             cq_error *error) {
  char path[PATH_MAX], vectors[PATH_MAX];
  cq_document_batch batch = {0};
  cq_status status = cq_index_path(path, directory, "documents", 1, error);
  if (!status) unlink(path); /* of an earlier try */
  if (!status) status = cq_document_store_open(&batch.to, path, true, error);
  if (!status) status = cq_document_store_visit(old->documents, 0, old->m.n, copy_document, &batch, error);
  if (!status) status = cq_document_batch_flush(&batch, error);
  cq_document_store_close(batch.to);
  cq_document_batch_free(&batch);
  if (!status) status = cq_index_path(path, directory, "passages", 1, error);
  if (!status) status = cq_file_write(path, old->passages, (size_t)old->m.n * sizeof *old->passages, error);
  if (!status) status = cq_index_path(path, directory, "checks", 1, error);
  if (!status) status = write_checks(path, old, error);
  if (!status) status = cq_index_path(path, directory, "vectors", 1, error);
  if (!status) status = cq_path_join(vectors, sizeof vectors, directory, "vectors", error);
  if (!status) {
    unlink(path);
    if (link(vectors, path) != 0) status = cq_file_copy(vectors, path, error); /* where a file has one name only */
  }
  if (!status) status = cq_sync_name(path, error);
  return status ? status : check_files(m, directory, error);
}

cq_status cq_index_upgrade(const char *directory, cq_error *error) {
  static const char *const left[] = {"documents", "vectors", "checks"};
  cq_index_manifest m;
  cq_index_snapshot *old = NULL;
  char path[PATH_MAX];
  cq_status status = cq_index_manifest_read(&m, directory, error);
  if (status) return status;
  if (m.format == CQ_INDEX_RECORDS) {
    cq_index_manifest_free(&m);
    return CQ_OK;
  }
  status = cq_index_snapshot_open(&old, directory, &m, NULL, NULL, error);
  if (!status) status = write_files(directory, &m, old, error);
  if (!status) {
    if (m.format == CQ_INDEX_FIRST) *m.fingerprint = 0;
    m.files = 1, m.n_documents = m.n - old->n_deleted, m.n_bytes = 0;
    status = cq_index_new_identity(m.identity, directory, error);
    if (!status) status = cq_index_manifest_save(&m, directory, error);
  }
  for (int i = 0; !status && i < 3; i++)
    if (!cq_path_join(path, sizeof path, directory, left[i], NULL)) unlink(path);
  cq_index_snapshot_release(old);
  cq_index_manifest_free(&m);
  return status;
}
