/* The functions of token/mecab_plugin.h, by MeCab. Exceptions become messages, since the caller is written in C. */
#include "token/mecab_plugin.h"

#include "base/guarded.h"

#include <mecab.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <strings.h>
#include <vector>

namespace {

struct Dictionary {
  std::unique_ptr<MeCab::Model> model;
  std::unique_ptr<MeCab::Tagger> tagger;
};

void check_charset(const MeCab::DictionaryInfo *info) {
  for (; info != nullptr; info = info->next) {
    const std::string charset = info->charset != nullptr ? info->charset : "";
    if (strcasecmp(charset.c_str(), "utf-8") != 0 && strcasecmp(charset.c_str(), "utf8") != 0)
      throw std::runtime_error("the dictionary is in " + charset + ", expected UTF-8");
  }
}

int open(void **out, unsigned *n_contexts, const char *const *options, int n_options, char *message,
         size_t message_size) {
  return cq_guarded(message, message_size, [&] {
    std::vector<std::string> texts{"calque"};
    texts.insert(texts.end(), options, options + n_options);
    std::vector<char *> arguments;
    arguments.reserve(texts.size());
    for (std::string &text : texts) arguments.push_back(text.data());
    auto dictionary = std::make_unique<Dictionary>();
    dictionary->model.reset(MeCab::createModel(static_cast<int>(arguments.size()), arguments.data()));
    if (dictionary->model == nullptr) throw std::runtime_error(MeCab::getLastError());
    dictionary->tagger.reset(dictionary->model->createTagger());
    const MeCab::DictionaryInfo *info = dictionary->model->dictionary_info();
    if (dictionary->tagger == nullptr || info == nullptr) throw std::runtime_error(MeCab::getLastError());
    check_charset(info);
    *n_contexts = info->lsize;
    *out = dictionary.release();
  });
}

int split(const void *opened, const char *text, size_t n, bool (*put)(void *context, size_t start, size_t end),
          void *context, char *message, size_t message_size) {
  const auto *dictionary = static_cast<const Dictionary *>(opened);
  return cq_guarded(message, message_size, [&] {
    const std::unique_ptr<MeCab::Lattice> lattice(dictionary->model->createLattice());
    if (lattice == nullptr) throw std::runtime_error(MeCab::getLastError());
    lattice->set_sentence(text, n);
    if (!dictionary->tagger->parse(lattice.get())) throw std::runtime_error(lattice->what());
    for (const MeCab::Node *node = lattice->bos_node()->next; node->stat != MECAB_EOS_NODE; node = node->next) {
      const auto start = static_cast<size_t>(node->surface - lattice->sentence());
      if (!put(context, start, start + node->length)) return;
    }
  });
}

void release(void *dictionary) {
  delete static_cast<Dictionary *>(dictionary);
}

} // namespace

extern "C" __attribute__((visibility("default")))
const cq_mecab_plugin cq_mecab_plugin_table = {CQ_MECAB_PLUGIN_VERSION, open, split, release};
