/* Any bytes as the files of a model's directory (directory.h) are an error with a message, or an encoder that turns a
 * sentence into numbers. */
#include "directory.h"

#include "calque/encoder.h"

#include <string.h>

static const char *const names[] = {"modules.json",
                                    "config.json",
                                    "sentence_bert_config.json",
                                    "config_sentence_transformers.json",
                                    "tokenizer.json",
                                    "tokenizer_config.json",
                                    "special_tokens_map.json",
                                    "added_tokens.json",
                                    "vocab.txt",
                                    "wordembedding_config.json",
                                    "whitespacetokenizer_config.json",
                                    "model.safetensors",
                                    "1_Pooling/config.json",
                                    "1_LSTM/lstm_config.json",
                                    "1_LSTM/model.safetensors",
                                    "2_Dense/config.json",
                                    "2_Dense/model.safetensors"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static const char sentence[] = "a B\xC3\xA9 [MASK] bc";
  cq_encoder *encoder = NULL;
  cq_error error = {0};
  fuzz_directory(data, n, names, sizeof names / sizeof *names);
  cq_status status = cq_encoder_open(&encoder, fuzz_path(""), NULL, &error);
  if (status) {
    CHECK(!encoder && error.message[0]);
    CHECK(status == CQ_ERR_FORMAT || status == CQ_ERR_UNSUPPORTED || status == CQ_ERR_LIMIT || status == CQ_ERR_IO);
    return 0;
  }
  const int dim = cq_encoder_dim(encoder);
  cq_encode_stats stats = {0};
  char *description, fingerprint[33];
  CHECK(dim > 0 && cq_encoder_max_seq_length(encoder) >= 0 && cq_encoder_n_parameters(encoder) >= 0);
  CHECK(cq_encoder_describe(&description, encoder, &error) == CQ_OK && description[0] == '{');
  CHECK(cq_encoder_fingerprint(fingerprint, encoder, &error) == CQ_OK && strlen(fingerprint) == 32);
  float *vector = malloc((size_t)dim * sizeof *vector);
  CHECK(vector);
  const cq_slice text = {sentence, strlen(sentence)};
  status = cq_encoder_encode(vector, &stats, encoder, &text, 1, NULL, NULL, &error);
  CHECK(!status ? stats.n_sentences == 1 : error.message[0] != '\0');
  free(vector);
  cq_free(description);
  cq_encoder_free(encoder);
  return 0;
}
