/* Copies an index of files into a database: the part that does not depend on the database. */
#include "calque/index_copy.h"

#include "base/error.h"
#include "base/options.h"
#include "recipe/index/backend.h"

#include <inttypes.h>
#include <string.h>

#define O cq_index_copy_options
static const cq_option option_rows[] = {
    {CQ_SIZE(O, "batch", batch, KEEPS, 5000, 1, 1 << 20, "N",
             "documents in a transaction; the result does not depend on it"),
     .letter = 'b'},
    {CQ_FLAG(O, "halfvec", halfvec, CHANGES,
             "keep vectors in 16 bits: half the size, cosines to three digits; only for a new index")},
    {CQ_YES_NO(
        O, "hnsw", hnsw, CHANGES, true,
        "make pgvector's index for approximate nearest neighbors (HNSW) at the end; without it searches are exact")},
};
#undef O
const cq_option_group cq_group_index_copy = {.name = "index_copy",
                                             CQ_ROWS(cq_index_copy_options, option_rows),
                                             CQ_FIELDS(CQ_CALLBACK(cq_index_copy_options, progress))};

/* Checks that model, dimensions and tasks are the same in the database and the directory. */
static cq_status compare_indexes(const cq_index *to, const cq_index *from, cq_error *error) {
  if (to->dim != from->dim)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, to->directory, "has vectors of %" PRId64 " dimensions, %s of %" PRId64,
                        to->dim, from->directory, from->dim);
  if (strcmp(to->fingerprint, from->fingerprint) != 0)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, to->directory,
                        "is of another model than %s: '%s' of fingerprint %s, not '%s' of %s", from->directory,
                        to->model, to->fingerprint, from->model, from->fingerprint);
  if (to->tasks != from->tasks)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, to->directory, "has other tasks than %s", from->directory);
  return CQ_OK;
}

static cq_status open_target(cq_index **out, const cq_index *from, const char *address, bool is_half, cq_error *error) {
  const struct cq_index_backend *backend;
  const cq_index_making making = {.model = from->model,
                                  .fingerprint = from->fingerprint,
                                  .dim = (int)from->dim,
                                  .tasks = from->tasks,
                                  .passage_tokens = from->passage_tokens,
                                  .passage_overlap = from->passage_overlap,
                                  .is_half = is_half,
                                  .for_copy = true};
  cq_index_options o = cq_index_default_options();
  o.writing = true;
  cq_status status = cq_index_find_backend(&backend, address, error);
  if (!status) status = backend->create(address, &making, error);
  if (!status) status = cq_index_open(out, address, &o, error);
  return status ? status : compare_indexes(*out, from, error);
}

cq_status cq_index_copy(const cq_index *from, const char *to, cq_index_copy_result *result,
                        const cq_index_copy_options *options, cq_error *error) {
  cq_index_copy_options o;
  cq_index *target = NULL;
  cq_status status = cq_options_take(&o, &cq_group_index_copy, options, error);
  if (status) return status;
  if (!from->store)
    return cq_fail(error, CQ_ERR_UNSUPPORTED, "only an index of files is copied: pg_dump copies a database");
  if (!cq_index_is_address(to))
    return cq_fail(error, CQ_ERR_ARGUMENT, "an index can be copied to postgresql://... only");
  cq_index_snapshot *snapshot = cq_index_store_hold(from->store);
  status = open_target(&target, from, to, o.halfvec, error);
  if (!status) status = target->backend->copy(target, from, snapshot, &o, result, error);
  cq_index_free(target);
  cq_index_snapshot_release(snapshot);
  return status;
}
