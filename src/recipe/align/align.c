/* Alignment, end to end:
 *
 *   documents -> sentences -> vectors, kept on disk by model and text -> pairs of documents -> for each of them
 *     means of sentences as groups -> a path -> the texts of the groups near it -> the path
 *     most similar sentences -> a verdict on the documents as a whole */
#include "base/error.h"
#include "base/memory.h"
#include "base/slice.h"
#include "model/precision.h"
#include "recipe/align/alignment.h"
#include "recipe/align/path.h"
#include "recipe/encode/embedded.h"

#include <inttypes.h>
#include <string.h>

enum { LONG_GAP = 10, FEW_PAIRS = 20 }; /* FEW_PAIRS: told one by one */

#define O cq_align_options
static const cq_option option_rows[] = {
    {CQ_TEXT(O, "source", source, CHANGES, "FILE", "a document, or a folder of documents"),
     .flags = CQ_OPTION_REQUIRED},
    {CQ_TEXT(O, "target", target, CHANGES, "FILE", "those of the other language"), .flags = CQ_OPTION_REQUIRED},
    {CQ_TEXT(O, "model", model, CHANGES, "MODEL",
             "model to encode both sides with: a directory, a name in the local Hugging Face cache, or small or base, "
             "which "
             "calque ships"),
     .letter = 'm', .text = CQ_DEFAULT_MODEL},
    CQ_PRECISION_ROW(O, precision),
    {CQ_TEXT(O, "cache", cache_directory, KEEPS, "DIR", "where the sentences' vectors are kept for the next run"),
     .otherwise = "~/.cache/calque"},
    {CQ_SIZE(O, "max-group", max_group, CHANGES, 5, 1, CQ_ALIGN_MAX_GROUP, "N",
             "most sentences that one sentence is translated by; both sides of a pair have at most two more together")},
    {CQ_FLAG(O, "lines", lines, CHANGES, "each line is a sentence already")},
    {CQ_TEXTS(O, "languages", languages, n_languages, CHANGES, "A,B", "codes of the two languages"),
     .flags = CQ_OPTION_COMMAS, .otherwise = "as the documents state, or identified"},
};
#undef O

static cq_status check_align(const void *options, cq_error *error) {
  const cq_align_options *o = options;
  return o->n_languages == 0 || o->n_languages == 2
             ? CQ_OK
             : cq_fail(error, CQ_ERR_ARGUMENT, "languages needs two codes, as in de,en");
}

static const char *const documents_left_out[] = {"language", "relative", "file-ids", NULL};
static const cq_option_part parts[] = {
    {.group = &cq_group_documents, .offset = offsetof(cq_align_options, documents), .left_out = documents_left_out}};
const cq_option_group cq_group_align = {
    .name = "align",
    CQ_ROWS(cq_align_options, option_rows),
    .parts = parts,
    .n_parts = 1,
    .check = check_align,
    CQ_FIELDS(CQ_CALLBACK(cq_align_options, notice), CQ_CALLBACK(cq_align_options, progress))};

/* --- encoding --- */

static cq_status open_encoder(cq_cached_encoder *out, const cq_align_options *o, cq_error *error) {
  cq_encoder_options opening = cq_encoder_default_options();
  opening.precision = o->precision, opening.notice = o->notice, opening.notice_context = o->notice_context;
  return cq_cached_encoder_open(out, o->model, &opening, o->cache_directory, error);
}

static bool tell_encoding(void *context, uint64_t done, uint64_t n) {
  const cq_align_options *o = context;
  return !o->progress || o->progress(o->progress_context, "encode", done, n);
}

/* Encodes texts [n] and maps the vectors. */
static cq_status encode_texts(cq_cached_encoder *store, const cq_slice *texts, size_t n, const cq_align_options *o,
                              cq_context *ctx, cq_error *error) {
  const cq_status status = cq_cached_encoder_prepare(store, texts, n, ctx, tell_encoding, (void *)(uintptr_t)o, error);
  return status ? status : cq_cached_encoder_map(store, error);
}

/* All sentences of both sides. */
static cq_status encode_sentences(cq_cached_encoder *store, const cq_alignment *a, const cq_align_options *o,
                                  cq_context *ctx, cq_error *error) {
  size_t n = 0, at = 0;
  for (int side = 0; side < 2; side++)
    for (size_t d = 0; d < a->sides[side].n; d++) n += a->sides[side].items[d].n;
  cq_slice *texts = cq_alloc_array(n, sizeof *texts);
  if (!texts) return cq_fail_memory(error, "sentences");
  for (int side = 0; side < 2; side++)
    for (size_t d = 0; d < a->sides[side].n; d++)
      for (size_t i = 0; i < a->sides[side].items[d].n; i++)
        texts[at++] = cq_align_text(&a->sides[side].items[d], i, 1);
  const cq_status status = encode_texts(store, texts, n, o, ctx, error);
  cq_free(texts);
  return status;
}

