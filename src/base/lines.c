/* Data flow:
 *
 *   source -- read --> text [begin, end) -- memchr --> a line
 *   source -- read --> raw -- decode --> text          if the first bytes are UTF-16's
 *
 * `text` grows until it holds a whole line. Lines read before an error are still returned, so that the number of
 * lines from a broken file does not depend on buffer sizes. */
#include "calque/lines.h"

#include "base/byte_source.h"
#include "base/error.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "base/wide.h"

#include <string.h>

#define TEXT_BYTES CQ_BUFFER_BYTES(256 * 1024)
#define MAX_LINE   ((size_t)16 * 1024 * 1024)

struct cq_lines {
  cq_byte_source source;
  char *text;
  size_t begin, scanned, end, capacity; /* [begin, end) is unread, [begin, scanned) holds no newline */
  char ending;                          /* '\n', or '\r' in a file that has no newline (old Macs) */
  bool text_over;                       /* no more text will come: the file ended or failed */
  cq_error failure;                     /* the reason, reported after the lines before it; status CQ_OK: end of file */
  bool broken;
  bool is_known;        /* whether the text is UTF-8 */
  const char *encoding; /* NULL: UTF-8 */
  char *raw;            /* [raw_begin, raw_end): bytes that are not decoded yet */
  size_t raw_begin, raw_end, raw_capacity;
  bool raw_over;
  bool is_inside; /* the first line is not the file's */
  uint64_t number;
};

cq_status cq_lines_of(cq_lines **out, const cq_byte_source *source, cq_error *error) {
  cq_lines *l = cq_alloc_zeroed(sizeof *l);
  char *text = cq_alloc(TEXT_BYTES);
  *out = NULL;
  if (!l || !text) {
    const cq_status status = cq_fail_memory(error, source->path);
    source->close(source->context);
    cq_free(text);
    cq_free(l);
    return status;
  }
  *l = (cq_lines){.source = *source, .text = text, .capacity = TEXT_BYTES, .ending = '\n'};
  *out = l;
  return CQ_OK;
}

cq_status cq_lines_open(cq_lines **out, const char *path, cq_error *error) {
  cq_input *in;
  *out = NULL;
  const cq_status status = cq_input_open(&in, path, error);
  if (status) return status;
  const cq_byte_source source = cq_input_source(in);
  return cq_lines_of(out, &source, error);
}

void cq_lines_begin_inside(cq_lines *l, uint64_t lines_before) {
  l->is_inside = l->is_known = true;
  l->number = lines_before;
}

void cq_lines_close(cq_lines *l) {
  if (!l) return;
  l->source.close(l->source.context);
  cq_free(l->text);
  cq_free(l->raw);
  cq_free(l);
}

/* --- text --- */

/* Adds bytes of the source. A failure is kept for later: see the top of the file. */
static void read_bytes(bool *over, cq_lines *l, char *bytes, size_t *n, size_t capacity) {
  size_t got = 0;
  const cq_status status = l->source.read(&got, l->source.context, bytes + *n, capacity - *n, &l->failure);
  *n += got;
  if (status || got == 0) *over = true;
}

/* Adds text of another encoding as UTF-8; what is no character becomes a byte that is none. */
static void decode_bytes(cq_lines *l) {
  uint32_t code;
  if (l->raw_end - l->raw_begin < 4 && !l->raw_over) { /* perhaps half a character */
    memmove(l->raw, l->raw + l->raw_begin, l->raw_end - l->raw_begin);
    l->raw_end -= l->raw_begin, l->raw_begin = 0;
    read_bytes(&l->raw_over, l, l->raw, &l->raw_end, l->raw_capacity);
  }
  for (size_t n = 1; n && l->capacity - l->end >= 4; l->raw_begin += n) {
    const cq_slice rest = {l->raw + l->raw_begin, l->raw_end - l->raw_begin};
    n = cq_wide_decode(&code, rest, l->encoding, l->raw_over);
    if (n && code == CQ_WIDE_BAD)
      l->text[l->end++] = '\xFF';
    else if (n)
      l->end += cq_utf8_encode(l->text + l->end, code);
  }
  l->text_over = l->raw_over && l->raw_begin == l->raw_end;
}

/* Adds to text. */
static void fill_text(cq_lines *l) {
  if (l->begin > 0) {
    memmove(l->text, l->text + l->begin, l->end - l->begin);
    l->end -= l->begin;
    l->scanned -= l->begin;
    l->begin = 0;
  }
  if (l->capacity - l->end < 4 && !cq_reserve((void **)&l->text, &l->capacity, l->end + 4, 1))
    (void)cq_fail_memory(&l->failure, cq_lines_path(l)), l->text_over = true;
  else if (l->encoding)
    decode_bytes(l);
  else
    read_bytes(&l->text_over, l, l->text, &l->end, l->capacity);
}

/* Looks at the first bytes. UTF-8 has no NUL there and no mark of UTF-16: only where one is found, more bytes than those
 * of the first line are waited for. */
