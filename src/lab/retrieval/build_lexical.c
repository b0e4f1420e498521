/* Builds an index from files in rounds: while the threads invert one round's batches, one of them reads the next round.
 *
 *   round     batches of a megabyte of documents, read by one thread
 *   segment   rounds' batches, up to half a gigabyte of text or the options' maximum number of documents */
#include "base/error.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/options.h"
#include "calque/lab/lexical.h"
#include "lexical/invert.h"
#include "lexical/lexical_index.h"

#include <limits.h>

enum { ROUND = 8, BATCH_DOCUMENTS = 4096, BATCH_BYTES = 1 << 20, SEGMENT_BYTES = 512 << 20 };

typedef struct round {
  cq_batch *batches[ROUND];
  size_t n;
} round;

typedef struct building {
  const cq_lexical_build_options *options;
  cq_collection *collection;
  cq_inverter *inverter;
  cq_context *ctx;
  const char *directory;
  round now, next;
  cq_status status; /* of reading */
  cq_error error;
  cq_map names;
  cq_batch **segment; /* batches of the current segment */
  size_t n_segment, segment_capacity, n_segments;
  uint32_t n_documents; /* of it */
  size_t n_bytes;       /* of text of the last one that place_round knows of */
  uint64_t n_done;
} building;

static uint32_t segment_limit(const building *b) {
  return b->options->segment_documents ? (uint32_t)b->options->segment_documents : UINT32_MAX / 2;
}

#define O cq_lexical_build_options
static const cq_option option_rows[] = {
    {CQ_TEXTS(
        O, "field", fields, n_fields, CHANGES, "NAME",
        "index only the text of this tag or member, such as TITLE; by default all of a TREC document; title, text "
        "and contents of a JSON object")},
    {CQ_COUNT(O, "segment-documents", segment_documents, KEEPS, 0, 0, 4e9, "N", "documents per segment"),
     .otherwise = "as many as have half a gigabyte of text"},
};
static const cq_option_part parts[] = {{.group = &cq_group_analysis, .offset = offsetof(O, analysis)}};
#undef O

const cq_option_group cq_group_lexical_build = {.name = "lexical-build",
                                                CQ_ROWS(cq_lexical_build_options, option_rows),
                                                .parts = parts,
                                                .n_parts = 1,
                                                CQ_FIELDS(CQ_CALLBACK(cq_lexical_build_options, progress))};

/* --- reading --- */

static cq_status read_batch(cq_batch **out, building *b, cq_error *error) {
  const uint32_t max = segment_limit(b) < BATCH_DOCUMENTS ? segment_limit(b) : BATCH_DOCUMENTS;
  cq_raw_document raw = {0};
  cq_status status = CQ_OK;
  cq_batch *batch = *out = cq_alloc_zeroed(sizeof *batch);
  if (!batch) return cq_fail_memory(error, "documents");
  while (batch->n < max && batch->raw_bytes.n < BATCH_BYTES) {
    status = cq_collection_next(&raw, b->collection, error);
    if (status || !raw.bytes.data) break;
    if ((status = cq_batch_add(batch, &raw, error))) break;
  }
  return status;
}

static void read_round(building *b) {
  b->status = CQ_OK;
  while (b->next.n < ROUND && !b->status) {
    cq_batch *batch;
    b->status = read_batch(&batch, b, &b->error);
    if (!batch || batch->n == 0) {
      cq_batch_free(batch);
      break;
    }
    b->next.batches[b->next.n++] = batch;
  }
}

static cq_status reading_status(const building *b, cq_error *error) {
  if (b->status && error) *error = b->error;
  return b->status;
}

/* --- inverting --- */

static cq_status build_item(void *context, size_t item, int worker, cq_error *error) {
  building *b = context;
  if (item > 0)
    return cq_batch_invert(b->now.batches[item - 1], b->inverter, worker, b->options->fields, b->options->n_fields,
                           error);
  read_round(b); /* ahead, so its failure comes last */
  return CQ_OK;
}

static cq_status write_segment(building *b, cq_error *error) {
  char path[PATH_MAX];
  if (b->n_documents == 0) return CQ_OK;
  cq_status status = cq_lexical_segment_path(path, sizeof path, b->directory, b->n_segments + 1, error);
  if (!status) status = cq_inverter_write(path, b->inverter, b->segment, b->n_segment, b->ctx, error);
  for (size_t i = 0; i < b->n_segment; i++) cq_batch_free(b->segment[i]);
  b->n_segment = 0, b->n_documents = 0;
  b->n_segments++;
  return status;
}

