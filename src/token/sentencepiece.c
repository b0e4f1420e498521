#include "base/error.h"
#include "token/internal.h"
cq_status cq_open_sentencepiece(cq_tokenizer *t, const char *directory, const char *path, const json_t *config,
                                cq_error *error) {
  (void)t;
  (void)directory;
  (void)config;
  return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "SentencePiece models are not supported yet");
}
