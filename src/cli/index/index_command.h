/* Code shared by the index commands. */
#ifndef CLI_INDEX_INDEX_COMMAND_H
#define CLI_INDEX_INDEX_COMMAND_H

#include "cli/frame/command.h"

extern const cli_command cli_index_add, cli_index_copy, cli_index_hubness;

/* cq_index_folder(), with a progress line and a summary of what was changed. */
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
