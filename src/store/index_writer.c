/* Changes of an index: appended after the valid records, and made valid by the next manifest. */
#include "store/index_writer.h"

#include "base/error.h"
#include "base/file.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/slice.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- the files that grow --- */

void cq_index_files_init(cq_index_files *f) {
  *f = (cq_index_files){.passages = -1, .vectors = -1, .checks = -1};
}

static cq_status open_descriptor(int *out, const char *directory, const char *name, int64_t generation,
                                 cq_error *error) {
  char path[PATH_MAX];
  cq_status status = cq_index_path(path, directory, name, generation, error);
  if (!status && (*out = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666)) < 0)
    status = cq_fail_errno(error, path, "cannot open");
  return status;
}

cq_status cq_index_files_open(cq_index_files *out, const char *directory, int64_t generation, cq_error *error) {
  char path[PATH_MAX];
  cq_index_files_init(out);
  cq_status status = open_descriptor(&out->passages, directory, "passages", generation, error);
  if (!status) status = open_descriptor(&out->vectors, directory, "vectors", generation, error);
  if (!status) status = open_descriptor(&out->checks, directory, "checks", generation, error);
  if (!status) status = cq_index_path(path, directory, "documents", generation, error);
  return status ? status : cq_document_store_open(&out->documents, path, true, error);
}

cq_status cq_index_files_sync(const cq_index_files *f, const char *directory, cq_error *error) {
  if (fdatasync(f->passages) != 0 || fdatasync(f->vectors) != 0 || fdatasync(f->checks) != 0)
    return cq_fail_errno(error, directory, "cannot write");
  return CQ_OK;
}

void cq_index_files_close(cq_index_files *f) {
  if (f->passages >= 0) close(f->passages);
  if (f->vectors >= 0) close(f->vectors);
  if (f->checks >= 0) close(f->checks);
  cq_document_store_close(f->documents);
  cq_index_files_init(f);
}

cq_status cq_index_files_write(const cq_index_files *f, int64_t n, const cq_index_passage *passages,
                               const float *vectors, size_t n_new, int64_t dim, const char *directory,
                               cq_error *error) {
  const int64_t row = dim * (int64_t)sizeof(float), of_passage = (int64_t)sizeof *passages;
  cq_index_check part[256];
  cq_status status = cq_write_at(f->passages, passages, n_new * sizeof *passages, n * of_passage, directory, error);
  if (!status) status = cq_write_at(f->vectors, vectors, n_new * (size_t)row, n * row, directory, error);
  for (size_t done = 0; !status && done < n_new; done += 256) {
    const size_t m = cq_min(n_new - done, 256);
    for (size_t i = 0; i < m; i++) {
      const uint64_t record = (uint64_t)n + done + i;
      part[i].vector = cq_check64(vectors + (done + i) * (size_t)dim, (size_t)row, record);
      part[i].passage = cq_check64(&passages[done + i], sizeof *passages, record);
    }
    status =
        cq_write_at(f->checks, part, m * sizeof *part, (n + (int64_t)done) * (int64_t)sizeof *part, directory, error);
  }
  return status;
}

/* Truncates data that was written but never committed, by a killed process or before the disk was full. */
static cq_status truncate_tail(const cq_index_store *s, cq_error *error) {
  const cq_index_manifest *m = &s->newest->m;
  const int64_t n = m->n + s->n_new;
  if (ftruncate(s->files.vectors, n * m->dim * (int64_t)sizeof(float)) != 0 ||
      ftruncate(s->files.passages, n * (int64_t)sizeof(cq_index_passage)) != 0 ||
      ftruncate(s->files.checks, n * (int64_t)sizeof(cq_index_check)) != 0)
    return cq_fail_errno(error, s->directory, "cannot truncate its files to what counts");
  return CQ_OK;
}

/* --- what killed processes left --- */

