#include "base/error.h"
#include "base/memory.h"
#include "corpus/format.h"

#include <string.h>

const cq_form_kind *const cq_form_kinds[] = {
    &cq_form_moses,      &cq_form_europarl, &cq_form_tsv,  &cq_form_ted2020, &cq_form_wikimatrix,
    &cq_form_muse,       &cq_form_tmx,      &cq_form_opus, &cq_form_ids,     &cq_form_tatoeba,
    &cq_form_wikititles, &cq_form_xquad,    NULL,
};
enum { N_KINDS = sizeof cq_form_kinds / sizeof *cq_form_kinds - 1 };

const cq_corpus_format *cq_corpus_format_at(size_t i) {
  return i < N_KINDS ? &cq_form_kinds[i]->about : NULL;
}

static cq_status find_kind(const cq_form_kind **out, const cq_corpus_convert_options *o, cq_error *error) {
  size_t i = 0;
  while (i < N_KINDS && strcmp(cq_form_kinds[i]->about.name, o->format) != 0) i++;
  if (i == N_KINDS) return cq_fail(error, CQ_ERR_ARGUMENT, "no format is named '%s'", o->format);
  const cq_corpus_format *about = &cq_form_kinds[i]->about;
  if (o->n_inputs < about->least_inputs || o->n_inputs > about->most_inputs)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%zu files, %s takes %s", o->n_inputs, about->name, about->inputs);
  if (o->n_columns > 0 && !about->has_columns)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%s has no columns to choose", about->name);
  if (o->n_columns == 1 || o->n_columns > CQ_ROW_MOST)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%zu columns, expected 2 to %d", o->n_columns, CQ_ROW_MOST);
  *out = cq_form_kinds[i];
  return CQ_OK;
}

cq_corpus_convert_options cq_corpus_convert_default_options(void) {
  return (cq_corpus_convert_options){.threshold = -1};
}

cq_status cq_corpus_convert(cq_corpus_counts *counts, const cq_corpus_convert_options *o, cq_error *error) {
  const cq_form_kind *kind = NULL;
  cq_row_writer writer;
  cq_row row;
  *counts = (cq_corpus_counts){0};
  cq_status status = find_kind(&kind, o, error);
  if (!status) status = cq_corpus_check_inputs(o->inputs, o->n_inputs, NULL, 0, error);
  if (status) return status;
  cq_form *form = cq_alloc_zeroed(kind->size);
  if (!form) return cq_fail_memory(error, kind->about.name);
  *form = (cq_form){kind, o, counts};
  status = kind->open(form, error);
  if (!status) status = cq_row_writer_open(&writer, &o->flow, counts, error);
  if (!status) {
    for (;;) {
      status = kind->next(&row, form, error);
      if (status || row.n == 0) break;
      status = cq_row_writer_put(&writer, &row, error);
      if (status) break;
    }
    status = cq_row_writer_finish(&writer, status, error);
  }
  kind->close(form);
  cq_free(form);
  return status;
}
