/* The newest snapshot of an open index, published by its writer and looked up by its readers. */
#include "store/index_writer.h"

#include "base/error.h"

/* If a file was replaced since the manifest was read, there is a newer manifest. */
cq_status cq_index_read_newest(cq_index_snapshot **out, const char *directory, const cq_index_snapshot *before,
                               cq_error *error) {
  cq_index_manifest m, newer;
  cq_error e = {0};
  *out = NULL;
  cq_status status = cq_index_manifest_read(&m, directory, error);
  if (status) return status;
  while (!before || !cq_index_manifest_equal(&m, &before->m)) {
    status = cq_index_snapshot_open(out, directory, &m, NULL, before, &e);
    if (status != CQ_ERR_IO || cq_index_manifest_read(&newer, directory, NULL)) break;
    const bool is_newer = !cq_index_manifest_equal(&m, &newer);
    cq_index_manifest_free(&m);
    m = newer;
    if (!is_newer) break;
    status = CQ_OK;
  }
  cq_index_manifest_free(&m);
  if (status && error) *error = e;
  return status;
}

void cq_index_publish(cq_index_store *s, cq_index_snapshot *newest) {
  pthread_mutex_lock(&s->mutex);
  cq_index_snapshot *before = s->newest;
  s->newest = newest;
  pthread_mutex_unlock(&s->mutex);
  cq_index_snapshot_release(before);
}

cq_index_snapshot *cq_index_store_hold(cq_index_store *s) {
  pthread_mutex_lock(&s->mutex);
  cq_index_snapshot *newest = s->newest;
  atomic_fetch_add(&newest->n_users, 1);
  pthread_mutex_unlock(&s->mutex);
  return newest;
}

cq_status cq_index_store_refresh(cq_index_store *s, bool *changed, cq_error *error) {
  cq_index_snapshot *newer;
  *changed = false;
  if (s->lock >= 0) return CQ_OK;
  pthread_mutex_lock(&s->refreshing);
  const cq_status status =
      cq_index_read_newest(&newer, s->directory, s->newest, error); /* which only this thread replaces */
  if (newer) cq_index_publish(s, newer);
  pthread_mutex_unlock(&s->refreshing);
  *changed = newer != NULL;
  return status;
}

cq_status cq_index_store_approximate(char path[PATH_MAX], const cq_index_store *s, int64_t generation,
                                     cq_error *error) {
  return cq_index_path(path, s->directory, "approximate", generation, error);
}

cq_status cq_index_store_words(char path[PATH_MAX], const cq_index_store *s, int64_t number, cq_error *error) {
  return cq_index_path(path, s->directory, "words", number, error);
}

cq_status cq_index_store_check_writing(const cq_index_store *s, cq_error *error) {
  return s->lock >= 0 ? CQ_OK : cq_fail_file(error, CQ_ERR_ARGUMENT, s->directory, "it is open for reading only");
}

int64_t cq_index_store_n(const cq_index_store *s) {
  return s->newest->m.n + s->n_new;
}
