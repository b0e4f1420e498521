/* The normal forms are ICU's, by its C++ interface: only that takes UTF-8 as it is. */
extern "C" {
#include "base/utf8.h"
#include "text/unicode.h"
}

#include <unicode/bytestream.h>
#include <unicode/casemap.h>
#include <unicode/normalizer2.h>
#include <unicode/stringpiece.h>

namespace {

class Sink final : public icu::ByteSink {
public:
  explicit Sink(cq_builder *out) : out_(out) {}
  void Append(const char *bytes, int32_t n) override { cq_builder_bytes(out_, bytes, static_cast<size_t>(n)); }

private:
  cq_builder *out_;
};

const icu::Normalizer2 *normalizer(cq_normal_form form, UErrorCode &code) {
  switch (form) {
  case CQ_NFC: return icu::Normalizer2::getNFCInstance(code);
  case CQ_NFD: return icu::Normalizer2::getNFDInstance(code);
  case CQ_NFKC: return icu::Normalizer2::getNFKCInstance(code);
  case CQ_NFKD: break;
  }
  return icu::Normalizer2::getNFKDInstance(code);
}

} // namespace

extern "C" void cq_text_normal_form(cq_builder *out, cq_slice text, cq_normal_form form) {
  if (cq_text_is_ascii(text)) {
    cq_builder_bytes(out, text.data, text.n);
    return;
  }
  if (cq_utf8_invalid_at(text.data, text.n) != text.n) { /* ICU would let it through */
    cq_builder mended = {};
    for (uint32_t c; cq_utf8_next(&c, &text);) cq_builder_code(&mended, c);
    if (!mended.failed) cq_text_normal_form(out, {mended.data, mended.n}, form);
    out->failed |= mended.failed;
    cq_builder_free(&mended);
    return;
  }
  UErrorCode code = U_ZERO_ERROR;
  Sink sink(out);
  const icu::Normalizer2 *n = normalizer(form, code);
  if (text.n > INT32_MAX) code = U_INDEX_OUTOFBOUNDS_ERROR;
  if (U_SUCCESS(code))
    n->normalizeUTF8(0, icu::StringPiece(text.data, static_cast<int32_t>(text.n)), sink, nullptr, code);
  if (U_FAILURE(code)) out->failed = true;
}

extern "C" bool cq_text_is_composed(cq_slice text) {
  UErrorCode code = U_ZERO_ERROR;
  if (text.n > INT32_MAX || cq_text_is_ascii(text)) return true;
  const icu::Normalizer2 *n = normalizer(CQ_NFC, code);
  return n->isNormalizedUTF8(icu::StringPiece(text.data, static_cast<int32_t>(text.n)), code) || U_FAILURE(code);
}

extern "C" bool cq_char_begins_normal_form(uint32_t c, cq_normal_form form) {
  UErrorCode code = U_ZERO_ERROR;
  const icu::Normalizer2 *n = normalizer(form, code);
  return U_SUCCESS(code) && n->hasBoundaryBefore(static_cast<UChar32>(c));
}

extern "C" void cq_text_upper(cq_builder *out, cq_slice text) {
  UErrorCode code = text.n > INT32_MAX ? U_INDEX_OUTOFBOUNDS_ERROR : U_ZERO_ERROR;
  Sink sink(out);
  if (U_SUCCESS(code))
    icu::CaseMap::utf8ToUpper("", 0, icu::StringPiece(text.data, static_cast<int32_t>(text.n)), sink, nullptr, code);
  if (U_FAILURE(code)) out->failed = true;
}