static bool is_named(const cq_index_manifest *m, const char *name) {
  static const char *const growing[] = {"documents", "passages", "vectors", "checks"};
  const char *dash = strchr(name, '-');
  char *end;
  if (!dash) return true;
  const cq_slice what = {name, (size_t)(dash - name)};
  const int64_t generation = strtoll(dash + 1, &end, 10);
  for (int i = 0; i < 4; i++) /* an end: SQLite's journal */
    if (cq_slice_equal(what, cq_slice_of(growing[i]))) return generation == m->files;
  if (*end) return true;
  if (cq_slice_equal(what, cq_slice_of("deleted"))) return generation == m->generation;
  if (cq_slice_equal(what, cq_slice_of("approximate"))) return generation == m->approximate;
  if (cq_slice_equal(what, cq_slice_of("hubness")) || cq_slice_equal(what, cq_slice_of("queries")))
    return generation == m->hubness && m->n_queries > 0;
  if (!cq_slice_equal(what, cq_slice_of("words"))) return true;
  for (size_t i = 0; i < m->n_words; i++)
    if (m->words[i].number == generation) return true;
  return false;
}

void cq_index_remove_left(const cq_index_store *s) {
  char path[PATH_MAX];
  DIR *directory = opendir(s->directory);
  for (const struct dirent *entry; directory && (entry = readdir(directory));) {
    if (cq_path_join(path, sizeof path, s->directory, entry->d_name, NULL)) continue;
    char *temporary = strstr(path + strlen(s->directory), ".tmp-");
    if (temporary) {
      *temporary = '\0';
      cq_remove_leftovers(path);
    } else if (!is_named(&s->newest->m, entry->d_name)) {
      unlink(path);
    }
  }
  if (directory) closedir(directory);
}

cq_status cq_index_store_reserve_words(cq_index_store *s, size_t n, cq_error *error) {
  return cq_reserve((void **)&s->words, &s->words_capacity, n + 1, sizeof *s->words)
             ? CQ_OK
             : cq_fail_memory(error, s->directory);
}

static cq_status copy_words(cq_index_store *s, const cq_index_words *words, size_t n, cq_error *error) {
  const cq_status status = cq_index_store_reserve_words(s, n, error);
  if (status) return status;
  if (n) memmove(s->words, words, n * sizeof *words);
  s->n_words = n;
  return CQ_OK;
}

cq_status cq_index_prepare_writing(cq_index_store *s, cq_error *error) {
  const cq_index_manifest *m = &s->newest->m;
  s->next_approximate = m->approximate, s->n_approximate = m->n_approximate;
  s->approximate_check = m->approximate_check;
  s->n_documents = m->n_documents, s->last_words = m->last_words;
  s->deleted = cq_alloc(cq_index_bytes_of_bits(m->n));
  if (!s->deleted) return cq_fail_memory(error, s->directory);
  memcpy(s->deleted, s->newest->deleted, cq_index_bytes_of_bits(m->n));
  cq_status status = copy_words(s, m->words, m->n_words, error);
  if (!status) status = cq_index_files_open(&s->files, s->directory, m->files, error);
  if (!status) cq_index_remove_left(s);
  if (!status) status = truncate_tail(s, error);
  if (!status) status = cq_index_prepare_hubness(s, error);
  return status ? status : cq_document_store_truncate(s->files.documents, m->n, error);
}

/* --- changes --- */

/* Marks a live document as deleted; false if it is already deleted or does not exist. */
static bool delete_document(cq_index_store *s, int64_t first) {
  const cq_index_snapshot *newest = s->newest;
  if (first < 0 || first >= newest->m.n || cq_index_bit(s->deleted, first)) return false;
  for (int64_t i = first; i < newest->m.n && newest->passages[i].first == first; i++) cq_index_set_bit(s->deleted, i);
  s->n_documents--;
  return s->changed = true;
}

/* The parts of additions to be written. */
typedef struct addition_rows {
  cq_index_passage *passages; /* [n_records] */
  cq_document *documents;
  int64_t *firsts;
  int64_t *replaced; /* all [n]; the current record of the document with the same id, or -1 */
  size_t n_records;
} addition_rows;

static cq_status check_id(int64_t *replaced, const cq_index_store *s, cq_map *ids, cq_slice id, cq_error *error) {
  if (id.n == 0) return cq_fail(error, CQ_ERR_ARGUMENT, "a document's id is empty");
  const cq_status status = cq_document_store_find(replaced, s->files.documents, id, INT64_MAX, error);
  if (status) return status;
  if (*replaced >= s->newest->m.n || cq_map_get(ids, id) != CQ_MAP_NONE)
    return cq_fail(error, CQ_ERR_ARGUMENT, "document '%.*s' appears twice", (int)id.n, id.data);
  return cq_map_put_borrowed(ids, id, 1) ? CQ_OK : cq_fail_memory(error, "ids");
}

