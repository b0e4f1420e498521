/* Beam search: the best partial sentences, continued token by token. See beam.h. */
#include "lab/autoencode/beam.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

/* An open hypothesis: one row of the decoder's state. */
typedef struct beginning {
  int64_t sentence;
  double score; /* log probability */
  int32_t last;
  int64_t row; /* of the state before the step that it comes from */
} beginning;

typedef struct writing {
  const cq_decoder *decoder;
  const cq_beam_options *o;
  cq_worker *worker;
  cq_tensor latent, states; /* of all sentences */
  int32_t end;
  int64_t vocabulary;

  int64_t n;                /* hypotheses, sentence after sentence */
  beginning *open, *next;   /* [sentences * beam] */
  int32_t *tokens, *behind; /* [sentences * beam, max_tokens] tokens of each hypothesis, and of the next step's */
  cq_decoder_state state, moved;
  float *vectors; /* [n, latent_dim] of each beginning's sentence */

  cq_ids *out;
  double *best;          /* [sentences] score of the best finished hypothesis */
  beginning *candidates; /* [2 beam + 1] of one sentence */
} writing;

static double ended_score(const writing *w, double score, int64_t length) {
  return score / pow((double)length, w->o->length_penalty);
}

/* Keeps a finished sentence if it is the best so far. length: tokens written, including the end. */
static bool end_sentence(writing *w, const beginning *b, const int32_t *tokens, int64_t length) {
  const double score = ended_score(w, b->score, length);
  cq_ids *out = &w->out[b->sentence];
  if (!(score > w->best[b->sentence])) return true;
  w->best[b->sentence] = score;
  if (!cq_reserve((void **)&out->ids, &out->capacity, (size_t)length, sizeof *out->ids)) return false;
  memcpy(out->ids, tokens, (size_t)(length - 1) * sizeof *out->ids);
  out->n = (size_t)(length - 1);
  return true;
}

/* Inserts a candidate into the `max` best, best first; on a tie, the earlier one stays first. */
static int insert_candidate(beginning *list, int n, int max, beginning candidate) {
  int at = n;
  while (at > 0 && list[at - 1].score < candidate.score) at--;
  if (at == max) return n;
  const int kept = n < max ? n : max - 1;
  memmove(list + at + 1, list + at, (size_t)(kept - at) * sizeof *list);
  list[at] = candidate;
  return kept + 1;
}

/* Extends one sentence's hypotheses [first, end) by their most probable tokens, and adds the best unfinished ones to
 * w->next. Returns their number, or -1 when out of memory. */
static int extend_sentence(writing *w, int64_t first, int64_t end, const float *log_p, int64_t length, int64_t n_next) {
  const int beam = w->o->beam, max = 2 * beam; /* half of them may end */
  int n = 0, kept = 0;
  for (int64_t r = first; r < end; r++) {
    const float *row = log_p + r * w->vocabulary;
    const double score = w->open[r].score;
    for (int32_t t = 0; t < w->vocabulary; t++) {
      if (n == max && !(score + (double)row[t] > w->candidates[n - 1].score)) continue;
      n = insert_candidate(w->candidates, n, max, (beginning){w->open[r].sentence, score + (double)row[t], t, r});
    }
  }
  for (int i = 0; i < n && kept < beam; i++) {
    const beginning *c = &w->candidates[i];
    const int32_t *tokens = w->tokens + c->row * w->o->max_tokens;
    if (c->last == w->end) {
      if (!end_sentence(w, c, tokens, length)) return -1;
      continue;
    }
    int32_t *to = w->behind + (n_next + kept) * w->o->max_tokens;
    memcpy(to, tokens, (size_t)(length - 1) * sizeof *to);
    to[length - 1] = c->last;
    w->next[n_next + kept++] = *c;
  }
  /* Stops when no open hypothesis, at its current length, beats the finished ones. Without a length penalty, none can
   * later, because probabilities only fall; with one, it might, but then every search would run to max_tokens. */
  const double best = w->best[w->open[first].sentence];
  if (kept && best > -INFINITY && w->next[n_next].score <= best * pow((double)length, w->o->length_penalty)) kept = 0;
  return kept;
}

