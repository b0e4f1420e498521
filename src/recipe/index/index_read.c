/* Adds a reader's documents to an index in batches: reader -> batch -> index_change.c. Mirroring makes the index
 * contain exactly the reader's documents; unchanged documents are not encoded again. */
#include "recipe/index/backend.h"

#include "base/document.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/slice.h"
#include "calque/index_folder.h"
#include "document/reader.h"
#include "recipe/encode/shared_encoder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { BATCH_BYTES = 4 << 20 };

#define O cq_index_read_options
static const cq_option option_rows[] = {
    {CQ_SIZE(O, "batch", batch, KEEPS, 1024, 1, 1 << 20, "N",
             "documents held in memory at a time; results do not depend on it"),
     .letter = 'b'},
    {CQ_FLAG(
        O, "mirror", mirror, CHANGES,
        "make the index hold exactly these documents: unchanged ones are kept, missing ones removed, except those that "
        "a file skipped in part (--skip-bad) may have")},
};
#undef O
const cq_option_group cq_group_index_read = {
    .name = "index_read",
    CQ_ROWS(cq_index_read_options, option_rows),
    CQ_FIELDS(CQ_CALLBACK(cq_index_read_options, progress), CQ_FIELD(cq_index_read_options, ranks))};

typedef struct place {
  const char *path; /* the reader's */
  uint64_t line;
} place;

typedef struct reading {
  cq_index *index;
  cq_documents *documents;
  const cq_index_read_options *o;
  cq_context *ctx;
  cq_document *waiting; /* [batch], in the arena */
  place *places;        /* [batch] */
  size_t n, n_bytes;
  cq_arena arena;
  cq_index_read_result result;
  /* mirrored: */
  cq_index_snapshot *before; /* as it was */
  int64_t n_before;          /* records of it */
  unsigned char *seen;       /* [n_before] whether the reader has the id of the document with this first record */
} reading;

static place current_place(const reading *r) {
  return (place){cq_documents_path(r->documents), cq_documents_line(r->documents)};
}

static cq_status fail_at(place at, cq_status status, cq_error *error) {
  char text[sizeof error->message];
  if (!error) return status;
  memcpy(text, error->message, sizeof text);
  return at.line ? cq_fail_line(error, status, at.path, at.line, "%s", text)
                 : cq_fail_file(error, status, at.path, "%s", text);
}

/* An id appears twice: the first place is looked for in the files. */
static cq_status fail_twice(const reading *r, cq_slice id, place second, cq_error *error) {
  char before[sizeof error->file + 64] = "";
  cq_arena arena = {0};
  cq_document d;
  id.data = cq_arena_strndup(&arena, id.data, id.n); /* borrowed from the reader */
  if (!id.data) return cq_fail_memory(error, "documents");
  bool more = cq_documents_rewind(r->documents);
  while (more && !cq_documents_next(&d, r->documents, NULL) && d.id.data) {
    const place first = current_place(r);
    if (!(more = !cq_slice_equal(d.id, id)) && (first.path != second.path || first.line != second.line))
      snprintf(before, sizeof before, first.line ? ", before in %s:%" PRIu64 : ", before in %s", first.path,
               first.line);
  }
  const cq_status status =
      cq_fail(error, CQ_ERR_ARGUMENT, "document '%.*s' appears twice%s", (int)cq_min(id.n, 200), id.data, before);
  cq_arena_free(&arena);
  return fail_at(second, status, error);
}

/* Puts the place of a waiting document before an error that names it. */
static cq_status fail_waiting(const reading *r, cq_status status, cq_error *error) {
  static const char before[] = "document '";
  const size_t n = sizeof before - 1;
  if (!error || strncmp(error->message, before, n) != 0) return status;
  const cq_slice rest = cq_slice_of(error->message + n);
  for (size_t i = r->n; i-- > 0;) {
    const cq_slice id = r->waiting[i].id;
    if (memcmp(rest.data, id.data, cq_min(id.n, rest.n)) != 0 || (id.n < rest.n && rest.data[id.n] != '\'')) continue;
    const bool is_twice = id.n < rest.n && !strcmp(rest.data + id.n, "' appears twice");
    return is_twice ? fail_twice(r, id, r->places[i], error) : fail_at(r->places[i], status, error);
  }
  return status;
}