static cq_status make_rows(addition_rows *r, const cq_index_store *s, const cq_index_addition *additions, size_t n,
                           cq_error *error) {
  const int64_t first = cq_index_store_n(s);
  cq_map ids = {0};
  size_t at = 0;
  for (size_t i = 0; i < n; i++) r->n_records += additions[i].n_passages;
  if ((uint64_t)first + r->n_records >= UINT32_MAX)
    return cq_fail(error, CQ_ERR_LIMIT, "an index holds fewer than 2^32 passages");
  r->passages = cq_alloc_array(r->n_records, sizeof *r->passages);
  r->documents = cq_alloc_array(n, sizeof *r->documents);
  r->firsts = cq_alloc_array(n, sizeof *r->firsts);
  r->replaced = cq_alloc_array(n, sizeof *r->replaced);
  cq_status status =
      r->passages && r->documents && r->firsts && r->replaced ? CQ_OK : cq_fail_memory(error, "documents");
  for (size_t i = 0; !status && i < n; i++) {
    r->documents[i] = *additions[i].document;
    r->firsts[i] = first + (int64_t)at;
    for (size_t k = 0; k < additions[i].n_passages; k++) {
      const cq_index_passage passage = additions[i].passages[k];
      r->passages[at++] = (cq_index_passage){(uint32_t)r->firsts[i], passage.begin, passage.end, 0};
    }
    status = check_id(&r->replaced[i], s, &ids, r->documents[i].id, error);
  }
  cq_map_free(&ids);
  return status;
}

cq_status cq_index_store_append(cq_index_store *s, const cq_index_addition *additions, size_t n, const float *vectors,
                                cq_error *error) {
  addition_rows rows = {0};
  cq_status status = cq_index_store_check_writing(s, error);
  if (status) return status;
  status = make_rows(&rows, s, additions, n, error);
  if (!status)
    status = cq_index_files_write(&s->files, cq_index_store_n(s), rows.passages, vectors, rows.n_records,
                                  s->newest->m.dim, s->directory, error);
  if (!status) status = cq_document_store_append(s->files.documents, rows.documents, rows.firsts, n, error);
  if (status) {
    if (rows.passages) (void)!truncate_tail(s, NULL);
  } else {
    for (size_t i = 0; i < n; i++) delete_document(s, rows.replaced[i]);
    s->n_new += (int64_t)rows.n_records;
    s->n_documents += (int64_t)n;
  }
  cq_free(rows.passages);
  cq_free(rows.documents);
  cq_free(rows.firsts);
  cq_free(rows.replaced);
  return status;
}

cq_status cq_index_store_remove(cq_index_store *s, const cq_slice *ids, size_t n, size_t *n_removed, cq_error *error) {
  *n_removed = 0;
  cq_status status = cq_index_store_check_writing(s, error);
  for (size_t i = 0; !status && i < n; i++) {
    int64_t first;
    status = cq_document_store_find(&first, s->files.documents, ids[i], s->newest->m.n, error);
    if (!status) *n_removed += delete_document(s, first);
  }
  return status;
}

cq_status cq_index_store_set_approximate(cq_index_store *s, bool is_there, cq_error *error) {
  char path[PATH_MAX];
  uint64_t check = 0;
  cq_status status = cq_index_store_check_writing(s, error);
  if (!status && is_there) status = cq_index_store_approximate(path, s, s->newest->m.approximate + 1, error);
  if (!status && is_there) status = cq_index_file_check(&check, path, error);
  if (status) return status;
  s->approximate_check = check;
  s->next_approximate = s->newest->m.approximate + 1;
  s->n_approximate = is_there ? s->newest->m.n : 0;
  return CQ_OK;
}

/* --- what is written, committed or not --- */

static cq_status read_at(int file, void *out, size_t n_bytes, int64_t at, const cq_index_store *s, const char *what,
                         cq_error *error) {
  for (size_t done = 0; done < n_bytes;) {
    const ssize_t part = pread(file, (char *)out + done, n_bytes - done, at + (int64_t)done);
    if (part < 0) return cq_fail_errno(error, s->directory, "cannot read");
    if (part == 0) return cq_fail_file(error, CQ_ERR_IO, s->directory, "its file of %s is too short", what);
    done += (size_t)part;
  }
  return CQ_OK;
}