static void recognize_encoding(cq_lines *l) {
  const cq_slice first = {l->text, cq_min(l->end, (size_t)CQ_WIDE_LOOKED_AT)};
  const bool may_be_wide = first.n && ((unsigned char)*first.data >= 0xFE || memchr(first.data, '\0', first.n));
  if (may_be_wide && first.n < CQ_WIDE_LOOKED_AT && !l->text_over) {
    fill_text(l);
    return;
  }
  l->is_known = true;
  l->encoding = may_be_wide ? cq_encoding_marked(first) : NULL;
  if (!l->encoding) return;
  l->raw = l->text, l->raw_end = l->end, l->raw_capacity = l->capacity, l->raw_over = l->text_over;
  l->text = cq_alloc(TEXT_BYTES);
  l->end = l->scanned = 0, l->capacity = l->text ? TEXT_BYTES : 0, l->text_over = !l->text;
  if (!l->text) (void)cq_fail_memory(&l->failure, cq_lines_path(l));
}

static cq_status give_up(cq_lines *l, cq_error *error) {
  l->broken = true;
  l->text_over = true;
  l->begin = l->scanned = l->end; /* the next call gives the same result */
  if (error) *error = l->failure;
  return l->failure.status;
}

static cq_status fail_too_long(cq_lines *l, cq_error *error) {
  cq_fail_line(&l->failure, CQ_ERR_FORMAT, cq_lines_path(l), l->number, "the line is longer than 16 MiB");
  return give_up(l, error);
}

static cq_status check_line(const cq_lines *l, cq_slice line, cq_error *error) {
  size_t bad = cq_utf8_invalid_at(line.data, line.n);
  if (bad < line.n && l->encoding)
    return cq_fail_line(error, CQ_ERR_FORMAT, cq_lines_path(l), l->number, "not %s (half a character, or none)",
                        l->encoding);
  if (bad < line.n)
    return cq_fail_line(error, CQ_ERR_FORMAT, cq_lines_path(l), l->number,
                        "not UTF-8 (byte 0x%02x at position %zu of the line)", (unsigned char)line.data[bad], bad + 1);
  const char *nul = line.n ? memchr(line.data, '\0', line.n) : NULL;
  if (nul)
    return cq_fail_line(error, CQ_ERR_FORMAT, cq_lines_path(l), l->number, "a NUL byte at position %zu of the line",
                        (size_t)(nul - line.data) + 1);
  return CQ_OK;
}

/* Whether a file without a newline has a return before its end. */
static bool has_return_inside(const cq_lines *l) {
  const size_t n = l->end - l->begin;
  return l->number == 0 && !l->is_inside && !l->failure.status && n > 1 && memchr(l->text + l->begin, '\r', n - 1);
}

cq_status cq_lines_next(cq_slice *out, cq_lines *l, cq_error *error) {
  *out = (cq_slice){0};
  const char *newline;
  for (;;) {
    newline = l->scanned < l->end ? memchr(l->text + l->scanned, l->ending, l->end - l->scanned) : NULL;
    size_t n = newline ? (size_t)(newline - l->text) - l->begin : l->end - l->begin;
    if (!l->is_known && (newline || l->text_over || l->end >= CQ_WIDE_LOOKED_AT)) {
      recognize_encoding(l);
      continue;
    }
    if (n > MAX_LINE + 4) { /* a byte-order mark at the start and a carriage return do not count */
      l->number++;
      return fail_too_long(l, error);
    }
    if (newline) break;
    l->scanned = l->end;
    if (!l->text_over) {
      fill_text(l);
    } else if (l->ending == '\n' && has_return_inside(l)) {
      l->ending = '\r';
      l->scanned = l->begin;
    } else {
      break;
    }
  }
  if (!newline) {
    if (l->failure.status) return give_up(l, error);
    if (l->begin == l->end) return CQ_OK;
  }
  cq_slice line = {l->text + l->begin, (size_t)((newline ? newline : l->text + l->end) - l->text) - l->begin};
  l->begin = l->scanned = newline ? l->begin + line.n + 1 : l->end;
  if (l->number == 0 && !l->is_inside && line.n >= 3 && !memcmp(line.data, "\xEF\xBB\xBF", 3)) {
    line.data += 3;
    line.n -= 3;
    if (line.n == 0 && !newline) return CQ_OK; /* a mark and nothing else: an empty file */
  }
  l->number++;
  if (line.n && line.data[line.n - 1] == '\r') line.n--;
  if (line.n > MAX_LINE) return fail_too_long(l, error);
  cq_status status = check_line(l, line, error);
  if (!status) *out = line;
  return status;
}

bool cq_lines_ready(const cq_lines *l) {
  return l->text_over || (l->scanned < l->end && memchr(l->text + l->scanned, l->ending, l->end - l->scanned));
}

uint64_t cq_lines_number(const cq_lines *l) {
  return l->number;
}

const char *cq_lines_path(const cq_lines *l) {
  return l->source.path;
}

bool cq_lines_broken(const cq_lines *l) {
  return l->broken;
}
