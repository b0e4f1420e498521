/* Tab-separated values as parallel corpora use them: no quoting, no escapes, a tab always separates. */
#include "format/tsv.h"

#include "base/slice.h"
#include "calque/lines.h"

#include <string.h>
#include <strings.h>

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

static bool is_named(cq_slice column, const char *const *names) {
  column = cq_slice_trimmed(column);
  while (*names && (strlen(*names) != column.n || strncasecmp(*names, column.data, column.n) != 0)) names++;
  return *names;
}

cq_label_kind cq_tsv_label(const cq_slice *columns, size_t n_texts, bool is_first_line) {
  static const char *const labels[] = {"label",      "labels", "gold_label", "label_text",
                                       "label_name", "class",  "category",   NULL};
  static const char *const texts[] = {"text",  "text1",    "text2",      "sentence", "sentence1",  "sentence2",
                                      "query", "premise",  "hypothesis", "question", "anchor",     "sentence_a",
                                      "title", "document", "utterance",  "tweet",    "sentence_b", NULL};
  const cq_slice label = cq_slice_trimmed(columns[n_texts]);
  double number;
  size_t n_named = 0;
  for (size_t i = 0; i < n_texts; i++) n_named += is_named(columns[i], texts);
  if (is_first_line && is_named(columns[0], labels) && is_named(label, texts)) return CQ_LABEL_SWAPPED;
  if (is_first_line && (n_named == n_texts || is_named(label, labels))) return CQ_LABEL_HEADER;
  const bool is_blank = label.n == 0 && columns[n_texts].n > 0; /* an empty column is malformed */
  const bool is_missing =
      is_blank || cq_slice_equal(label, cq_slice_of("-")) || (cq_slice_number(&number, label) && number == -1);
  return is_missing ? CQ_LABEL_MISSING : CQ_LABEL;
}
