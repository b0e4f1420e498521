/* A served folder, whose index follows its files.
 *
 *   the watch  inotify, or a look every few seconds ──▶ a pause ──▶ what files there are now ──▶ serve_folder_follow()
 *
 * The watch indexes on a thread of low priority, while requests are answered from the last complete state. Whatever
 * fails leaves that state as it is, and is reported once. */
#ifndef SERVE_FOLDER_H
#define SERVE_FOLDER_H

#include "base/slice.h"
#include "serve/served_model.h"

/* Start from {0}; the pointers are borrowed. */
typedef struct serve_folder {
  const char *path, *encoding; /* encoding: of its documents, or NULL */
  const serve_model_options *model;
  bool (*progress)(void *context, uint64_t n_read); /* as in cq_index_folder_watch; NULL: none */
  void *context;
  bool is_watched;  /* so often read that the formats of its files are no news */
  char place[4096]; /* of its index */
  cq_builder said;  /* the notices so far */
} serve_folder;

/* Brings the index up to date. Errors: cq_index_folder()'s. */
CQ_MUST_USE cq_status serve_folder_follow(serve_folder *folder, cq_context *ctx, cq_error *error);
/* Reports once. */
void serve_folder_say(serve_folder *folder, const char *text);
/* A number of all names, sizes and times in a folder; it changes when a file does. */
uint64_t serve_folder_state(const char *path);

typedef struct serve_folder_watch serve_folder_watch;

/* Starts the thread. indexed: the state that the index has. followed: called by the thread when the index has changed.
 * Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status serve_folder_watch_open(serve_folder_watch **out, const serve_folder *folder, uint64_t indexed,
                                              int n_threads, void (*followed)(void *context), void *context,
                                              cq_error *error);
void serve_folder_watch_close(serve_folder_watch *watch); /* NULL is legal */

#endif
