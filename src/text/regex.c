/* ICU matches UTF-16: a text is converted, and the positions of its matches are converted back into bytes.
 *
 * Each search borrows a matcher and a buffer for the converted text from a list. A thread that finds the list empty
 * makes new ones from the compiled pattern, which all threads share. */
#include "text/regex.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"

#include <pthread.h>
#include <unicode/uregex.h>
#include <unicode/ustring.h>

typedef struct matcher {
  struct matcher *next;
  URegularExpression *expression;
  UChar *text;
  size_t capacity;
} matcher;

struct cq_regex {
  URegularExpression *expression; /* never searched with, only copied */
  pthread_mutex_t mutex;
  matcher *idle; /* under the mutex */
};

enum {
  ICU_SETUP_BYTES = 1 << 16, /* while ICU sets itself up, a failed allocation ends in a crash */
  KEPT_CHARS = 1 << 18,      /* of a matcher's memory */
  STACK_BYTES = 16 << 20,    /* for backtracking */
};

/* ICU's unit of time is 10,000 saved states. Patterns of real tokenizers save fewer than ten states per character. */
static int32_t time_limit(size_t n_chars) {
  const size_t units = 100 + n_chars / 50;
  return units > INT32_MAX ? INT32_MAX : (int32_t)units;
}

static void free_matcher(matcher *m) {
  if (!m) return;
  if (m->expression) uregex_close(m->expression);
  cq_free(m->text);
  cq_free(m);
}

void cq_regex_free(cq_regex *regex) {
  if (!regex) return;
  for (matcher *m = regex->idle, *next; m; m = next) {
    next = m->next;
    free_matcher(m);
  }
  if (regex->expression) uregex_close(regex->expression);
  pthread_mutex_destroy(&regex->mutex);
  cq_free(regex);
}

/* Converts text that is well-formed, or was repaired; returns the number of UTF-16 units. */
static size_t convert(UChar *out, cq_slice text) {
  size_t n = 0;
  for (size_t i = 0; i < text.n;) {
    const unsigned char byte = (unsigned char)text.data[i];
    if (byte < 0x80) {
      out[n++] = byte;
      i++;
      continue;
    }
    uint32_t c;
    i += cq_utf8_decode(&c, text.data + i, text.n - i);
    if (c >= 0x10000) out[n++] = (UChar)(0xD7C0 + (c >> 10));
    out[n++] = (UChar)(c >= 0x10000 ? 0xDC00 + (c & 0x3FF) : c);
  }
  return n;
}

/* The byte where UTF-16 unit `to` begins, given that unit `from` begins at byte i. */
static size_t byte_of(cq_slice text, size_t i, size_t from, size_t to) {
  while (from < to && i < text.n) {
    if ((unsigned char)text.data[i] < 0x80) {
      i++;
      from++;
      continue;
    }
    uint32_t c;
    i += cq_utf8_decode(&c, text.data + i, text.n - i);
    from += c >= 0x10000 ? 2 : 1;
  }
  return i;
}

static cq_status compile(cq_regex *regex, cq_slice pattern, cq_error *error) {
  cq_builder translated = {0};
  UChar *text = NULL;
  UErrorCode code = U_ZERO_ERROR;
  UParseError place = {0};
  cq_status status = cq_regex_translate(&translated, pattern, error);
  if (status) goto done;
  text = cq_alloc_array(translated.n + 1, sizeof *text);
  if (!text || !cq_has_room(ICU_SETUP_BYTES + 64 * translated.n)) {
    status = cq_fail_memory(error, "a regular expression");
    goto done;
  }
  const size_t n = convert(text, (cq_slice){translated.data ? translated.data : "", translated.n});
  regex->expression = uregex_open(text, (int32_t)n, UREGEX_MULTILINE | UREGEX_UNIX_LINES, &place, &code);
  if (U_SUCCESS(code)) goto done;
  status = code == U_MEMORY_ALLOCATION_ERROR
               ? cq_fail_memory(error, "a regular expression")
               : cq_fail(error, CQ_ERR_UNSUPPORTED, "%s at character %d of '%s', the pattern as translated for ICU",
                         u_errorName(code), (int)place.offset, translated.n ? translated.data : "");
done:
  cq_free(text);
  cq_builder_free(&translated);
  return status;
}

cq_status cq_regex_open(cq_regex **out, cq_slice pattern, cq_error *error) {
  *out = NULL;
  cq_regex *regex = cq_alloc_zeroed(sizeof *regex);
  if (!regex) return cq_fail_memory(error, "a regular expression");
  pthread_mutex_init(&regex->mutex, NULL);
  const cq_status status = compile(regex, pattern, error);
  if (status) cq_regex_free(regex);
  *out = status ? NULL : regex;
  return status;
}

static matcher *borrow_matcher(cq_regex *regex) {
  pthread_mutex_lock(&regex->mutex);
  matcher *m = regex->idle;
  if (m) regex->idle = m->next;
  pthread_mutex_unlock(&regex->mutex);
  if (m) return m;
  UErrorCode code = U_ZERO_ERROR;
  m = cq_alloc_zeroed(sizeof *m);
  if (!m || !cq_has_room(ICU_SETUP_BYTES)) {
    cq_free(m);
    return NULL;
  }
  m->expression = uregex_clone(regex->expression, &code);
  uregex_setStackLimit(m->expression, STACK_BYTES, &code);
  if (U_SUCCESS(code)) return m;
  free_matcher(m);
  return NULL;
}

static void return_matcher(cq_regex *regex, matcher *m) {
  if (m->capacity > KEPT_CHARS) {
    free_matcher(m);
    return;
  }
  pthread_mutex_lock(&regex->mutex);
  m->next = regex->idle;
  regex->idle = m;
  pthread_mutex_unlock(&regex->mutex);
}

static cq_status search(matcher *m, cq_slice text, cq_regex_match_fn match, void *context) {
  UErrorCode code = U_ZERO_ERROR;
  size_t byte = 0, unit = 0; /* the same place in both */
  int32_t last = -1;         /* where the last match ended */
  const size_t n = convert(m->text, text);
  uregex_setText(m->expression, m->text, (int32_t)n, &code);
  uregex_setTimeLimit(m->expression, time_limit(n), &code);
  while (U_SUCCESS(code) && uregex_findNext(m->expression, &code)) {
    const int32_t start = uregex_start(m->expression, 0, &code), end = uregex_end(m->expression, 0, &code);
    if (start == end && start == last) continue;
    const size_t from = byte_of(text, byte, unit, (size_t)start);
    byte = byte_of(text, from, (size_t)start, (size_t)end);
    unit = (size_t)end;
    last = end;
    if (!match(context, from, byte)) return CQ_ERR_STOPPED;
  }
  return U_SUCCESS(code) ? CQ_OK : code == U_MEMORY_ALLOCATION_ERROR ? CQ_ERR_MEMORY : CQ_ERR_STOPPED;
}

cq_status cq_regex_each(cq_regex *regex, cq_slice text, cq_regex_match_fn match, void *context) {
  if (text.n > INT32_MAX) return CQ_ERR_STOPPED;
  matcher *m = borrow_matcher(regex);
  if (!m) return CQ_ERR_MEMORY;
  cq_status status = cq_reserve((void **)&m->text, &m->capacity, text.n + 1, sizeof *m->text) ? CQ_OK : CQ_ERR_MEMORY;
  if (!status) status = search(m, text, match, context);
  return_matcher(regex, m);
  return status;
}
