/* The files that paths name: directories are walked, names in bytewise order, without those that begin with a dot.
 * Links are followed, except links to a parent directory. */
#ifndef BASE_WALK_H
#define BASE_WALK_H

#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct cq_walked {
  char *path;
  const char *name; /* its end: the path within the given directory, or all of it */
  bool is_inside;   /* of a directory that was named, not the file itself */
  int failure;      /* errno: it is a file or directory that cannot be read; 0: a file */
} cq_walked;

/* Start from {0}. */
typedef struct cq_walk {
  cq_walked *files;
  size_t n, capacity;
  size_t n_root;         /* length of the given directory's path, with its slash */
  bool keeps_unreadable; /* adds what cannot be read within a directory, with its failure, instead of failing */
} cq_walk;

/* Adds a file, all files of a directory, or "-". Errors: CQ_ERR_IO for a missing path, or a directory
 * that cannot be read; CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_walk_add(cq_walk *walk, const char *path, cq_error *error);
void cq_walk_free(cq_walk *walk);

#endif
