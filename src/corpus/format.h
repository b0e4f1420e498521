/* Forms that parallel text is published in, each a file and a row of the table in convert.c.
 *
 * A form's reader begins with the cq_form it is made from, so that what all have lies at a known place:
 *
 *   typedef struct moses { cq_form base; cq_lines *lines[2]; } moses; */
#ifndef CORPUS_FORMAT_H
#define CORPUS_FORMAT_H

#include "corpus/rows.h"

typedef struct cq_form cq_form;

typedef struct cq_form_kind {
  cq_corpus_format about;
  size_t size; /* of the reader, which begins zeroed but for its base */
  cq_status (*open)(cq_form *form, cq_error *error);
  /* The next row, valid until the call after; n is 0 at the end. Counts what it reads and what it leaves out. */
  cq_status (*next)(cq_row *out, cq_form *form, cq_error *error);
  void (*close)(cq_form *form); /* also after an open that failed */
} cq_form_kind;

struct cq_form {
  const cq_form_kind *kind;
  const cq_corpus_convert_options *o;
  cq_corpus_counts *counts;
};

extern const cq_form_kind cq_form_moses, cq_form_europarl, cq_form_tsv, cq_form_ted2020, cq_form_wikimatrix,
    cq_form_muse, cq_form_tmx, cq_form_opus, cq_form_ids, cq_form_tatoeba, cq_form_wikititles, cq_form_xquad;
/* All of them, then NULL. */
extern const cq_form_kind *const cq_form_kinds[];

#endif
