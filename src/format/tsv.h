/* Labels in tab-separated files. */
#ifndef FORMAT_TSV_H
#define FORMAT_TSV_H

#include "calque/slice.h"

#include <stdbool.h>

typedef enum cq_label_kind {
  CQ_LABEL,         /* a class */
  CQ_LABEL_MISSING, /* blank, "-1" or "-", as in SNLI, where the annotators did not agree */
  CQ_LABEL_HEADER,  /* the names of the columns, in a file's first line */
  CQ_LABEL_SWAPPED, /* the same, but the label is not the last one */
} cq_label_kind;

/* What columns[n_texts] is, after n_texts columns of text. */
cq_label_kind cq_tsv_label(const cq_slice *columns, size_t n_texts, bool is_first_line);

#endif
