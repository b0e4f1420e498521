/** @file The index of a folder of documents, or of one file of them, which follows the folder's files: it is made, updated, or made again if it
 * is damaged or of another model.
 *
 *      char place[4096];
 *      cq_index_folder(place, sizeof place, "~/letters", NULL, &index_options, NULL, ctx, &err);
 *      cq_index_open(&index, place, &index_options, &err);
 *
 * @threads Any number, also in several processes: one of them changes an index. */
#ifndef CALQUE_INDEX_FOLDER_H
#define CALQUE_INDEX_FOLDER_H

#include "calque/index.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What reading documents has changed, and the index's documents and passages before. */
typedef struct cq_index_changes {
  cq_index_read_result read;
  size_t n_before, n_passages_before;
} cq_index_changes;

/** cq_index_read(), and a commit if anything has changed; otherwise the index may be open for reading only. @errors
 * Those of both; CQ_ERR_ARGUMENT if there are no documents, unless an index that has had some mirrors them: it becomes
 * empty. */
CQ_API CQ_MUST_USE cq_status cq_index_read_commit(cq_index_changes *out, cq_index *index, cq_documents *documents,
                                                  const cq_index_read_options *options, cq_context *ctx,
                                                  cq_error *error);

/** Functions may be NULL. */
typedef struct cq_index_folder_watch {
  bool (*progress)(void *context, uint64_t n_read); /**< as in cq_index_read_options */
  /** The folder was read, once or more; then, with changes, the result */
  void (*read)(void *context, const cq_index *index, const cq_index_changes *changes);
  void *context;
} cq_index_folder_watch;

/** Whether the path is a file, or a directory that is no index. */
CQ_API bool cq_index_is_folder(const char *path);

/** Makes or updates the folder's index, and writes its path to out [size]: FOLDER/.calque, or a directory in the cache
 * if the folder is read-only or a file. While another process changes it, the index stays as it is, or is waited for if there is
 * none. encoding: of the documents, or NULL. options: model (NULL: the index's, or the default), precision, compose and
 * notice. watch may be NULL. @errors Those of reading, adding and opening; CQ_ERR_IO. */
CQ_API CQ_MUST_USE cq_status cq_index_folder(char *out, size_t size, const char *folder, const char *encoding,
                                             const cq_index_options *options, const cq_index_folder_watch *watch,
                                             cq_context *ctx, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