static cq_status take_means(cq_align_documents *side, const cq_cached_encoder *store, cq_error *error) {
  const size_t dim = (size_t)store->dim;
  for (size_t d = 0; d < side->n; d++) {
    cq_align_document *document = &side->items[d];
    document->mean = cq_alloc_array_zeroed(dim, sizeof *document->mean);
    if (!document->mean) return cq_fail_memory(error, "documents");
    for (size_t i = 0; i < document->n; i++) {
      const float *x = cq_cached_encoder_vector(store, cq_align_text(document, i, 1));
      for (size_t j = 0; j < dim; j++) document->mean[j] += x[j];
    }
    cq_align_unit(document->mean, dim);
  }
  return CQ_OK;
}

static cq_status make_side(cq_align_side *out, const cq_align_document *d, const cq_cached_encoder *store,
                           size_t max_group, cq_error *error) {
  const size_t dim = (size_t)store->dim;
  const cq_status status = cq_align_side_new(out, d->n, dim, max_group, error);
  for (size_t i = 0; !status && i < d->n; i++) {
    const cq_slice text = cq_align_text(d, i, 1);
    float *x = cq_align_group(out, i + 1, 1);
    memcpy(x, cq_cached_encoder_vector(store, text), dim * sizeof *x);
    cq_align_unit(x, dim);
    out->begins[i + 1] = out->begins[i] + (double)text.n + 1;
  }
  out->blocks = d->blocks;
  if (!status) cq_align_side_join(out);
  return status;
}

/* --- a pair of documents --- */

/* Its sides, and the weights of their words. */
typedef struct aligning {
  const cq_align_document *documents[2];
  cq_align_side sides[2];
  float *weights;
} aligning;

static cq_status aligning_open(aligning *w, const cq_alignment *a, const cq_aligned *p, const cq_cached_encoder *store,
                               size_t max_group, cq_error *error) {
  cq_status status = CQ_OK;
  *w = (aligning){.weights = NULL};
  for (int side = 0; !status && side < 2; side++) {
    w->documents[side] = &a->sides[side].items[p->documents[side]];
    status = make_side(&w->sides[side], w->documents[side], store, max_group, error);
  }
  return status ? status : cq_align_shared_words(&w->weights, w->sides, w->documents, error);
}

static void aligning_close(aligning *w) {
  cq_free(w->weights);
  cq_align_side_free(&w->sides[0]), cq_align_side_free(&w->sides[1]);
}

/* Texts of groups, of all pairs of documents: they are encoded together. */
typedef struct group_texts {
  cq_slice *items;
  size_t n, capacity;
} group_texts;

/* Adds the texts of the groups that a plan wants, or, from a store that has them, takes their vectors. */
static cq_status take_groups(aligning *w, const cq_align_plan *plan, group_texts *texts, const cq_cached_encoder *store,
                             cq_error *error) {
  for (int side = 0; side < 2; side++) {
    cq_align_side *s = &w->sides[side];
    for (size_t i = 0; i < s->n * s->max_group; i++) {
      const size_t end = i / s->max_group + 1, k = i % s->max_group + 1;
      if (!plan->wanted[side][i]) continue;
      const cq_slice text = cq_align_text(w->documents[side], end - k, k);
      if (store) {
        float *group = cq_align_group(s, end, k);
        memcpy(group, cq_cached_encoder_vector(store, text), s->dim * sizeof *group);
        cq_align_unit(group, s->dim);
      } else if (cq_reserve((void **)&texts->items, &texts->capacity, texts->n + 1, sizeof *texts->items)) {
        texts->items[texts->n++] = text;
      } else {
        return cq_fail_memory(error, "groups of sentences");
      }
    }
  }
  return CQ_OK;
}

static void tell_gaps(const cq_aligned *p, const cq_align_document *const documents[2], const cq_align_options *o) {
  for (size_t first = 0, last; first < p->n_beads; first = last) {
    const cq_bead *b = &p->beads[first];
    const bool of_source = b->n_target == 0;
    for (last = first; last < p->n_beads; last++)
      if ((of_source ? p->beads[last].n_target : p->beads[last].n_source) != 0) break;
    if (last - first >= LONG_GAP)
      CQ_NOTIFY(o, "%s: sentences %" PRIu32 " to %" PRIu32 " have no translation in the other document",
                documents[!of_source]->id, (of_source ? b->source : b->target) + 1,
                (of_source ? b->source : b->target) + (uint32_t)(last - first));
    if (last == first) last++;
  }
}

