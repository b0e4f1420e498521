#include "token/large_json.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <simdjson.h>
#include <string>
#include <string_view>

namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::element_type;
using simdjson::dom::object;

/* Thrown for documents that are left to Jansson. Out of memory is std::bad_alloc. */
struct not_for_us {};

void require(bool holds) {
  if (!holds) throw not_for_us();
}

void check(cq_status status) {
  if (status == CQ_ERR_MEMORY) throw std::bad_alloc();
  require(status == CQ_OK);
}

struct release {
  void operator()(json_t *json) const { json_decref(json); }
};
using owned = std::unique_ptr<json_t, release>;

owned made(json_t *json) {
  if (!json) throw std::bad_alloc();
  return owned(json);
}

void set(const owned &to, std::string_view key, owned value) {
  const std::string text(key);
  require(text.find('\0') == std::string::npos);
  if (json_object_set_new(to.get(), text.c_str(), value.release())) throw std::bad_alloc();
}

owned to_jansson(element value) {
  switch (value.type()) {
  case element_type::ARRAY: {
    owned list = made(json_array());
    for (element item : array(value))
      if (json_array_append_new(list.get(), to_jansson(item).release())) throw std::bad_alloc();
    return list;
  }
  case element_type::OBJECT: {
    owned to = made(json_object());
    for (auto field : object(value)) set(to, field.key, to_jansson(field.value));
    return to;
  }
  case element_type::INT64: return made(json_integer(int64_t(value)));
  case element_type::DOUBLE: return made(json_real(double(value)));
  case element_type::STRING: {
    const auto text = std::string_view(value);
    return made(json_stringn(text.data(), text.size()));
  }
  case element_type::BOOL: return made(json_boolean(bool(value)));
  case element_type::NULL_VALUE: return made(json_null());
  default: /* an integer of 64 bits */ throw not_for_us();
  }
}

/* [["piece", score], ...] */
void read_scored(array pieces, const cq_vocab_sink *sink) {
  int64_t id = 0;
  require(pieces.size() > 0);
  check(sink->begin(sink->context, pieces.size(), true));
  for (element entry : pieces) {
    array pair;
    std::string_view text;
    double score = 0;
    require(!entry.get(pair) && pair.size() == 2 && !pair.at(0).get(text) && !pair.at(1).get(score));
    check(sink->piece(sink->context, text.data(), text.size(), id++, score));
  }
}

/* {"piece": id, ...} */
void read_numbered(object pieces, const cq_vocab_sink *sink) {
  require(pieces.size() > 0);
  check(sink->begin(sink->context, pieces.size(), false));
  for (auto field : pieces) {
    int64_t id;
    require(!field.value.get(id));
    check(sink->piece(sink->context, field.key.data(), field.key.size(), id, 0));
  }
}

owned read_model(object model, const cq_vocab_sink *sink) {
  owned rest = made(json_object());
  bool is_read = false, is_scored = false;
  for (auto field : model) {
    if (field.key != "vocab") {
      set(rest, field.key, to_jansson(field.value));
      continue;
    }
    require(!is_read && (field.value.is_array() || field.value.is_object()));
    is_read = true, is_scored = field.value.is_array();
    if (is_scored)
      read_scored(array(field.value), sink);
    else
      read_numbered(object(field.value), sink);
  }
  const char *type = json_string_value(json_object_get(rest.get(), "type"));
  require(is_read && type && (std::strcmp(type, "Unigram") == 0) == is_scored);
  return rest;
}

owned read_document(object document, const cq_vocab_sink *sink) {
  owned rest = made(json_object());
  bool has_model = false;
  for (auto field : document) {
    if (field.key != "model") {
      set(rest, field.key, to_jansson(field.value));
      continue;
    }
    require(!has_model && field.value.is_object());
    has_model = true;
    set(rest, field.key, read_model(object(field.value), sink));
  }
  require(has_model);
  return rest;
}

std::atomic<void *> spare;

void give_spare() {
  void *bytes = spare.exchange(nullptr);
  if (!bytes) throw std::bad_alloc();
  std::free(bytes);
}

/* On first use, simdjson lists its implementations, in functions that end the process when an allocation fails. Then it
 * gets spare memory. */
void list_implementations() {
  constexpr size_t enough = 1 << 16;
  static std::once_flag once;
  std::call_once(once, [] {
    if (!(spare = std::malloc(enough))) throw std::bad_alloc();
    const std::new_handler kept = std::set_new_handler(give_spare);
    (void)simdjson::get_active_implementation()->name();
    std::set_new_handler(kept);
    std::free(spare.exchange(nullptr));
  });
}

/* Half of a surrogate pair is an error for one reader and three bytes for the other. */
bool has_surrogates(std::string_view text) {
  for (size_t at = 0; (at = text.find("\\u", at)) != text.npos; at++)
    if (at + 2 < text.size() && (text[at + 2] == 'd' || text[at + 2] == 'D')) return true;
  return false;
}

} // namespace

extern "C" cq_status cq_large_json_read(json_t **rest, const char *text, size_t n, const cq_vocab_sink *sink) {
  *rest = nullptr;
  try {
    list_implementations();
    simdjson::dom::parser parser;
    object document;
    require(!has_surrogates({text, n}) && !parser.parse(text, n).get(document));
    *rest = read_document(document, sink).release();
    return CQ_OK;
  } catch (const std::bad_alloc &) {
    return CQ_ERR_MEMORY;
  } catch (const not_for_us &) {
    return CQ_ERR_FORMAT;
  }
}
