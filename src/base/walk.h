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
  int failure;      /* 0: a file; errno: it cannot be read; or one of the following */
  bool is_directory;
} cq_walked;

/* Failures that are none in themselves: a link to something that is not there; a pipe, socket or device; a directory,
 * before what is in it. */
enum { CQ_WALK_DANGLING = -1, CQ_WALK_SPECIAL = -2, CQ_WALK_DIRECTORY = -3 };

/* Start from {0}. */
typedef struct cq_walk {
  cq_walked *files;
  size_t n, capacity;
  size_t n_root;  /* length of the given directory's path, with its slash */
  bool keeps_all; /* adds all names within a directory, with their failures, instead of failing */
} cq_walk;

/* Adds a file, all files of a directory, or "-". Errors: CQ_ERR_IO for a missing path, or a directory
 * that cannot be read; CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_walk_add(cq_walk *walk, const char *path, cq_error *error);
void cq_walk_free(cq_walk *walk);

#endif