static void tell_verdict(const cq_align_verdict *v, const cq_align_document *const documents[2],
                         const cq_align_options *o) {
  if (v->is_unrelated) {
    CQ_NOTIFY(o,
              "%s and %s are not translations of each other: of %zu pairs of most similar sentences, %zu are in order",
              documents[0]->id, documents[1]->id, v->n_anchors, v->n_in_order);
    return;
  }
  if (v->is_too_short)
    CQ_NOTIFY(o, "%s: too few sentences to say whether the two documents are translations of each other",
              documents[0]->id);
  for (size_t i = 0; i < v->n_moved; i++)
    CQ_NOTIFY(o, "another order: sentences %" PRIu32 " to %" PRIu32 " of %s stand at %" PRIu32 " to %" PRIu32 " of %s",
              v->moved[i].source + 1, v->moved[i].source + v->moved[i].n_source, documents[0]->id,
              v->moved[i].target + 1, v->moved[i].target + v->moved[i].n_target, documents[1]->id);
  if (strcmp(documents[0]->text, documents[1]->text) == 0)
    CQ_NOTIFY(o, "%s and %s have the same text", documents[0]->id, documents[1]->id);
}

/* What became of many pairs, which are not told one by one. */
typedef struct totals {
  size_t n_unrelated, n_moved, n_too_short;
} totals;

static cq_status judge(bool *related, totals *t, const cq_aligned *p, const aligning *w, bool tell,
                       const cq_align_options *o, cq_context *ctx, cq_error *error) {
  cq_align_verdict v;
  const cq_status status = cq_align_check(&v, w->sides, p->beads, p->n_beads, ctx, error);
  *related = !v.is_unrelated;
  t->n_unrelated += v.is_unrelated, t->n_moved += v.n_moved > 0, t->n_too_short += v.is_too_short;
  if (!status && tell) tell_verdict(&v, w->documents, o);
  if (!status && tell && *related) tell_gaps(p, w->documents, o);
  cq_free(v.moved);
  return status;
}

static void tell_totals(const totals *t, size_t n, const cq_alignment *a, bool one_by_one, const cq_align_options *o) {
  if (a->sides[0].n == 1 && a->sides[1].n == 1) return;
  CQ_NOTIFY(o, "%zu pairs of documents; %zu of %s and %zu of %s are left", n, a->sides[0].n - n, o->source,
            a->sides[1].n - n, o->target);
  if (!one_by_one)
    CQ_NOTIFY(o,
              "%zu more were not translations of each other, %zu have passages in another order, %zu are too short "
              "to say",
              t->n_unrelated, t->n_moved, t->n_too_short);
}

static cq_status tell_pair(const cq_align_options *o, const char *what, size_t done, size_t n, cq_error *error) {
  return n > 1 && o->progress && !o->progress(o->progress_context, what, done, n)
             ? cq_fail(error, CQ_ERR_STOPPED, "stopped while aligning; the vectors so far are kept")
             : CQ_OK;
}

/* Plans each pair's path by the sentences' vectors, and lists the groups that could matter. */
static cq_status plan_pairs(cq_align_plan *plans, group_texts *texts, const cq_alignment *a,
                            const cq_cached_encoder *store, const cq_align_options *o, cq_context *ctx,
                            cq_error *error) {
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < a->n_pairs; i++) {
    aligning w;
    status = aligning_open(&w, a, &a->pairs[i], store, o->max_group, error);
    if (!status) status = cq_align_plan_make(&plans[i], w.sides, w.weights, ctx, error);
    if (!status) status = take_groups(&w, &plans[i], texts, NULL, error);
    if (!status) status = tell_pair(o, "groups", i + 1, a->n_pairs, error);
    aligning_close(&w);
  }
  return status;
}

