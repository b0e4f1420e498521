#include "token/sentencepiece_shim.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <sentencepiece_trainer.h>
#include <string>
#include <unordered_map>

namespace {

class Sentences final : public sentencepiece::SentenceIterator {
public:
  Sentences(int (*next)(void *, const char **, size_t *), void *context) : next_(next), context_(context) { Next(); }
  bool done() const override { return done_; }
  void Next() override {
    const char *text = nullptr;
    size_t n = 0;
    const int what = next_(context_, &text, &n);
    if (what < 0) throw std::bad_alloc();
    done_ = what == 0;
    if (!done_) value_.assign(text, n);
  }
  const std::string &value() const override { return value_; }
  sentencepiece::util::Status status() const override { return sentencepiece::util::Status(); }

private:
  int (*next_)(void *, const char **, size_t *);
  void *context_;
  std::string value_;
  bool done_ = false;
};

} // namespace

extern "C" int cq_sp_train(char **model, size_t *n_bytes, const char *const *keys, const char *const *values,
                           size_t n_options, int (*next)(void *, const char **, size_t *), void *context, char *message,
                           size_t message_size) {
  *model = nullptr;
  *n_bytes = 0;
  try {
    std::unordered_map<std::string, std::string> options;
    for (size_t i = 0; i < n_options; i++) options[keys[i]] = values[i];
    Sentences sentences(next, context);
    std::string bytes;
    const auto status = sentencepiece::SentencePieceTrainer::Train(options, &sentences, &bytes);
    if (!status.ok()) {
      std::snprintf(message, message_size, "%s", status.error_message());
      return 1;
    }
    *model = static_cast<char *>(std::malloc(bytes.size() ? bytes.size() : 1));
    if (*model == nullptr) throw std::bad_alloc();
    std::memcpy(*model, bytes.data(), bytes.size());
    *n_bytes = bytes.size();
    return 0;
  } catch (const std::exception &e) {
    std::snprintf(message, message_size, "%s", e.what());
    return 1;
  }
}
