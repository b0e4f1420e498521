/* The two principal axes of a sample of vectors: the plane of the page's map. */
#include "serve/plane.h"

#include "base/error.h"
#include "calque/extra/pca.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE = 2000 };

void serve_plane_free(serve_plane *p) {
  if (!p) return;
  free(p->mean);
  free(p->directions);
  free(p);
}

static serve_plane *new_plane(size_t dim) {
  serve_plane *p = calloc(1, sizeof *p);
  if (!p) return NULL;
  p->dim = dim, p->scale = 1;
  p->mean = calloc(dim, sizeof *p->mean);
  p->directions = calloc(2 * dim, sizeof *p->directions);
  if (p->mean && p->directions) return p;
  serve_plane_free(p);
  return NULL;
}

static serve_plane *copy_plane(const serve_plane *from) {
  serve_plane *p = new_plane(from->dim);
  if (!p) return NULL;
  p->scale = from->scale;
  memcpy(p->mean, from->mean, from->dim * sizeof *p->mean);
  memcpy(p->directions, from->directions, 2 * from->dim * sizeof *p->directions);
  return p;
}

/* Places are the centered vectors' coordinates along the directions. So each direction is the sum of the centered
 * vectors, weighted by their places, divided by the sum of the squared places. */
static void find_directions(serve_plane *p, const double *places, const float *vectors, size_t n) {
  for (size_t i = 0; i < n; i++)
    for (size_t d = 0; d < p->dim; d++) p->mean[d] += vectors[i * p->dim + d] / (double)n;
  for (int k = 0; k < 2; k++) {
    double squares = 0, furthest = 0;
    double *direction = p->directions + (size_t)k * p->dim;
    for (size_t i = 0; i < n; i++) {
      const double place = places[2 * i + (size_t)k];
      squares += place * place;
      furthest = fmax(furthest, fabs(place));
      for (size_t d = 0; d < p->dim; d++) direction[d] += place * (vectors[i * p->dim + d] - p->mean[d]);
    }
    for (size_t d = 0; d < p->dim && squares > 0; d++) direction[d] /= squares;
    p->scale = k == 0 && furthest > 0 ? furthest : fmax(p->scale, furthest);
  }
}

cq_status serve_plane_of_vectors(serve_plane **out, const float *vectors, size_t n, size_t dim, cq_context *ctx,
                                 cq_error *error) {
  serve_plane *p = new_plane(dim);
  double *places = calloc(n + 1, 2 * sizeof *places);
  cq_status status = p && places ? CQ_OK : cq_fail_memory(error, "a map");
  if (!status && n >= 3 && dim >= 2) { /* with fewer there is no plane: all are at its center */
    status = cq_pca(places, NULL, vectors, n, (int)dim, 2, ctx, error);
    if (!status) find_directions(p, places, vectors, n);
  }
  free(places);
  if (status)
    serve_plane_free(p);
  else
    *out = p;
  return status;
}

cq_status serve_plane_of_index(serve_plane **out, serve_model *m, cq_context *ctx, cq_error *error) {
  cq_status status = CQ_OK;
  pthread_mutex_lock(&m->mapping);
  const size_t n_documents = cq_index_size(m->index), n_passages = cq_index_n_passages(m->index);
  if (!m->plane || m->plane_documents != n_documents || m->plane_passages != n_passages) {
    cq_hits *hits = NULL;
    float *vectors = NULL;
    serve_plane *fresh = NULL;
    size_t n = 0;
    status = cq_index_sample(&hits, &vectors, m->index, SAMPLE, error);
    if (!status) (void)cq_hits_of(hits, 0, &n);
    if (!status) status = serve_plane_of_vectors(&fresh, vectors, n, m->dim, ctx, error);
    if (!status) {
      serve_plane_free(m->plane);
      m->plane = fresh, m->plane_documents = n_documents, m->plane_passages = n_passages;
    }
    cq_free(vectors);
    cq_hits_free(hits);
  }
  if (!status && !(*out = copy_plane(m->plane))) status = cq_fail_memory(error, "a map");
  pthread_mutex_unlock(&m->mapping);
  return status;
}

void serve_plane_place(double place[2], const serve_plane *p, const float *vector) {
  for (int k = 0; k < 2; k++) {
    const double *direction = p->directions + (size_t)k * p->dim;
    double sum = 0;
    for (size_t d = 0; d < p->dim; d++) sum += direction[d] * (vector[d] - p->mean[d]);
    place[k] = sum / p->scale;
  }
}