/* Aligns, and keeps the related pairs. */
static cq_status align_pairs(cq_alignment *a, const cq_align_plan *plans, const cq_cached_encoder *store,
                             const cq_align_options *o, cq_context *ctx, cq_error *error) {
  const bool one_by_one = a->n_pairs <= FEW_PAIRS;
  cq_status status = CQ_OK;
  totals t = {0};
  size_t n = 0;
  for (size_t i = 0; !status && i < a->n_pairs; i++) {
    cq_aligned p = a->pairs[i];
    aligning w;
    bool related = false;
    status = aligning_open(&w, a, &p, store, o->max_group, error);
    if (!status) status = take_groups(&w, &plans[i], NULL, store, error);
    if (!status) status = cq_align_path(&p.beads, &p.n_beads, &plans[i], w.sides, w.weights, ctx, error);
    if (!status) status = judge(&related, &t, &p, &w, one_by_one, o, ctx, error);
    if (!status) status = tell_pair(o, "align", i + 1, a->n_pairs, error);
    if (!status && related)
      a->pairs[n++] = p;
    else
      cq_free(p.beads);
    aligning_close(&w);
  }
  if (!status) tell_totals(&t, n, a, one_by_one, o);
  a->n_pairs = n;
  return status;
}

/* Encodes the groups that could matter, and aligns. */
static cq_status align_all(cq_alignment *a, const cq_cached_encoder *sentences, const cq_align_options *o,
                           cq_context *ctx, cq_error *error) {
  const size_t n = a->n_pairs;
  cq_cached_encoder store = {0};
  group_texts texts = {.n = 0};
  cq_align_plan *plans = cq_alloc_array_zeroed(n, sizeof *plans);
  cq_status status = plans || !n ? plan_pairs(plans, &texts, a, sentences, o, ctx, error)
                                 : cq_fail_memory(error, "plans of alignments");
  if (!status) status = open_encoder(&store, o, error);
  if (!status) status = encode_texts(&store, texts.items, texts.n, o, ctx, error);
  cq_cached_encoder_dismiss(&store);
  if (status)
    a->n_pairs = 0; /* none has beads */
  else
    status = align_pairs(a, plans, &store, o, ctx, error);
  cq_cached_encoder_close(&store);
  for (size_t i = 0; plans && i < n; i++) cq_align_plan_free(&plans[i]);
  cq_free(plans), cq_free(texts.items);
  return status;
}

cq_status cq_align(cq_alignment **out, const cq_align_options *options, cq_context *ctx, cq_error *error) {
  cq_align_options taken;
  cq_documents_options documents;
  cq_cached_encoder store = {0};
  *out = NULL;
  cq_status status = cq_options_take(&taken, &cq_group_align, options, error);
  if (!status) status = cq_options_take_part(&documents, parts, &taken, error);
  if (status) return status;
  taken.documents = &documents;
  cq_alignment *a = cq_alloc_zeroed(sizeof *a);
  if (!a) return cq_fail_memory(error, "an alignment");
  for (int side = 0; !status && side < 2; side++) {
    status = cq_align_documents_read(&a->sides[side], &taken, (cq_side)side, error);
    if (!status) cq_slice_copy(a->languages[side], sizeof *a->languages, cq_slice_of(a->sides[side].items->language));
  }
  if (!status) status = open_encoder(&store, &taken, error);
  if (!status) status = encode_sentences(&store, a, &taken, ctx, error);
  cq_cached_encoder_dismiss(&store);
  for (int side = 0; !status && side < 2; side++) status = take_means(&a->sides[side], &store, error);
  if (!status) status = cq_align_pair_documents(&a->pairs, &a->n_pairs, a, (size_t)store.dim, ctx, error);
  if (!status) status = align_all(a, &store, &taken, ctx, error);
  cq_cached_encoder_close(&store);
  if (status) cq_alignment_free(a);
  *out = status ? NULL : a;
  return status;
}

void cq_alignment_free(cq_alignment *a) {
  if (!a) return;
  for (size_t i = 0; i < a->n_pairs; i++) cq_free(a->pairs[i].beads);
  cq_free(a->pairs);
  cq_align_documents_free(&a->sides[0]), cq_align_documents_free(&a->sides[1]);
  cq_free(a);
}

size_t cq_alignment_n_documents(const cq_alignment *a) {
  return a->n_pairs;
}

const cq_bead *cq_alignment_beads(size_t *n, const cq_alignment *a, size_t document) {
  *n = a->pairs[document].n_beads;
  return a->pairs[document].beads;
}

static const cq_align_document *document_of(const cq_alignment *a, size_t document, cq_side side) {
  return &a->sides[side].items[a->pairs[document].documents[side]];
}

cq_slice cq_alignment_text(const cq_alignment *a, size_t document, cq_side side, uint32_t first, uint32_t n) {
  return n ? cq_align_text(document_of(a, document, side), first, n) : (cq_slice){"", 0};
}

cq_slice cq_alignment_id(const cq_alignment *a, size_t document, cq_side side) {
  return cq_slice_of(document_of(a, document, side)->id);
}
