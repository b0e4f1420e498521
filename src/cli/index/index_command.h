/* Code shared by the index commands. */
#ifndef CLI_INDEX_INDEX_COMMAND_H
#define CLI_INDEX_INDEX_COMMAND_H

#include "cli/frame/command.h"

extern const cli_command cli_index_add, cli_index_copy, cli_index_hubness;

typedef struct cli_index_changes {
  cq_index_read_result read;
  size_t n_before, n_passages_before; /* documents and passages of the index */
} cli_index_changes;
/* Adds a reader's documents and commits; draws the progress. Without any change there is no commit, so the index may be
 * open for reading only. */
CQ_MUST_USE cq_status cli_index_read(cli_index_changes *out, cq_index *index, cq_documents *in,
                                     const cq_index_read_options *options, cq_context *ctx, cq_error *error);
void cli_index_note(const cq_index *index, const cli_index_changes *changes);

/* A folder may be given instead of an index; its index is in FOLDER/.calque, or in the cache if it is read-only. */
bool cli_is_document_folder(const char *path);
/* Makes or updates that index and writes its path to out. While another process changes it, the index stays as it is, or
 * is waited for if there is none. options: model (NULL: the index's, or the default), precision and compose. encoding:
 * of the documents, or NULL. */
int cli_index_folder(char *out, size_t size, const char *folder, const cq_index_options *options, const char *encoding,
                     cq_context *ctx);

#define CLI_FOLDER_ENCODING(owner)                                                                                     \
  {                                                                                                                    \
    CQ_TEXT(owner, "encoding", encoding, CHANGES, "NAME",                                                              \
            "encoding of the FOLDER's files, unless they have a byte order mark or declare another: windows-1252"),    \
        .otherwise = "UTF-8, or as an HTML file declares"                                                              \
  }
#define CLI_ENCODING_NEEDS_FOLDER "--encoding is for a FOLDER: 'calque index add' has it for an INDEX"

#define CLI_INDEX_MODEL(owner)                                                                                         \
  {                                                                                                                    \
    CQ_TEXT(owner, "model", model, CHANGES, "MODEL", "where the index's model is now"),                                \
        .letter = 'm', .otherwise = "the name the index was made with"                                                 \
  }

#endif
