/* The plane of a map: the two directions in which an index's passages differ most. */
#ifndef SERVE_PLANE_H
#define SERVE_PLANE_H

#include "calque/context.h"
#include "serve/served_model.h"

typedef struct serve_plane {
  size_t dim;
  double scale;       /* places are divided by it: the sample's passages are in [-1, 1] */
  double *mean;       /* [dim] */
  double *directions; /* [2, dim] */
} serve_plane;

/* The plane of 2,000 passages, spread over the index; recomputed when the index has changed. The model keeps it; *out
 * is another reference, to be released with serve_plane_free. Errors: those of reading the index; CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status serve_plane_of_index(serve_plane **out, serve_model *model, cq_context *ctx, cq_error *error);
/* The plane of vectors [n, dim]. */
CQ_MUST_USE cq_status serve_plane_of_vectors(serve_plane **out, const float *vectors, size_t n, size_t dim,
                                             cq_context *ctx, cq_error *error);
void serve_plane_free(serve_plane *plane);

/* Projects a vector [dim] onto the plane. */
void serve_plane_place(double place[2], const serve_plane *plane, const float *vector);

#endif
