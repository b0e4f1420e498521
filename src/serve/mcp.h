/* The Model Context Protocol over two streams, for assistants that start calque as a program: JSON-RPC 2.0, a message
 * a line. `in` is read until its end, or until nobody reads `out` any more. */
#ifndef SERVE_MCP_H
#define SERVE_MCP_H

#include "serve/served_model.h"

typedef struct serve_mcp_options {
  serve_model_options model; /* its index is NULL for a folder */
  const char *folder;        /* is indexed, and followed: each call sees the folder's files; NULL: none */
  const char *encoding;      /* of its files, or NULL */
  size_t max_line, max_tokens;
  int in, out;
} serve_mcp_options;

/* Errors: those of opening the model and the index. A folder's are those of each call. */
CQ_MUST_USE cq_status serve_mcp(const serve_mcp_options *options, cq_context *ctx, cq_error *error);

#endif
