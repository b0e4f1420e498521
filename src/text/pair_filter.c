/* Filters for pairs: near copies, different numbers, texts that are mostly links. See pair_filter.h. */
#include "text/pair_filter.h"

#include "base/slice.h"
#include "base/utf8.h"
#include "text/letters.h"
#include "text/unicode.h"

#include <string.h>
#include <strings.h>

/* --- copies --- */

static bool is_copy(cq_slice a, cq_slice b, bool *failed) {
  cq_builder x = {0}, y = {0};
  cq_text_letters(&x, a, false);
  cq_text_letters(&y, b, false);
  const bool same = x.n > 0 && x.n == y.n && memcmp(x.data, y.data, x.n) == 0;
  *failed |= x.failed | y.failed;
  cq_builder_free(&x);
  cq_builder_free(&y);
  return same;
}

/* --- numbers --- */

void cq_count_digits(int counts[10], cq_slice text, bool *failed) {
  cq_builder normal = {0};
  memset(counts, 0, 10 * sizeof *counts);
  cq_text_normal_form(&normal, text, CQ_NFKC);
  cq_slice rest = cq_built(&normal);
  for (uint32_t c; cq_utf8_next(&c, &rest);) {
    const int digit = cq_char_digit(c);
    if (digit >= 0) counts[digit]++;
  }
  *failed |= normal.failed;
  cq_builder_free(&normal);
}

static bool numbers_differ(cq_slice a, cq_slice b, bool *failed) {
  int x[10], y[10];
  cq_count_digits(x, a, failed);
  cq_count_digits(y, b, failed);
  return memcmp(x, y, sizeof x) != 0;
}

/* --- links --- */

/* Characters of a URL or an address; scripts without spaces end it as a blank does. */
static bool is_link_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         (c && strchr("-._~:/?#@!$&*+,;=%", c));
}

static bool has_prefix(cq_slice word, const char *prefix) {
  const size_t n = strlen(prefix);
  return word.n > n && strncasecmp(word.data, prefix, n) == 0;
}

static bool has_scheme(cq_slice word) {
  for (size_t i = 1; i + 3 < word.n; i++)
    if (memcmp(word.data + i, "://", 3) == 0) return true;
  return false;
}

/* A word that is a link or an address: https://..., www.… or someone@example.org. */
static bool is_link(cq_slice word) {
  const char *at = word.n ? memchr(word.data, '@', word.n) : NULL;
  if (has_scheme(word) || has_prefix(word, "www.")) return true;
  return at && at > word.data && memchr(at, '.', (size_t)(word.data + word.n - at)) != NULL;
}

/* The number of links in a text, and of its bytes outside links, without blanks. */
static void count_links(size_t *n_links, size_t *n_others, cq_slice text) {
  *n_links = *n_others = 0;
  for (size_t i = 0, end; i < text.n; i = end) {
    end = i + 1;
    if (!is_link_char(text.data[i])) {
      *n_others += text.data[i] != ' ' && text.data[i] != '\t';
      continue;
    }
    while (end < text.n && is_link_char(text.data[end])) end++;
    const cq_slice word = {text.data + i, end - i};
    if (is_link(word))
      ++*n_links;
    else
      *n_others += word.n;
  }
}

static bool links_spoil(cq_slice a, cq_slice b) {
  size_t links_a, links_b, others_a, others_b;
  count_links(&links_a, &others_a, a);
  count_links(&links_b, &others_b, b);
  enum { LITTLE = 8 }; /* up to this many bytes next to a link carry no meaning: "see:", "URL =" */
  return links_a != links_b || (links_a && (others_a < LITTLE || others_b < LITTLE));
}

unsigned cq_filter_pair(cq_slice source, cq_slice target, unsigned filters, bool *failed) {
  if ((filters & CQ_DROP_COPIES) && is_copy(source, target, failed)) return CQ_DROP_COPIES;
  if ((filters & CQ_DROP_NUMBERS) && numbers_differ(source, target, failed)) return CQ_DROP_NUMBERS;
  if ((filters & CQ_DROP_LINKS) && links_spoil(source, target)) return CQ_DROP_LINKS;
  return 0;
}