cq_status cq_index_store_visit(const cq_index_store *s, int64_t from, int64_t to,
                               cq_status (*visit)(void *, int64_t, const cq_document *, cq_error *), void *context,
                               cq_error *error) {
  const cq_status status = cq_index_store_check_writing(s, error);
  return status ? status : cq_document_store_visit(s->files.documents, from, to, visit, context, error);
}

cq_status cq_index_store_passages(cq_index_passage *out, const cq_index_store *s, int64_t from, int64_t n,
                                  cq_error *error) {
  return read_at(s->files.passages, out, (size_t)n * sizeof *out, from * (int64_t)sizeof *out, s, "passages", error);
}

cq_status cq_index_store_vectors(float *out, const cq_index_store *s, int64_t from, int64_t n, cq_error *error) {
  const int64_t row = s->newest->m.dim * (int64_t)sizeof *out;
  return read_at(s->files.vectors, out, (size_t)n * (size_t)row, from * row, s, "vectors", error);
}

void cq_index_store_get_words(const cq_index_words **words, size_t *n, const cq_index_store *s) {
  *words = s->words, *n = s->n_words;
}

int64_t cq_index_store_next_words(const cq_index_store *s) {
  return s->last_words + 1;
}

cq_status cq_index_store_set_words(cq_index_store *s, const cq_index_words *words, size_t n, cq_error *error) {
  cq_status status = cq_index_store_check_writing(s, error);
  if (!status) status = copy_words(s, words, n, error);
  if (status) return status;
  for (size_t i = 0; i < n; i++)
    if (words[i].number > s->last_words) s->last_words = words[i].number;
  s->changed_words = true;
  return CQ_OK;
}

/* --- committing --- */

/* The next manifest, except for the list of deletions; its strings are borrowed. */
static cq_index_manifest next_manifest(const cq_index_store *s) {
  cq_index_manifest next = s->newest->m;
  next.n += s->n_new, next.n_documents = s->n_documents;
  next.approximate = s->next_approximate, next.n_approximate = s->n_approximate;
  next.approximate_check = s->approximate_check;
  next.words = s->words, next.n_words = s->n_words, next.last_words = s->last_words;
  return next;
}

/* Writes the list of deletions as the next generation. */
static cq_status write_deleted(cq_index_manifest *next, const cq_index_store *s, const unsigned char *deleted,
                               int64_t n, cq_error *error) {
  char path[PATH_MAX];
  next->generation++, next->n_deleted_bytes = (n + 7) / 8;
  cq_status status = cq_index_path(path, s->directory, "deleted", next->generation, error);
  if (!status) status = cq_file_write(path, deleted, (size_t)next->n_deleted_bytes, error);
  next->deleted_check = cq_check64(deleted, (size_t)next->n_deleted_bytes, 0);
  return status;
}

/* Everything that can fail comes before the manifest is replaced. */
cq_status cq_index_store_commit(cq_index_store *s, cq_error *error) {
  cq_index_snapshot *newer = NULL;
  cq_status status = cq_index_store_check_writing(s, error);
  if (status) return status;
  const cq_index_manifest *old = &s->newest->m;
  cq_index_manifest next = next_manifest(s);
  if (s->n_new == 0 && !s->changed && next.approximate == old->approximate && !s->changed_words &&
      s->hubness == old->hubness)
    return CQ_OK;
  unsigned char *deleted = cq_alloc_zeroed(cq_index_bytes_of_bits(next.n));
  if (!deleted) return cq_fail_memory(error, s->directory);
  memcpy(deleted, s->deleted, cq_index_bytes_of_bits(old->n));
  if (s->changed) status = write_deleted(&next, s, deleted, old->n, error);
  if (!status) status = cq_index_commit_hubness(&next, s, error);
  if (!status && s->n_new) status = cq_index_files_sync(&s->files, s->directory, error);
  if (!status) status = cq_index_snapshot_open(&newer, s->directory, &next, deleted, s->newest, error);
  if (!status) status = cq_index_manifest_save(&newer->m, s->directory, error);
  if (status) {
    cq_index_snapshot_release(newer);
    cq_free(deleted);
    return status;
  }
  cq_free(s->deleted);
  s->deleted = deleted;
  s->n_new = 0;
  s->changed = s->changed_words = false;
  cq_index_publish(s, newer);
  cq_index_remove_left(s);
  return CQ_OK;
}
