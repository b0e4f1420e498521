/* Any bytes as the files of an autoencoder's directory (directory.h), whose languages have encoder and decoder in
 * common, are an error with a message, or an autoencoder that translates a sentence. */
#include "directory.h"

#include "calque/encoder.h"
#include "calque/lab/autoencode.h"

#include <string.h>

static const char *const names[] = {"autoencoder.json",
                                    "encoder-a/modules.json",
                                    "encoder-a/wordembedding_config.json",
                                    "encoder-a/tokenizer_config.json",
                                    "encoder-a/vocab.txt",
                                    "encoder-a/model.safetensors",
                                    "encoder-a/config.json",
                                    "decoder-a/decoder_config.json",
                                    "decoder-a/tokenizer_config.json",
                                    "decoder-a/vocab.txt",
                                    "decoder-a/model.safetensors"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static const char sentence[] = "a b c";
  cq_autoencoder *a = NULL;
  cq_error error = {0};
  fuzz_directory(data, n, names, sizeof names / sizeof *names);
  cq_status status = cq_autoencoder_open(&a, fuzz_path(""), &error);
  if (status) {
    CHECK(!a && error.message[0]);
    CHECK(status == CQ_ERR_FORMAT || status == CQ_ERR_UNSUPPORTED || status == CQ_ERR_LIMIT || status == CQ_ERR_IO);
    return 0;
  }
  CHECK(cq_autoencoder_count(a) >= 2);
  cq_translate_options o = cq_translate_default_options();
  o.max_tokens = 4;
  const cq_slice text = {sentence, strlen(sentence)};
  const char *from = cq_autoencoder_language(a, 0), *to = cq_autoencoder_language(a, 1);
  for (o.beam = 1; o.beam < 4; o.beam += 2) {
    char *translation = NULL;
    status = cq_autoencoder_translate(&translation, NULL, a, from, to, &text, 1, &o, NULL, &error);
    CHECK(status ? error.message[0] && !translation : translation != NULL);
    cq_free(translation);
  }
  cq_autoencoder_free(a);
  return 0;
}
