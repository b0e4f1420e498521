/* Text of other encodings to UTF-8, by ICU's converters. See encoding.h. */
#include "text/encoding.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unicode/ucnv.h>
#include <unicode/ucsdet.h>

enum { RAW = CQ_BUFFER_BYTES(16 * 1024), PIVOT = 1024, SETUP_BYTES = 1 << 20 };

typedef struct decoder {
  cq_input *in;
  UConverter *from, *to;
  uint64_t n_read; /* bytes of the file, those in raw included */
  bool over;
  UErrorCode failure; /* reported once the text before it has been returned */
  UChar pivot[PIVOT], *pivot_begin, *pivot_end;
  const char *begin, *end; /* unread, in raw */
  char raw[RAW];
} decoder;

static UConverter *open_converter(const char *encoding) {
  UErrorCode code = U_ZERO_ERROR;
  if (!cq_has_room(SETUP_BYTES)) return NULL; /* ICU may not survive failed allocations while it reads its tables */
  UConverter *c = ucnv_open(encoding, &code);
  if (c) ucnv_setToUCallBack(c, UCNV_TO_U_CALLBACK_STOP, NULL, NULL, NULL, &code);
  if (U_SUCCESS(code)) return c;
  ucnv_close(c);
  return NULL;
}

bool cq_encoding_is_known(const char *encoding) {
  UErrorCode code = U_ZERO_ERROR;
  if (!cq_has_room(SETUP_BYTES)) return true; /* who opens it will say so */
  ucnv_close(ucnv_open(encoding, &code));     /* names have aliases and options: only this tells */
  return *encoding && code != U_FILE_ACCESS_ERROR && code != U_ILLEGAL_ARGUMENT_ERROR;
}

/* How many values every other byte has. In UTF-16, high bytes have fewer than low ones. */
static int n_values(cq_slice bytes, size_t first) {
  bool is_there[256] = {false};
  int n = 0;
  for (size_t i = first; i < bytes.n; i += 2) is_there[(unsigned char)bytes.data[i]] = true;
  for (int i = 0; i < 256; i++) n += is_there[i];
  return n;
}

bool cq_encoding_guess(char name[CQ_ENCODING_NAME], cq_slice bytes) {
  UErrorCode code = U_ZERO_ERROR;
  name[0] = 0;
  if (!cq_has_room(SETUP_BYTES)) return false;
  UCharsetDetector *detector = ucsdet_open(&code);
  ucsdet_setText(detector, bytes.data, (int32_t)cq_min(bytes.n, (size_t)1 << 20), &code);
  const UCharsetMatch *match = U_SUCCESS(code) ? ucsdet_detect(detector, &code) : NULL;
  const char *best = match ? ucsdet_getName(match, &code) : NULL;
  if (best && U_SUCCESS(code) && strlen(best) < CQ_ENCODING_NAME) memcpy(name, best, strlen(best) + 1);
  if (!strncmp(name, "UTF-16", 6))
    snprintf(name, CQ_ENCODING_NAME, "UTF-16%s", n_values(bytes, 1) < n_values(bytes, 0) ? "LE" : "BE");
  ucsdet_close(detector);
  return name[0] != 0;
}

bool cq_encoding_declared(char name[CQ_ENCODING_NAME], cq_slice bytes) {
  const cq_slice head = {bytes.data, cq_min(bytes.n, (size_t)CQ_WIDE_LOOKED_AT)};
  name[0] = 0;
  for (size_t i = 0; i + 9 < head.n; i++) {
    const bool is_charset = !strncasecmp(head.data + i, "charset", 7);
    if (!is_charset && strncasecmp(head.data + i, "encoding", 8) != 0) continue;
    size_t at = i + (is_charset ? 7 : 8), n = 0;
    while (at < head.n && head.data[at] && strchr(" =\"'", head.data[at])) at++;
    while (at + n < head.n && head.data[at + n] && !strchr(" \"'>;/?", head.data[at + n])) n++;
    if (n == 0 || n >= CQ_ENCODING_NAME) continue;
    memcpy(name, head.data + at, n), name[n] = 0;
    break;
  }
  if (!strncasecmp(name, "utf-16", 6) || !strncasecmp(name, "utf-32", 6)) name[0] = 0;
  return name[0] != 0;
}

