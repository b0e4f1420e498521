/* Iterates over the sentences of the vocabulary's files: each file as often as its weight, every column of a line. */
#include "recipe/student/student_text.h"

#include "base/error.h"

#include <math.h>

#define MAX_TIMES 1000

int cq_text_times(const cq_training_data *file) {
  return file->weight > 1 ? (int)lround(fmin(file->weight, MAX_TIMES)) : 1;
}

bool cq_student_tell(const cq_student_options *o, const char *part, uint64_t done, uint64_t n) {
  return !o->progress || o->progress(o->progress_context, part, done, n);
}

/* Reads the columns of the next line; at the end of a file, there are none, and no file is open. */
static cq_status next_text_line(cq_student_text *t) {
  cq_slice line;
  t->column = t->n_columns = 0;
  cq_status status = cq_lines_next(&line, t->lines, &t->error);
  if (status) return status;
  if (!line.data) {
    cq_lines_close(t->lines);
    t->lines = NULL;
    return CQ_OK;
  }
  const size_t n = cq_tsv_split(t->columns, CQ_STUDENT_COLUMNS, line);
  if (n > CQ_STUDENT_COLUMNS)
    return cq_fail_line(&t->error, CQ_ERR_FORMAT, cq_lines_path(t->lines), cq_lines_number(t->lines),
                        "%zu columns, expected at most %d", n, CQ_STUDENT_COLUMNS);
  t->n_columns = n;
  return CQ_OK;
}

bool cq_student_text_next(void *context, cq_slice *sentence) {
  cq_student_text *t = context;
  for (;;) {
    while (t->column < t->n_columns) {
      *sentence = t->columns[t->column++];
      if (sentence->n > 0) return true;
    }
    if (t->status) return false;
    if (!t->lines) {
      if (t->again > 0) {
        t->again--;
      } else {
        while (t->file < t->options->n_text && t->options->text[t->file].weight < 0) t->file++;
        if (t->file == t->options->n_text) return false;
        t->again = cq_text_times(&t->options->text[t->file++]) - 1;
      }
      t->status = cq_lines_open(&t->lines, t->options->text[t->file - 1].path, &t->error);
      if (t->status) return false;
    }
    t->status = next_text_line(t);
    if (t->status == CQ_ERR_FORMAT && t->options->skip_bad && !cq_lines_broken(t->lines)) {
      t->status = CQ_OK;
      t->n_bad++;
    }
    if (t->status) return false;
  }
}

cq_status cq_student_text_close(cq_student_text *text, cq_status status, cq_error *error) {
  cq_lines_close(text->lines);
  text->lines = NULL;
  if (!status && text->status && error) *error = text->error;
  return status ? status : text->status;
}
