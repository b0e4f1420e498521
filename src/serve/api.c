/* calque's own interface: the served model, similarity, mining, a map. Unknown fields are errors that name them. */
#include "serve/plane.h"
#include "serve/request_body.h"
#include "serve/request_input.h"
#include "serve/route.h"

#include "calque/embedding.h"
#include "calque/mine.h"
#include "calque/version.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_SIDE = 2000 }; /* texts per side: similarities and neighbors cost the product of both sides */

/* ---- two lists of texts ---- */

typedef struct sides {
  json_t *body;
  const json_t *of[2];
  size_t n[2];
  int margin;
} sides;

static void free_sides(void *state) {
  sides *s = state;
  if (!s) return;
  json_decref(s->body);
  free(s);
}

/* The state of a request, with its body. NULL: the request has failed. */
static sides *begin_sides(serve_request *r, const char *const *known) {
  sides *s = calloc(1, sizeof *s);
  r->state = s, r->state_free = free_sides;
  const bool is_fine =
      s ? (s->body = serve_body_json(r)) && serve_check_fields(r, s->body, known) : serve_fail_memory(r);
  return is_fine ? s : NULL;
}

static bool take_side(sides *s, int i, serve_request *r, const char *field) {
  s->of[i] = json_object_get(s->body, field);
  s->n[i] = json_array_size(s->of[i]);
  if (!json_is_array(s->of[i]))
    return serve_fail(r, SERVE_INVALID, field, s->of[i] ? "'%s' is not a list of strings" : "'%s' is missing", field);
  if (s->n[i] > MAX_SIDE)
    return serve_fail(r, SERVE_TOO_LARGE, field, "'%s' has %zu texts, the limit is %d", field, s->n[i], MAX_SIDE);
  return serve_take_inputs(r, s->of[i], field, &(serve_input_options){0});
}

/* Makes one work item for both lists of texts, the first two fields of known. NULL: the request has failed. */
static sides *take_sides(serve_request *r, const char *const *known) {
  sides *s = begin_sides(r, known);
  return s && take_side(s, 0, r, known[0]) && take_side(s, 1, r, known[1]) ? s : NULL;
}

static void prepare_similarity(serve_request *r) {
  static const char *const known[] = {"a", "b", NULL};
  (void)take_sides(r, known);
}

static void answer_similarity(serve_request *r) {
  const sides *s = r->state;
  const size_t dim = r->model->dim;
  const float *a = r->work->vectors, *b = a + s->n[0] * dim;
  cq_builder_text(&r->answer, "{\"similarity\":[");
  for (size_t i = 0; i < s->n[0]; i++) {
    cq_builder_text(&r->answer, i ? ",[" : "[");
    for (size_t k = 0; k < s->n[1]; k++) {
      if (k) cq_builder_text(&r->answer, ",");
      cq_json_float(&r->answer, (float)cq_cosine(a + i * dim, b + k * dim, dim));
    }
    cq_builder_text(&r->answer, "]");
  }
  cq_builder_printf(&r->answer, "],\"truncated\":%zu}", r->work->n_truncated);
  serve_answer(r);
}

static void prepare_mine(serve_request *r) {
  static const char *const known[] = {"source", "target", "margin", NULL};
  static const char *const margins[] = {"ratio", "distance", "absolute", NULL}; /* by cq_margin */
  sides *s = take_sides(r, known);
  if (s) (void)serve_get_choice(&s->margin, r, s->body, "margin", margins);
}

static void put_item(cq_builder *b, const char *before, const json_t *list, size_t i) {
  const json_t *text = json_array_get(list, i);
  cq_json_member(b, before, (cq_slice){json_string_value(text), json_string_length(text)});
}