/* Moves the states of the rows that the next hypotheses extend, in their order. */
static void move_beam_states(writing *w) {
  const cq_decoder_shape *s = cq_decoder_shape_of(w->decoder);
  const size_t n_bytes = (size_t)s->hidden_dim * sizeof(float);
  for (int64_t l = 0; l < s->n_layers; l++)
    for (int64_t i = 0; i < w->n; i++) {
      const int64_t to = (l * w->n + i) * s->hidden_dim, from = (l * w->state.n + w->open[i].row) * s->hidden_dim;
      memcpy(w->moved.hidden + to, w->state.hidden + from, n_bytes);
      memcpy(w->moved.cells + to, w->state.cells + from, n_bytes);
    }
  const cq_decoder_state before = w->state;
  w->state = (cq_decoder_state){w->n, w->moved.hidden, w->moved.cells};
  w->moved = before;
}

/* Extends all hypotheses by likely tokens; *out: the number that stays open. */
static cq_status extend_by_beam(int64_t *out, writing *w, const int32_t *ids, cq_tensor vectors, int64_t length,
                                cq_error *error) {
  const int64_t n = w->n;
  cq_tensor log_p = cq_workspace_f32(&w->worker->workspace, n, w->vocabulary);
  if (!log_p.data) return cq_fail_memory(error, "a sentence that is being written");
  cq_status status = cq_decoder_step(log_p, w->worker, w->decoder, &w->state, ids, vectors, error);
  int64_t n_next = 0;
  for (int64_t first = 0, end; !status && first < n; first = end) {
    for (end = first + 1; end < n && w->open[end].sentence == w->open[first].sentence; end++) {
    }
    const int kept = extend_sentence(w, first, end, cq_f32(log_p), length, n_next);
    if (kept < 0) status = cq_fail_memory(error, "a sentence that is being written");
    if (kept > 0) n_next += kept;
  }
  *out = n_next;
  return status;
}

/* The same with a beam of one: a sentence ends when the end token is the most probable, so no score is needed. */
static cq_status extend_greedily(int64_t *out, writing *w, int32_t *ids, cq_tensor vectors, int64_t length,
                                 cq_error *error) {
  cq_status status = cq_decoder_step_greedy(ids, w->worker, w->decoder, &w->state, ids, vectors, error);
  int64_t n_next = 0;
  for (int64_t r = 0; !status && r < w->n; r++) {
    const beginning b = {w->open[r].sentence, 0, ids[r], r};
    const int32_t *tokens = w->tokens + r * w->o->max_tokens;
    if (b.last == w->end) {
      if (!end_sentence(w, &b, tokens, length)) status = cq_fail_memory(error, "a sentence that is being written");
      continue;
    }
    int32_t *to = w->behind + n_next * w->o->max_tokens;
    memcpy(to, tokens, (size_t)(length - 1) * sizeof *to);
    to[length - 1] = b.last;
    w->next[n_next++] = b;
  }
  *out = n_next;
  return status;
}

static cq_status beam_step(writing *w, int64_t length, cq_error *error) {
  cq_workspace *space = &w->worker->workspace;
  const cq_mark mark = cq_workspace_mark(space);
  const int64_t dim = w->latent.cols, n = w->n;
  int32_t *ids = cq_workspace_take(space, (size_t)n * sizeof *ids);
  if (!ids) return cq_fail_memory(error, "a sentence that is being written");
  for (int64_t i = 0; i < n; i++) {
    ids[i] = w->open[i].last;
    memcpy(w->vectors + i * dim, cq_f32(w->latent) + w->open[i].sentence * w->latent.stride,
           (size_t)dim * sizeof(float));
  }
  int64_t n_next = 0;
  const cq_tensor vectors = cq_tensor_f32(w->vectors, n, dim);
  cq_status status = w->o->beam == 1 ? extend_greedily(&n_next, w, ids, vectors, length, error)
                                     : extend_by_beam(&n_next, w, ids, vectors, length, error);
  cq_workspace_release(space, mark);
  if (status) return status;
  beginning *open = w->open;
  int32_t *tokens = w->tokens;
  w->open = w->next, w->next = open;
  w->tokens = w->behind, w->behind = tokens;
  w->n = n_next;
  move_beam_states(w);
  return CQ_OK;
}

