/* Tab-separated values as parallel corpora use them: no quoting, no escapes, a tab always separates. */
#include "calque/lines.h"

#include <string.h>

size_t cq_tsv_split(cq_slice *columns, size_t max_columns, cq_slice line) {
  size_t n = 0;
  const char *p = line.data, *end = line.data + line.n;
  for (;;) {
    const char *tab = p < end ? memchr(p, '\t', (size_t)(end - p)) : NULL;
    if (n < max_columns) columns[n] = (cq_slice){p, (size_t)((tab ? tab : end) - p)};
    n++;
    if (!tab) return n;
    p = tab + 1;
  }
}
