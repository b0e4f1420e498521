#include "support/sentencepiece.h"

#include <exception>
#include <sentencepiece_processor.h>
#include <vector>

extern "C" long sentencepiece_encode(int32_t *ids, size_t capacity, const char *model, size_t n_bytes, const char *text,
                                     size_t n) {
  try {
    sentencepiece::SentencePieceProcessor processor;
    std::vector<int> out;
    if (!processor.LoadFromSerializedProto(absl::string_view(model, n_bytes)).ok()) return -1;
    if (!processor.Encode(absl::string_view(text, n), &out).ok()) return -1;
    for (size_t i = 0; i < out.size() && i < capacity; i++) ids[i] = out[i];
    return static_cast<long>(out.size());
  } catch (const std::exception &) {
    return -1;
  }
}
