/* Copies an index of files into a database, one transaction per batch. An interrupted copy resumes after its last
 * transaction: calque_index has the copy's source and the first record that is not yet copied. */
#include "postgresql/database.h"

#include "base/document.h"
#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { BATCH_BYTES = 64 << 20, AT_A_TIME = 512 };

typedef struct copying {
  const cq_index *from;
  cq_index *to;
  const cq_index_copy_options *o;
  const cq_index_snapshot *snapshot;
  cq_index_info info;
  char source[128]; /* what it is a copy of */
  int64_t record;   /* the next one */
  uint64_t n_done;
} copying;

/* The record at which a copy of the same index stopped; 0 if there was none. */
static cq_status find_place(copying *c, cq_error *error) {
  cq_pg *pg;
  cq_pg_result *r;
  cq_status status = cq_pg_take(&pg, c->to->database->pool, error);
  if (status) return status;
  status = cq_pg_run(&r, pg, "SELECT copied_until FROM calque_index WHERE copy_source = $1::text",
                     &(cq_pg_value){c->source, strlen(c->source)}, 1, error);
  if (!status && cq_pg_n_rows(r) == 1) c->record = cq_pg_number(r, 0, 0);
  cq_pg_result_free(r);
  cq_pg_give(pg);
  if (!status && (c->record < 0 || c->record > c->info.n)) c->record = 0;
  return status;
}

/* The documents of a batch, from c->record on. */
typedef struct batch {
  cq_document *documents;       /* [n] */
  cq_index_addition *additions; /* [n] */
  size_t n;
  cq_index_passage *passages;
  float *vectors;
  size_t n_passages, passages_capacity, vectors_capacity, n_bytes;
  cq_arena arena;
} batch;

/* The destination of visited documents. */
typedef struct filling {
  copying *c;
  batch *b;
} filling;

/* Adds the document and its passages, which begin at its first record. */
static cq_status add_document(void *context, int64_t first, const cq_document *borrowed, cq_error *error) {
  const filling *f = context;
  const copying *c = f->c;
  batch *b = f->b;
  const size_t dim = (size_t)c->info.dim, before = b->n_passages, n_bytes = cq_document_bytes(borrowed);
  const float *vectors = cq_index_snapshot_vectors(c->snapshot);
  if (!cq_index_snapshot_is_live(c->snapshot, first)) return CQ_OK;
  cq_document *d = &b->documents[b->n];
  char *block = cq_arena_alloc(&b->arena, n_bytes + 1);
  if (!block) return cq_fail_memory(error, "documents");
  *d = *borrowed;
  cq_document_move_fields(d, block);
  for (int64_t record = first; record < c->info.n; record++) {
    const cq_index_passage p = cq_index_snapshot_passage(c->snapshot, record);
    if (p.first != first) break;
    if (!cq_index_snapshot_is_sound(c->snapshot, record)) return cq_index_snapshot_fail(c->snapshot, record, error);
    if (!cq_reserve((void **)&b->passages, &b->passages_capacity, b->n_passages + 1, sizeof *b->passages) ||
        !cq_reserve((void **)&b->vectors, &b->vectors_capacity, b->n_passages + 1, dim * sizeof *b->vectors))
      return cq_fail_memory(error, "documents");
    b->passages[b->n_passages] = p;
    memcpy(b->vectors + b->n_passages * dim, vectors + (size_t)record * dim, dim * sizeof *vectors);
    b->n_passages++;
    b->n_bytes += dim * sizeof *vectors;
  }
  b->n_bytes += n_bytes;
  b->additions[b->n++] = (cq_index_addition){d, NULL, b->n_passages - before};
  return cq_database_check_document(d, error);
}

/* Reads documents from c->record on; a range of n records contains the start of at most n documents. */
static cq_status fill_batch(batch *b, copying *c, cq_error *error) {
  filling f = {c, b};
  cq_status status = CQ_OK;
  while (!status && b->n < c->o->batch && b->n_bytes < BATCH_BYTES && c->record < c->info.n) {
    const int64_t room = (int64_t)cq_min(c->o->batch - b->n, AT_A_TIME), left = c->info.n - c->record;
    const int64_t end = c->record + (room < left ? room : left);
    status = cq_index_snapshot_visit(c->snapshot, c->record, end, add_document, &f, error);
    c->record = end;
  }
  size_t at = 0;
  for (size_t i = 0; i < b->n; at += b->additions[i++].n_passages) b->additions[i].passages = b->passages + at;
  return status;
}

static void clear_batch(batch *b) {
  b->n = b->n_passages = b->n_bytes = 0;
  cq_arena_free(&b->arena);
}