static cq_status add_waiting(reading *r, cq_error *error) {
  cq_status status = r->n ? cq_index_add(r->index, r->waiting, r->n, r->ctx, error) : CQ_OK;
  if (status) return fail_waiting(r, status, error);
  r->result.n_added += r->n;
  cq_arena_free(&r->arena);
  r->n = r->n_bytes = 0;
  return status;
}

static cq_status add_borrowed(reading *r, const cq_document *d, cq_error *error) {
  const size_t n_bytes = cq_document_bytes(d);
  char *block = cq_arena_alloc(&r->arena, n_bytes);
  if (!block) return cq_fail_memory(error, "documents");
  r->waiting[r->n] = *d;
  r->places[r->n] = current_place(r);
  cq_document_move_fields(&r->waiting[r->n++], block);
  r->n_bytes += n_bytes;
  return r->n == r->o->batch || r->n_bytes >= BATCH_BYTES ? add_waiting(r, error) : CQ_OK;
}

/* --- mirroring --- */

static cq_status begin_mirror(reading *r, cq_error *error) {
  if (!r->o->mirror) return CQ_OK;
  if (r->index->backend->no_mirror)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, r->index->directory, "%s", r->index->backend->no_mirror);
  r->before = cq_index_store_hold(r->index->store);
  r->n_before = cq_index_snapshot_info(r->before).n;
  r->seen = cq_alloc_array_zeroed((size_t)r->n_before + 1, sizeof *r->seen);
  return r->seen ? CQ_OK : cq_fail_memory(error, "documents");
}

static bool is_same(const cq_document *a, const cq_document *b) {
  return cq_slice_equal(a->text, b->text) && cq_slice_equal(a->title, b->title) && cq_slice_equal(a->url, b->url) &&
         cq_slice_equal(a->language, b->language) && cq_slice_equal(a->metadata, b->metadata);
}

static cq_status is_unchanged(bool *unchanged, reading *r, const cq_document *d, cq_error *error) {
  int64_t first;
  cq_document old;
  cq_arena arena = {0};
  *unchanged = false;
  if (!r->before) return CQ_OK;
  cq_status status = cq_index_snapshot_find(&first, r->before, d->id, error);
  if (status || first < 0) return status;
  if (r->seen[first]) return fail_twice(r, d->id, current_place(r), error);
  status = cq_index_snapshot_document(&old, &arena, r->before, first, error);
  if (!status) *unchanged = is_same(&old, d);
  r->seen[first] = 1;
  cq_arena_free(&arena);
  return status;
}

static cq_status remove_unseen(reading *r, cq_error *error) {
  cq_status status = CQ_OK;
  for (int64_t record = 0; r->before && !status && record < r->n_before; record++) {
    cq_document gone;
    cq_arena arena = {0};
    size_t n_removed = 0;
    const bool is_first = cq_index_snapshot_passage(r->before, record).first == record;
    if (!is_first || r->seen[record] || !cq_index_snapshot_is_live(r->before, record)) continue;
    status = cq_index_snapshot_document(&gone, &arena, r->before, record, error);
    const bool is_kept = !status && cq_documents_may_hold(r->documents, gone.id);
    r->result.n_kept += is_kept;
    if (!status && !is_kept) status = cq_index_remove(r->index, &gone.id, 1, &n_removed, error);
    r->result.n_removed += n_removed;
    cq_arena_free(&arena);
  }
  return status;
}

/* --- the whole --- */

static cq_status take(reading *r, const cq_document *d, cq_error *error) {
  bool unchanged;
  if (cq_document_is_blank(d)) { /* an empty document would be near every query */
    r->result.n_blank++;
    return CQ_OK;
  }
  const cq_status status = is_unchanged(&unchanged, r, d, error);
  if (status || !unchanged) return status ? status : add_borrowed(r, d, error);
  r->result.n_unchanged++;
  return CQ_OK;
}

