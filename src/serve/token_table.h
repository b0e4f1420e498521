/* Token ids of OpenAI's models, which some clients send instead of texts (LangChain): what the server takes them for, and
 * the table that turns them into text. A table is a file in tiktoken's format: the bytes of a token in base64, a blank,
 * and its id on each line, in the order of ids.
 *
 *   IQ== 0
 *   Ig== 1 */
#ifndef SERVE_TOKEN_TABLE_H
#define SERVE_TOKEN_TABLE_H

#include "base/slice.h"
#include "calque/status.h"

/* In the order of serve_token_kinds. */
typedef enum serve_token_kind {
  SERVE_TOKENS_REFUSED,
  SERVE_TOKENS_CL100K,
  SERVE_TOKENS_O200K,
  SERVE_TOKENS_OWN
} serve_token_kind;
extern const char *const serve_token_kinds[]; /* NULL-terminated */
/* Tokens of such a table, special ones not counted; 0: no table. */
size_t serve_token_table_size(serve_token_kind kind);

typedef struct serve_token_table {
  cq_builder bytes;
  size_t *ends; /* [n] of each token in bytes */
  size_t n;
} serve_token_table;

/* Reads a file. Errors: CQ_ERR_IO; CQ_ERR_FORMAT, with the line, and for another number of tokens than kind's;
 * CQ_ERR_LIMIT; CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status serve_token_table_open(serve_token_table *out, serve_token_kind kind, const char *path,
                                             cq_error *error);
void serve_token_table_close(serve_token_table *table);
/* The bytes of id < n. */
cq_slice serve_token_bytes(const serve_token_table *table, size_t id);

#endif
