/* Code shared by the index commands. */
#ifndef CLI_INDEX_INDEX_COMMAND_H
#define CLI_INDEX_INDEX_COMMAND_H

#include "cli/frame/command.h"

extern const cli_command cli_index_add, cli_index_copy, cli_index_hubness;

/* Adds a reader's documents, commits, and reports the changes. */
int cli_index_read(cq_index *index, cq_documents *in, const cq_index_read_options *options, cq_context *ctx);

/* A folder may be given instead of an index; its index is in FOLDER/.calque, or in the cache if it is read-only. */
bool cli_is_document_folder(const char *path);
/* Makes or updates that index and writes its path to out. model NULL: the index's, or the default. */
int cli_index_folder(char *out, size_t size, const char *folder, const char *model, cq_precision precision,
                     bool compose, cq_context *ctx);

#define CLI_INDEX_MODEL(owner)                                                                                         \
  {                                                                                                                    \
    CQ_TEXT(owner, "model", model, CHANGES, "MODEL", "where the index's model is now"),                                \
        .letter = 'm', .otherwise = "the name the index was made with"                                                 \
  }

#endif
