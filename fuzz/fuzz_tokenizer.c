/* Any bytes as one of a tokenizer's files: an error that names the file, or a tokenizer whose ids all exist.
 *
 *   first byte % 5   0 tokenizer.json, 1 vocab.txt, 2 sentencepiece.bpe.model, 3 tokenizer.model,
 *                    4 vocab.json and, after the first zero byte, merges.txt */
#include "fuzz.h"

#include "base/memory.h"
#include "token/tokenizer.h"

#include <string.h>

static const char *const names[] = {"tokenizer.json",  "vocab.txt",  "sentencepiece.bpe.model",
                                    "tokenizer.model", "vocab.json", "merges.txt"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static const char *const texts[] = {"",
                                      ("the r\xC3\xADver <mask> [CLS] \xE2\x96\x81"
                                       "a  b\tc \xEF\xAC\x81 e\xCC\x81 \xF0\x9F\x98\x80 12,5"),
                                      "\xFF\xE2\x96 broken \xC0\x80"};
  if (n == 0) return 0;
  unsigned kind = data[0] % 5;
  size_t split = n;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) /* what of the last input would be read, too */
    if (i != kind) fuzz_remove(names[i]);
  if (kind == 4) {
    const uint8_t *zero = memchr(data + 1, 0, n - 1);
    if (zero) split = (size_t)(zero - data);
    fuzz_file("merges.txt", zero ? zero + 1 : data, zero ? n - split - 1 : 0);
  }
  fuzz_file(names[kind], data + 1, split - 1);
  cq_tokenizer *t = NULL;
  cq_error error = {0};
  cq_status status = cq_tokenizer_open(&t, fuzz_path(""), false, &error);
  if (status) {
    CHECK((status == CQ_ERR_FORMAT || status == CQ_ERR_UNSUPPORTED) && !t && error.message[0]);
    CHECK(strstr(error.message, kind == 4 ? "" : names[kind]));
    return 0;
  }
  const cq_tokenizer_info *info = cq_tokenizer_describe(t);
  cq_ids ids = {0};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    for (size_t max = 0; max < 8; max += 4) {
      ids.n = 0;
      status = cq_tokenizer_encode(&ids, t, NULL, (cq_slice){texts[i], strlen(texts[i])}, true, max, NULL, &error);
      CHECK(status == CQ_OK || (status == CQ_ERR_LIMIT && error.message[0])); /* a pattern without end */
      CHECK(!max || ids.n <= max);
      for (size_t k = 0; k < ids.n; k++) CHECK(ids.ids[k] >= 0 && ids.ids[k] < info->vocab_size);
    }
  }
  for (int64_t id = 0; id < info->vocab_size; id++) {
    cq_slice text;
    cq_piece_kind piece;
    if (cq_tokenizer_piece(&text, &piece, t, (int32_t)id)) CHECK(text.data); /* added tokens may leave out ids */
  }
  cq_free(ids.ids);
  cq_tokenizer_free(t);
  return 0;
}
