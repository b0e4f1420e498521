/* The served model and its optional index. Both are opened together, and again on SIGHUP; a request keeps the ones it
 * began with, and the last request frees them. */
#ifndef SERVE_SERVED_MODEL_H
#define SERVE_SERVED_MODEL_H

#include "calque/encoder.h"
#include "calque/index.h"
#include "calque/reranker.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct serve_model {
  const cq_encoder *encoder; /* the index's, if there is one */
  cq_encoder *own;           /* NULL: it is the index's */
  cq_index *index;           /* NULL: none */
  cq_reranker *reranker;     /* NULL: none */
  size_t rerank_depth;       /* documents of a search that it orders */
  bool is_shared;            /* the index is in a database, so others may change it */
  bool is_of_folder;         /* the index is that of a folder, which is followed */
  uint64_t directory[2];     /* device and inode of the index's; 0 in a database */
  char *name;                /* as clients call it: the last component of the path */
  char fingerprint[33];
  size_t dim;
  size_t max_tokens;     /* of a sequence; 0: no limit */
  const char *precision; /* "f32" */
  atomic_int n_users;
  pthread_mutex_t mapping;                /* of what follows */
  struct serve_plane *plane;              /* of the index's map; NULL: not made yet */
  size_t plane_documents, plane_passages; /* that the index had then */
} serve_model;

typedef struct serve_model_options {
  const char *model;  /* NULL: the index's */
  const char *index;  /* a directory, or a database's address; NULL: none */
  const char *rerank; /* a reranker, for /rerank and for searches; NULL: none */
  int rerank_depth;
  const char *task; /* the task of a model without an index, as in cq_encoder_options; NULL: the model's default */
  cq_precision precision;
  bool writable, compose; /* as in cq_encoder_options */
  bool is_of_folder;
  cq_notice_fn notice;
} serve_model_options;

/* *out has one reference. Errors: those of opening a model and an index; CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status serve_model_open(serve_model **out, const serve_model_options *options, cq_error *error);
/* Opens the files that are now at the same paths. An index that this process writes is locked, so no other process can
 * have changed it: unless it was replaced, *out is the old one, with one more reference. Errors: as above, and
 * CQ_ERR_IO if the index no longer exists. */
CQ_MUST_USE cq_status serve_model_reopen(serve_model **out, serve_model *old, const serve_model_options *options,
                                         cq_error *error);
/* cq_index_refresh(); the index of a folder that has gone, or is being replaced, stays as it is. */
CQ_MUST_USE cq_status serve_model_refresh(serve_model *model, cq_error *error);
serve_model *serve_model_use(serve_model *model); /* one user more */
void serve_model_leave(serve_model *model);       /* the last one frees it; NULL is legal */

#endif
