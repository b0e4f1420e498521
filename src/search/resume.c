/* The finished rows of a long search, on disk with a checksum, so that a killed search resumes. See resume.h. */
#include "search/resume.h"

#include "base/error.h"
#include "base/file.h"
#include "cache/checkpoint.h"

static cq_identity add_rows(cq_identity key, const cq_row_set *rows) {
  for (size_t i = 0; i < rows->n; i++) key = cq_hash128_add(key, cq_row(rows, i), rows->dim * sizeof(float));
  return key;
}

cq_identity cq_search_identity(const cq_row_set *x, const cq_row_set *y, size_t k, bool within) {
  const uint64_t sizes[] = {x->n, y->n, x->dim, k, within};
  const cq_identity key = add_rows(cq_hash128(sizes, sizeof sizes), x);
  return within ? key : add_rows(key, y);
}

typedef struct state {
  cq_identity key;
  uint64_t done;
} state;

static cq_status pass_lists(cq_checkpoint_writer *w, const cq_checkpoint *c, const char *const names[2],
                            const cq_neighbors *lists, cq_error *error) {
  const size_t n = lists->n * lists->k;
  cq_status status = cq_checkpoint_pass(w, c, names[0], lists->index, n * sizeof *lists->index, error);
  return status ? status : cq_checkpoint_pass(w, c, names[1], lists->cosine, n * sizeof *lists->cosine, error);
}

static bool are_rows(const cq_neighbors *lists, size_t n) {
  for (size_t i = 0; i < lists->n * lists->k; i++)
    if (lists->index[i] >= n && lists->index[i] != UINT32_MAX) return false;
  return true;
}

static const char *const x_names[] = {"x.index", "x.cosine"}, *const y_names[] = {"y.index", "y.cosine"};

cq_status cq_search_save(const char *path, cq_identity key, size_t done, const cq_neighbors *of_x,
                         const cq_neighbors *of_y, cq_error *error) {
  const state s = {key, done};
  cq_checkpoint_writer *w;
  cq_status status = cq_checkpoint_writer_open(&w, path, error);
  if (status) return status;
  status = cq_checkpoint_writer_section(w, "search", &s, sizeof s, error);
  if (!status) status = pass_lists(w, NULL, x_names, of_x, error);
  if (!status && of_y) status = pass_lists(w, NULL, y_names, of_y, error);
  if (!status) return cq_checkpoint_writer_commit(w, error);
  cq_checkpoint_writer_abort(w);
  return status;
}

cq_status cq_search_load(size_t *done, const char *path, cq_identity key, size_t n_x, size_t n_y, cq_neighbors *of_x,
                         cq_neighbors *of_y, cq_error *error) {
  cq_checkpoint *c;
  state s;
  *done = 0;
  if (!cq_file_exists(path)) return CQ_OK;
  cq_status status = cq_checkpoint_open(&c, path, error);
  if (status) return status;
  status = cq_checkpoint_read(&s, sizeof s, c, "search", error);
  if (!status && cq_identity_equal(s.key, key)) {
    status = pass_lists(NULL, c, x_names, of_x, error);
    if (!status && of_y) status = pass_lists(NULL, c, y_names, of_y, error);
    if (!status && (s.done > n_y || !are_rows(of_x, n_y) || (of_y && !are_rows(of_y, n_x))))
      status = cq_fail_file(error, CQ_ERR_FORMAT, path, "names rows that are not there");
    if (!status) *done = (size_t)s.done;
  }
  cq_checkpoint_close(c);
  return status;
}

bool cq_search_is_of(const char *path, cq_identity key) {
  cq_checkpoint *c;
  state s;
  if (cq_checkpoint_open(&c, path, NULL)) return false;
  const bool is = !cq_checkpoint_read(&s, sizeof s, c, "search", NULL) && cq_identity_equal(s.key, key);
  cq_checkpoint_close(c);
  return is;
}