static void answer_mine(serve_request *r) {
  const sides *s = r->state;
  const size_t dim = r->model->dim;
  const float *x = r->work->vectors, *y = x + s->n[0] * dim;
  cq_neighbors of_x = {0}, of_y = {0};
  cq_mined_pair *pairs = NULL;
  size_t n = 0;
  cq_margin_options o = cq_margin_default_options();
  cq_error error = {0};
  o.margin = (cq_margin)s->margin;
  cq_status status = cq_nearest(&of_x, &of_y, x, s->n[0], y, s->n[1], dim, NULL, r->shared->ctx, &error);
  if (!status) status = cq_margin_pairs(&pairs, &n, &of_x, &of_y, &o, &error);
  if (status) {
    serve_fail_error(r, &error);
  } else {
    cq_builder_text(&r->answer, "{\"pairs\":[");
    for (size_t i = 0; i < n; i++) {
      cq_builder_printf(&r->answer, "%s{\"score\":%.9g,\"cosine\":%.9g,\"source_index\":%u,\"target_index\":%u",
                        i ? "," : "", pairs[i].score, pairs[i].cosine, pairs[i].source, pairs[i].target);
      put_item(&r->answer, ",\"source\":", s->of[0], pairs[i].source);
      put_item(&r->answer, ",\"target\":", s->of[1], pairs[i].target);
      cq_builder_text(&r->answer, "}");
    }
    cq_builder_printf(&r->answer, "],\"truncated\":%zu}", r->work->n_truncated);
    serve_answer(r);
  }
  cq_free(pairs);
  cq_neighbors_free(&of_x);
  cq_neighbors_free(&of_y);
}

/* ---- a map of texts ---- */

static void prepare_map(serve_request *r) {
  static const char *const known[] = {"texts", NULL};
  sides *s = begin_sides(r, known);
  if (!s) return;
  s->of[0] = json_object_get(s->body, "texts");
  s->n[0] = json_array_size(s->of[0]);
  if (!json_is_array(s->of[0]) || s->n[0] == 0)
    serve_fail(r, SERVE_INVALID, "texts", "'texts' is not a list of strings");
  else
    (void)serve_take_inputs(r, s->of[0], "texts", &(serve_input_options){0});
}

/* In the plane of the index, if there is one. */
static void answer_map(serve_request *r) {
  const sides *s = r->state;
  const size_t n = s->n[0], dim = r->model->dim;
  serve_plane *plane = NULL;
  cq_error error = {0};
  const cq_status status = r->model->index
                               ? serve_plane_of_index(&plane, r->model, r->shared->ctx, &error)
                               : serve_plane_of_vectors(&plane, r->work->vectors, n, dim, r->shared->ctx, &error);
  if (status) {
    serve_fail_error(r, &error);
    return;
  }
  cq_builder_text(&r->answer, "{\"points\":[");
  for (size_t i = 0; i < n; i++) {
    double place[2];
    serve_plane_place(place, plane, r->work->vectors + i * dim);
    cq_builder_printf(&r->answer, "%s{\"x\":%.6f,\"y\":%.6f", i ? "," : "", place[0], place[1]);
    put_item(&r->answer, ",\"label\":", s->of[0], i);
    cq_builder_text(&r->answer, "}");
  }
  cq_builder_printf(&r->answer, "],\"truncated\":%zu}", r->work->n_truncated);
  serve_answer(r);
  serve_plane_free(plane);
}

#define TEXTS "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"

const serve_route serve_api_routes[] = {
    {"POST", "/api/similarity", SERVE_OURS, 0, prepare_similarity, answer_similarity,
     .summary = "Cosines of all texts of one list with all of another", .body = "{\"a\":" TEXTS ",\"b\":" TEXTS "}",
     .answer_schema = "{\"similarity\":{\"type\":\"array\"},\"truncated\":{\"type\":\"integer\"}}"},
    {"POST", "/api/mine", SERVE_OURS, 0, prepare_mine, answer_mine,
     .summary = "Pairs of translations in two lists of sentences, at most 2,000 on each side",
     .body = "{\"source\":" TEXTS ",\"target\":" TEXTS ",\"margin\":{\"enum\":[\"ratio\",\"distance\",\"absolute\"]}}",
     .answer_schema = "{\"pairs\":{\"type\":\"array\"},\"truncated\":{\"type\":\"integer\"}}"},
    {"POST", "/api/map", SERVE_OURS, 0, prepare_map, answer_map, .summary = "Texts in a plane, by principal components",
     .body = "{\"texts\":" TEXTS "}",
     .answer_schema = "{\"points\":{\"type\":\"array\"},\"truncated\":{\"type\":\"integer\"}}"},
    {0},
};