cq_status cq_decode_all(cq_builder *out, cq_slice bytes, const char *encoding, cq_error *error) {
  UErrorCode code = U_ZERO_ERROR;
  UConverter *from = cq_has_room(SETUP_BYTES) ? ucnv_open(encoding, &code) : NULL, *to = ucnv_open("UTF-8", &code);
  UChar pivot[1024], *begin = pivot, *end = pivot;
  const char *in = bytes.n ? bytes.data : "", *last = in + bytes.n;
  bool more = from && to && U_SUCCESS(code);
  cq_status status = more ? CQ_OK : cq_fail_memory(error, "an encoding");
  while (more) {
    char buffer[4096], *at = buffer;
    code = U_ZERO_ERROR;
    ucnv_convertEx(to, from, &at, buffer + sizeof buffer, &in, last, pivot, &begin, &end,
                   pivot + sizeof pivot / sizeof *pivot, false, true, &code);
    cq_builder_bytes(out, buffer, (size_t)(at - buffer));
    more = code == U_BUFFER_OVERFLOW_ERROR && !out->failed;
  }
  if (!status && (out->failed || U_FAILURE(code))) status = cq_fail_memory(error, "an encoding");
  ucnv_close(from);
  ucnv_close(to);
  return status;
}

static void close_decoder(void *context) {
  decoder *d = context;
  ucnv_close(d->from);
  ucnv_close(d->to);
  cq_input_close(d->in);
  cq_free(d);
}

static cq_status fail_decoding(const decoder *d, cq_error *error) {
  UErrorCode ignored = U_ZERO_ERROR;
  char bad[16];
  int8_t n = sizeof bad;
  if (d->failure == U_MEMORY_ALLOCATION_ERROR) return cq_fail_memory(error, cq_input_path(d->in));
  ucnv_getInvalidChars(d->from, bad, &n, &ignored);
  const uint64_t at = d->n_read - (uint64_t)(d->end - d->begin) - (uint64_t)(U_SUCCESS(ignored) ? n : 0);
  const char *name = ucnv_getName(d->from, &ignored);
  return cq_fail_byte(error, CQ_ERR_FORMAT, cq_input_path(d->in), at, "not %s", name ? name : "of the encoding");
}

static cq_status read_decoded(size_t *got, void *context, void *bytes, size_t n, cq_error *error) {
  decoder *d = context;
  char *out = bytes;
  *got = 0;
  while (out == bytes && !d->over) {
    size_t n_raw = 0;
    if (d->begin == d->end) {
      const cq_status status = cq_input_read(&n_raw, d->in, d->raw, sizeof d->raw, error);
      if (status) return status;
      d->begin = d->raw, d->end = d->raw + n_raw;
      d->n_read += n_raw;
    }
    const bool is_last = d->begin == d->end;
    UErrorCode code = U_ZERO_ERROR;
    ucnv_convertEx(d->to, d->from, &out, (char *)bytes + n, &d->begin, d->end, d->pivot, &d->pivot_begin, &d->pivot_end,
                   d->pivot + sizeof d->pivot / sizeof *d->pivot, false, is_last, &code);
    d->over = is_last && code != U_BUFFER_OVERFLOW_ERROR;
    if (U_FAILURE(code) && code != U_BUFFER_OVERFLOW_ERROR) d->failure = code, d->over = true;
  }
  if (U_FAILURE(d->failure) && d->pivot_begin < d->pivot_end) { /* what came before it */
    UErrorCode code = U_ZERO_ERROR;
    ucnv_fromUnicode(d->to, &out, (char *)bytes + n, (const UChar **)&d->pivot_begin, d->pivot_end, NULL, true, &code);
  }
  *got = (size_t)(out - (char *)bytes);
  return *got == 0 && U_FAILURE(d->failure) ? fail_decoding(d, error) : CQ_OK;
}

static cq_status decoded_source(cq_byte_source *out, cq_input *input, const char *encoding, cq_error *error) {
  decoder *d = cq_alloc_zeroed(sizeof *d);
  *out = (cq_byte_source){0};
  if (!d) {
    cq_input_close(input);
    return cq_fail_memory(error, "an encoding");
  }
  d->in = input;
  d->from = open_converter(encoding), d->to = open_converter("UTF-8");
  d->pivot_begin = d->pivot_end = d->pivot;
  if (!d->from || !d->to) {
    close_decoder(d);
    return cq_fail_memory(error, "an encoding");
  }
  *out = (cq_byte_source){read_decoded, close_decoder, cq_input_path(input), d};
  return CQ_OK;
}

cq_status cq_text_source(cq_byte_source *out, cq_input *input, const char *encoding, cq_error *error) {
  cq_slice bytes;
  const cq_status status = cq_input_peek(&bytes, input, error);
  if (status) {
    cq_input_close(input);
    return status;
  }
  const char *marked = cq_encoding_marked(bytes);
  if (bytes.n >= 3 && !memcmp(bytes.data, "\xEF\xBB\xBF", 3)) encoding = NULL;
  if (marked || encoding) return decoded_source(out, input, marked ? marked : encoding, error);
  *out = cq_input_source(input);
  return CQ_OK;
}