static cq_status begin_beam(writing *w, cq_error *error) {
  const cq_decoder_shape *s = cq_decoder_shape_of(w->decoder);
  cq_workspace *space = &w->worker->workspace;
  const int64_t n = w->latent.rows, max_open = n * w->o->beam;
  const size_t n_states = (size_t)(s->n_layers * max_open * s->hidden_dim) * sizeof(float);
  w->open = cq_workspace_take(space, (size_t)max_open * sizeof *w->open);
  w->next = cq_workspace_take(space, (size_t)max_open * sizeof *w->next);
  w->tokens = cq_workspace_take(space, (size_t)(max_open * w->o->max_tokens) * sizeof *w->tokens);
  w->behind = cq_workspace_take(space, (size_t)(max_open * w->o->max_tokens) * sizeof *w->behind);
  w->vectors = cq_workspace_take(space, (size_t)(max_open * s->latent_dim) * sizeof *w->vectors);
  w->best = cq_workspace_take(space, (size_t)n * sizeof *w->best);
  w->candidates = cq_workspace_take(space, (size_t)(2 * w->o->beam + 1) * sizeof *w->candidates);
  w->moved = (cq_decoder_state){max_open, cq_workspace_take(space, n_states), cq_workspace_take(space, n_states)};
  float *hidden = cq_workspace_take(space, n_states), *cells = cq_workspace_take(space, n_states);
  if (!w->open || !w->next || !w->tokens || !w->behind || !w->vectors || !w->best || !w->candidates ||
      !w->moved.hidden || !w->moved.cells || !hidden || !cells)
    return cq_fail_memory(error, "a sentence that is being written");
  cq_status status = cq_decoder_begin(&w->state, w->worker, w->decoder, w->latent, w->states, error);
  if (status) return status;
  const size_t n_first = (size_t)(s->n_layers * n * s->hidden_dim) * sizeof(float);
  memcpy(hidden, w->state.hidden, n_first); /* with room for a whole beam */
  memcpy(cells, w->state.cells, n_first);
  w->state = (cq_decoder_state){n, hidden, cells};
  const int32_t start = cq_tokenizer_describe(cq_decoder_tokenizer(w->decoder))->cls_id;
  for (int64_t i = 0; i < n; i++) {
    w->open[i] = (beginning){.sentence = i, .last = start};
    w->best[i] = -INFINITY;
    w->out[i].n = 0;
  }
  w->n = n;
  return CQ_OK;
}

cq_status cq_decoder_write(cq_ids *ids, cq_worker *worker, const cq_decoder *decoder, cq_tensor latent,
                           cq_tensor states, const cq_beam_options *o, cq_error *error) {
  if (o->beam < 1 || o->beam > 1000 || o->max_tokens < 1 || o->max_tokens > 1 << 16 || !(o->length_penalty >= 0))
    return cq_fail(error, CQ_ERR_ARGUMENT, "beam %d, %d tokens, length penalty %g", o->beam, o->max_tokens,
                   o->length_penalty);
  const cq_tokenizer_info *info = cq_tokenizer_describe(cq_decoder_tokenizer(decoder));
  const cq_mark mark = cq_workspace_mark(&worker->workspace);
  writing w = {.decoder = decoder,
               .o = o,
               .worker = worker,
               .latent = latent,
               .states = states,
               .end = info->sep_id,
               .vocabulary = info->vocab_size,
               .out = ids};
  cq_status status = begin_beam(&w, error);
  for (int64_t length = 1; !status && w.n > 0 && length <= o->max_tokens; length++)
    status = beam_step(&w, length, error);
  /* A sentence without a finished hypothesis gets its best open one. */
  for (int64_t i = 0; !status && i < w.n; i++)
    if (w.best[w.open[i].sentence] == -INFINITY &&
        !end_sentence(&w, &w.open[i], w.tokens + i * o->max_tokens, o->max_tokens + 1))
      status = cq_fail_memory(error, "a sentence that is being written");
  cq_workspace_release(&worker->workspace, mark);
  return status;
}