static cq_status read_all(reading *r, cq_error *error) {
  cq_document d;
  cq_status status;
  for (uint64_t n_read = 0;; n_read++) {
    if ((status = cq_documents_next(&d, r->documents, error)) || !d.id.data) break;
    if ((status = take(r, &d, error))) break;
    if (r->n == 0 && r->o->progress && !r->o->progress(r->o->progress_context, n_read + 1))
      return cq_fail(error, CQ_ERR_STOPPED, "stopped; nothing was added");
  }
  return status ? status : add_waiting(r, error);
}

/* This rank encodes what rank 0 reads. */
static cq_status help_reading(cq_index *index, const cq_index_read_options *o, cq_context *ctx, cq_error *error) {
  const cq_encoder *encoder;
  cq_status status = cq_index_need_model(&encoder, index, NULL, error);
  if (!status) status = cq_shared_encoder_agree(encoder, o->ranks, error);
  return status ? status : cq_shared_encode_serve(encoder, o->ranks, ctx, error);
}

static cq_status begin_ranks(cq_index *index, cq_ranks *ranks, cq_error *error) {
  const cq_encoder *encoder;
  if (cq_ranks_count(ranks) == 1) return CQ_OK;
  const cq_status status = cq_index_need_model(&encoder, index, NULL, error);
  index->ranks = ranks;
  return status ? status : cq_shared_encoder_agree(encoder, ranks, error);
}

cq_status cq_index_read(cq_index *index, cq_documents *documents, cq_index_read_result *result,
                        const cq_index_read_options *options, cq_context *ctx, cq_error *error) {
  cq_index_read_options o;
  reading r = {.index = index, .documents = documents, .o = &o, .ctx = ctx};
  cq_status status = cq_options_take(&o, &cq_group_index_read, options, error);
  if (status) return status;
  if (cq_ranks_rank(o.ranks) > 0) {
    status = help_reading(index, &o, ctx, error);
    if (!status) *result = (cq_index_read_result){0};
    return status;
  }
  r.waiting = cq_alloc_array(o.batch, sizeof *r.waiting);
  r.places = cq_alloc_array(o.batch, sizeof *r.places);
  status = r.waiting && r.places ? begin_mirror(&r, error) : cq_fail_memory(error, "documents");
  if (!status) status = begin_ranks(index, o.ranks, error);
  if (!status) status = read_all(&r, error);
  if (!status) status = cq_shared_encode_end(o.ranks, error);
  index->ranks = NULL;
  if (!status) status = remove_unseen(&r, error);
  if (!status) r.result.n_skipped = cq_documents_n_skipped(documents);
  if (!status) *result = r.result;
  if (r.before) cq_index_snapshot_release(r.before);
  cq_arena_free(&r.arena);
  cq_free(r.waiting);
  cq_free(r.places);
  cq_free(r.seen);
  return status;
}

/* Whether it has or had documents. */
static bool was_filled(const cq_index *index) {
  cq_index_snapshot *snapshot = cq_index_store_hold(index->store);
  const bool is = cq_index_snapshot_info(snapshot).n > 0;
  cq_index_snapshot_release(snapshot);
  return is;
}

cq_status cq_index_read_commit(cq_index_changes *out, cq_index *index, cq_documents *documents,
                               const cq_index_read_options *options, cq_context *ctx, cq_error *error) {
  *out = (cq_index_changes){.n_before = cq_index_size(index), .n_passages_before = cq_index_n_passages(index)};
  const cq_status status = cq_index_read(index, documents, &out->read, options, ctx, error);
  const cq_index_read_result *r = &out->read;
  if (status || cq_ranks_rank(options->ranks) > 0) return status;
  const bool is_empty = !r->n_added && !r->n_unchanged && !r->n_blank && !r->n_skipped && !r->n_kept;
  if (is_empty && !(options->mirror && was_filled(index)))
    return cq_fail(error, CQ_ERR_ARGUMENT, "there are no documents to add");
  return r->n_added || r->n_removed ? cq_index_commit(index, error) : CQ_OK;
}