/* A batch that is read and converted to rows while the previous one is sent. */
typedef struct step {
  copying *c;
  batch b;
  cq_database_batch whole;
  cq_database_writing rows;
  int64_t next_document, next_passage; /* guessed */
  cq_status status;
  cq_error error;
} step;

static void *prepare_step(void *context) {
  step *s = context;
  copying *c = s->c;
  clear_batch(&s->b);
  s->status = fill_batch(&s->b, c, &s->error);
  s->whole = (cq_database_batch){.additions = s->b.additions,
                                 .n = s->b.n,
                                 .vectors = s->b.vectors,
                                 .source = c->source,
                                 .copied_until = c->record};
  if (!s->status)
    s->status = cq_database_prepare(&s->rows, c->to, &s->whole, s->next_document, s->next_passage, &s->error);
  return NULL;
}

static cq_status send_step(step *s, copying *c, cq_error *error) {
  const cq_status status = cq_database_send(&s->rows, error);
  if (status) return status;
  c->n_done += s->b.n;
  if (!c->o->progress || c->o->progress(c->o->progress_context, (uint64_t)s->whole.copied_until, (uint64_t)c->info.n))
    return CQ_OK;
  return cq_fail(error, CQ_ERR_STOPPED, "stopped; what was copied stays, and the same call continues after it");
}

/* steps[0] is sent while steps[1] is prepared, then the other way round. c->record belongs to the preparing thread. */
static cq_status copy_steps(step steps[2], copying *c, cq_error *error) {
  cq_status status = CQ_OK;
  int at = 0;
  bool is_ready = false;
  while (!status && (is_ready || c->record < c->info.n)) {
    step *now = &steps[at], *next = &steps[1 - at];
    pthread_t thread;
    bool is_running = false;
    if (!is_ready) prepare_step(now);
    if ((status = now->status)) {
      if (error) *error = now->error;
      break;
    }
    const bool is_more = c->record < c->info.n;
    next->next_document = now->rows.next_document, next->next_passage = now->rows.next_passage;
    if (is_more) is_running = pthread_create(&thread, NULL, prepare_step, next) == 0;
    status = send_step(now, c, error);
    if (is_running) pthread_join(thread, NULL);
    is_ready = is_running;
    at = 1 - at;
  }
  return status;
}

static cq_status copy_batches(copying *c, cq_error *error) {
  step *steps = cq_alloc_array_zeroed(2, sizeof *steps);
  cq_status status = steps ? CQ_OK : cq_fail_memory(error, "documents");
  for (int i = 0; steps && i < 2; i++) {
    steps[i].c = c;
    steps[i].b.documents = cq_alloc_array(c->o->batch, sizeof *steps[i].b.documents);
    steps[i].b.additions = cq_alloc_array(c->o->batch, sizeof *steps[i].b.additions);
    if (!steps[i].b.documents || !steps[i].b.additions) status = cq_fail_memory(error, "documents");
  }
  if (!status) status = copy_steps(steps, c, error);
  for (int i = 0; steps && i < 2; i++) {
    clear_batch(&steps[i].b);
    cq_free(steps[i].b.documents);
    cq_free(steps[i].b.additions);
    cq_free(steps[i].b.passages);
    cq_free(steps[i].b.vectors);
    cq_database_writing_free(&steps[i].rows);
  }
  cq_free(steps);
  return status;
}

/* The next copy begins at the beginning. */
static cq_status finish_copy(copying *c, cq_error *error) {
  const cq_database_batch nothing = {.source = ""};
  cq_status status = cq_database_make_whole(c->to, error);
  if (!status && c->o->hnsw) status = cq_database_approximate(c->to, true, true, error);
  return status ? status : cq_database_write(c->to, &nothing, error);
}

cq_status cq_database_copy(cq_index *to, const cq_index *from, const cq_index_snapshot *snapshot,
                           const cq_index_copy_options *options, cq_index_copy_result *result, cq_error *error) {
  copying c = {.from = from, .to = to, .o = options, .snapshot = snapshot, .info = cq_index_snapshot_info(snapshot)};
  /* records keep their numbers as long as these values do not change: compaction writes new files */
  snprintf(c.source, sizeof c.source, "%s %" PRId64 " %" PRId64 " %" PRId64, c.info.identity, c.info.files, c.info.n,
           c.info.n_live);
  cq_status status = find_place(&c, error);
  const int64_t resumed = c.record;
  if (!status) status = copy_batches(&c, error);
  if (!status) status = finish_copy(&c, error);
  const cq_index_counts counts = to->backend->count(to);
  if (!status)
    *result = (cq_index_copy_result){.n_copied = c.n_done,
                                     .is_resumed = resumed > 0,
                                     .n_documents = counts.n_documents,
                                     .n_passages = counts.n_passages};
  return status;
}
