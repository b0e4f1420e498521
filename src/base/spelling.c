/* The nearest spelling to a mistyped word. */
#include "calque/options.h"

#include <string.h>

/* Edits between two words: insert, delete, replace, swap neighbors. Words of over 63 bytes are never close. */
static size_t edit_distance(const char *a, const char *b) {
  size_t n_a = strlen(a), n_b = strlen(b);
  size_t rows[3][64];
  if (n_a > 63 || n_b > 63) return 64;
  for (size_t j = 0; j <= n_b; j++) rows[0][j] = j;
  for (size_t i = 1; i <= n_a; i++) {
    size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
    row[0] = i;
    for (size_t j = 1; j <= n_b; j++) {
      size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);
      if (above[j] + 1 < best) best = above[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && above2[j - 2] + 1 < best)
        best = above2[j - 2] + 1;
      row[j] = best;
    }
  }
  return rows[n_a % 3][n_b];
}

const char *cq_nearest_name(const char *word, const char *(*name)(const void *context, size_t i), const void *context,
                            size_t n) {
  size_t length = strlen(word), best = length <= 3 ? 2 : 3; /* a distance below this is near */
  const char *nearest = NULL;
  if (length < 2) return NULL;
  for (size_t i = 0; i < n; i++) {
    const char *candidate = name(context, i);
    size_t d = edit_distance(word, candidate);
    if (d > 1 && !strncmp(word, candidate, length)) d = 1; /* a beginning of it */
    if (d < best) best = d, nearest = candidate;
  }
  return nearest;
}