static cq_status check_ids(building *b, const cq_batch *batch, cq_error *error) {
  for (uint32_t d = 0; d < batch->n; d++) {
    const cq_slice id = batch->ids[d];
    if (cq_map_get(&b->names, id) != CQ_MAP_NONE)
      return cq_fail_line(error, CQ_ERR_FORMAT, batch->raw[d].path, batch->raw[d].line, "the id '%.*s' appears twice",
                          (int)id.n, id.data);
    if (!cq_map_put(&b->names, id, 1)) return cq_fail_memory(error, "ids");
  }
  return CQ_OK;
}

/* Sets the position of each batch's documents in their segments, before the documents are parsed. */
static void place_round(building *b) {
  uint32_t n_documents = b->n_documents;
  size_t n_bytes = b->n_bytes;
  for (size_t i = 0; i < b->now.n; i++) {
    cq_batch *batch = b->now.batches[i];
    if (n_documents && (batch->n > segment_limit(b) - n_documents || n_bytes >= SEGMENT_BYTES))
      n_documents = 0, n_bytes = 0;
    batch->first = n_documents;
    n_documents += batch->n;
    n_bytes += batch->raw_bytes.n;
  }
  b->n_bytes = n_bytes;
}

/* The round's batches, inverted, join their segments. */
static cq_status keep_round(building *b, cq_error *error) {
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < b->now.n; i++) {
    cq_batch *batch = b->now.batches[i];
    if (batch->first == 0 && b->n_documents) status = write_segment(b, error);
    if (!status) status = check_ids(b, batch, error);
    if (!status && !cq_reserve((void **)&b->segment, &b->segment_capacity, b->n_segment + 1, sizeof *b->segment))
      status = cq_fail_memory(error, "a segment");
    if (status) break;
    b->segment[b->n_segment++] = batch;
    b->now.batches[i] = NULL;
    b->n_documents += batch->n;
    b->n_done += batch->n;
  }
  if (!status && b->options->progress) b->options->progress(b->options->progress_context, b->n_done);
  return status;
}

static void free_round(round *r) {
  for (size_t i = 0; i < r->n; i++) cq_batch_free(r->batches[i]);
  *r = (round){0};
}

static cq_status build_segments(building *b, cq_error *error) {
  read_round(b);
  cq_status status = reading_status(b, error);
  while (!status && b->next.n) {
    free_round(&b->now);
    b->now = b->next;
    b->next = (round){0};
    place_round(b);
    status = cq_context_try(b->ctx, b->now.n + 1, build_item, b, error);
    if (!status) status = reading_status(b, error);
    if (!status) status = keep_round(b, error);
  }
  return status ? status : write_segment(b, error);
}

cq_status cq_lexical_build(const char *directory, const char *const *paths, size_t n_paths,
                           const cq_lexical_build_options *options, cq_context *ctx, cq_error *error) {
  cq_lexical_build_options o;
  building b = {.options = &o, .ctx = ctx};
  cq_directory_writer writer = {0};
  cq_analyzer *analyzer = NULL;
  cq_status status = cq_options_take(&o, &cq_group_lexical_build, options, error);
  if (!status) status = cq_analyzer_open(&analyzer, o.analysis, error);
  if (!status) status = cq_collection_open(&b.collection, paths, n_paths, error);
  if (!status) status = cq_inverter_open(&b.inverter, analyzer, ctx ? cq_context_n_threads(ctx) : 1, error);
  if (!status) status = cq_directory_writer_open(&writer, directory, false, error);
  b.directory = writer.temporary;
  if (!status) status = build_segments(&b, error);
  if (!status && b.n_done == 0) status = cq_fail(error, CQ_ERR_FORMAT, "%s: no documents", n_paths ? paths[0] : "");
  if (!status && b.n_segments > CQ_MAX_SEGMENTS)
    status = cq_fail(error, CQ_ERR_ARGUMENT, "%zu segments, expected at most %d", b.n_segments, CQ_MAX_SEGMENTS);
  if (!status) status = cq_lexical_write_manifest(b.directory, analyzer, b.n_segments, error);
  if (!status) status = cq_directory_writer_commit(&writer, error);
  cq_directory_writer_abort(&writer);
  for (size_t i = 0; i < b.n_segment; i++) cq_batch_free(b.segment[i]);
  cq_free(b.segment);
  free_round(&b.now);
  free_round(&b.next);
  cq_map_free(&b.names);
  cq_inverter_free(b.inverter);
  cq_collection_close(b.collection);
  cq_analyzer_free(analyzer);
  return status;
}
