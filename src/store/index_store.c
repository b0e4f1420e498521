/* Makes, opens and closes an index of files. */
#include "store/index_store.h"

#include "base/error.h"
#include "base/memory.h"
#include "store/index_snapshot.h"
#include "store/index_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

cq_status cq_index_store_create(const char *directory, const char *model, const char *fingerprint, int64_t dim,
                                bool tasks, cq_error *error) {
  static const char *const files[] = {"passages", "vectors", "checks"};
  cq_directory_writer w = {0};
  cq_document_store *documents = NULL;
  char *owned[2] = {cq_strdup(model), cq_strdup(fingerprint)};
  cq_index_manifest m = {.model = owned[0], .fingerprint = owned[1], .tasks = tasks, .dim = dim, .files = 1};
  char path[PATH_MAX];
  cq_status status = owned[0] && owned[1] ? CQ_OK : cq_fail_memory(error, directory);
  if (!status) status = cq_index_new_identity(m.identity, directory, error);
  if (!status) status = cq_directory_writer_open(&w, directory, false, error);
  for (int i = 0; !status && i < 3; i++) {
    status = cq_index_path(path, w.temporary, files[i], m.files, error);
    if (!status) status = cq_file_write(path, "", 0, error);
  }
  if (!status) status = cq_index_path(path, w.temporary, "documents", m.files, error);
  if (!status) status = cq_document_store_open(&documents, path, true, error);
  cq_document_store_close(documents);
  if (!status) status = cq_index_manifest_save(&m, w.temporary, error);
  if (!status) status = cq_directory_writer_commit(&w, error);
  if (status) cq_directory_writer_abort(&w);
  cq_free(owned[0]);
  cq_free(owned[1]);
  return status;
}

static cq_status take_lock(cq_index_store *s, cq_error *error) {
  char path[PATH_MAX];
  cq_status status = cq_path_join(path, sizeof path, s->directory, "lock", error);
  if (!status && (s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666)) < 0)
    status = cq_fail_errno(error, path, "cannot open");
  if (!status && flock(s->lock, LOCK_EX | LOCK_NB) != 0)
    status = errno == EWOULDBLOCK
                 ? cq_fail_file(error, CQ_ERR_ARGUMENT, s->directory, "it is open for writing elsewhere")
                 : cq_fail_errno(error, s->directory, "cannot lock");
  return status;
}

cq_status cq_index_store_open(cq_index_store **out, const char *directory, bool writing, cq_error *error) {
  char path[PATH_MAX];
  *out = NULL;
  cq_status status = cq_path_join(path, sizeof path, directory, "manifest.json", error);
  if (status) return status;
  if (!cq_file_exists(path)) return cq_fail_file(error, CQ_ERR_IO, directory, "no index found");
  cq_index_store *s = cq_alloc_zeroed(sizeof *s);
  if (!s) return cq_fail_memory(error, directory);
  pthread_mutex_init(&s->mutex, NULL);
  pthread_mutex_init(&s->refreshing, NULL);
  s->lock = s->hubs = -1;
  cq_index_files_init(&s->files);
  s->directory = cq_strdup(directory);
  status = s->directory ? CQ_OK : cq_fail_memory(error, directory);
  if (!status && writing) status = take_lock(s, error);
  if (!status) status = cq_index_read_newest(&s->newest, directory, NULL, error);
  if (!status && writing) status = cq_index_prepare_writing(s, error);
  if (status) cq_index_store_close(s);
  *out = status ? NULL : s;
  return status;
}

void cq_index_store_close(cq_index_store *s) {
  if (!s) return;
  cq_index_snapshot_release(s->newest);
  cq_index_files_close(&s->files);
  cq_free(s->words);
  cq_free(s->deleted);
  if (s->hubs >= 0) close(s->hubs);
  if (s->lock >= 0) close(s->lock); /* releases it */
  pthread_mutex_destroy(&s->mutex);
  pthread_mutex_destroy(&s->refreshing);
  cq_free(s->directory);
  cq_free(s);
}
