/* Fills chunks of sentences from files or standard input, by rows and by bytes, so that memory stays bounded. */
#include "cli/frame/input_sentences.h"
#include "base/error.h"
#include "cli/frame/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A chunk ends early when it holds this much text, so that long lines do not fill memory. */
enum { MAX_CHUNK_BYTES = 4 << 20 };

static cq_status append_sentence(cli_sentences *in, cq_slice text, size_t index, cq_error *error) {
  cq_builder_bytes(&in->text, text.data, text.n);
  in->slices[index] = (cq_slice){NULL, text.n}; /* set when the text no longer moves */
  return in->text.failed ? cq_fail_file(error, CQ_ERR_MEMORY, cq_lines_path(in->lines), "out of memory") : CQ_OK;
}

/* Adds a line's sentences to the chunk. */
static cq_status take_input_line(cli_sentences *in, cq_slice line, cq_error *error) {
  enum { MAX_COLUMNS = 64 };
  cq_slice columns[MAX_COLUMNS];
  size_t n_columns = 0;
  uint64_t number = cq_lines_number(in->lines);
  if (in->columns[0]) n_columns = cq_tsv_split(columns, MAX_COLUMNS, line);
  for (int i = 0; i < in->n_columns; i++) {
    size_t wanted = (size_t)in->columns[i];
    if (wanted > n_columns || wanted > MAX_COLUMNS)
      return cq_fail_line(error, CQ_ERR_FORMAT, cq_lines_path(in->lines), number,
                          "expected a column %zu, the line has %zu", wanted, n_columns);
  }
  for (int i = 0; i < in->n_columns; i++) {
    cq_status status = append_sentence(in, in->columns[i] ? columns[in->columns[i] - 1] : line,
                                       in->n * (size_t)in->n_columns + (size_t)i, error);
    if (status) return status;
  }
  in->places[in->n++] = (cli_place){in->n_paths ? in->paths[in->next_path - 1] : "-", number};
  return CQ_OK;
}

static cq_status open_next(cli_sentences *in, cq_error *error) {
  const cq_divided_range *r = in->range;
  cq_status status = r ? cq_lines_open_part(&in->lines, r->path, r->begin, r->end, r->lines_before, error)
                       : cq_lines_open(&in->lines, in->n_paths ? in->paths[in->next_path] : "-", error);
  in->next_path++;
  in->n_in_file = 0;
  return status;
}

/* The file that is open. */
static bool is_standard_input(const cli_sentences *in) {
  return in->n_paths == 0 || !strcmp(in->paths[in->next_path - 1], "-");
}

static cq_status fill_chunk(cli_sentences *in, cq_error *error) {
  size_t n_paths = in->n_paths ? in->n_paths : 1;
  while (in->n < in->rows && in->text.n < MAX_CHUNK_BYTES) {
    cq_slice line;
    cq_status status;
    if (!in->lines) {
      if (in->next_path == n_paths) return CQ_OK;
      if ((status = open_next(in, error))) return status;
    }
    /* Returns early, for programs that write line by line and wait for each result. */
    if (in->n > 0 && is_standard_input(in) && !cq_lines_ready(in->lines)) return CQ_OK;
    status = cq_lines_next(&line, in->lines, error);
    if (!status && !line.data) {
      if (in->n_in_file == 0 && !in->range)
        return cq_fail_file(error, CQ_ERR_FORMAT, cq_lines_path(in->lines), "the file is empty");
      cq_lines_close(in->lines);
      in->lines = NULL;
      continue;
    }
    in->n_in_file++;
    const size_t n_text = in->text.n;
    if (!status) status = take_input_line(in, line, error);
    if (status == CQ_ERR_FORMAT && in->skip_bad && !cq_lines_broken(in->lines)) {
      in->text.n = n_text;
      in->n_skipped++;
      continue;
    }
    if (status && in->n > 0 && is_standard_input(in)) {
      in->text.n = n_text;
      in->failure = *error;
      return CQ_OK;
    }
    if (status) return status;
  }
  return CQ_OK;
}

cq_status cli_sentences_next(cli_sentences *in, cq_error *error) {
  size_t n_columns = (size_t)in->n_columns;
  if (!in->slices) in->slices = calloc(in->rows * n_columns, sizeof *in->slices);
  if (!in->places) in->places = calloc(in->rows, sizeof *in->places);
  if (!in->slices || !in->places) return cq_fail_memory(error, "sentences");
  in->n = 0, in->text.n = 0;
  if (in->failure.status) *error = in->failure;
  cq_status status = in->failure.status ? in->failure.status : fill_chunk(in, error);
  if (status) return status;
  size_t at = 0;
  for (size_t i = 0; i < in->n * n_columns; i++) {
    in->slices[i].data = in->slices[i].n ? in->text.data + at : "";
    at += in->slices[i].n;
  }
  in->n_read += in->n;
  return CQ_OK;
}

void cli_sentences_rewind(cli_sentences *in) {
  if (in->lines) cq_lines_close(in->lines);
  in->lines = NULL;
  in->next_path = 0, in->n_read = 0, in->n_skipped = 0, in->n = 0;
  in->failure = (cq_error){0};
}

void cli_sentences_close(cli_sentences *in) {
  cli_sentences_rewind(in);
  free(in->slices);
  free(in->places);
  cq_builder_free(&in->text);
  in->slices = NULL, in->places = NULL;
}

bool cli_sentences_can_repeat(const cli_sentences *in) {
  struct stat info;
  for (size_t i = 0; i < in->n_paths; i++)
    if (!strcmp(in->paths[i], "-") || stat(in->paths[i], &info) != 0 || !S_ISREG(info.st_mode)) return false;
  return in->n_paths > 0;
}

int cli_sentences_fail(const cli_sentences *in, const cq_error *error) {
  size_t n_columns = (size_t)in->n_columns;
  if (error->file[0] || error->line == 0 || error->line > in->n * n_columns) return cli_fail_error(error);
  const cli_place *place = &in->places[(error->line - 1) / n_columns];
  const char *path = strcmp(place->path, "-") ? place->path : "<stdin>";
  /* The message begins with "sentence N", the index in the call, which is meaningless for a file's reader. */
  const char *text = error->message;
  if (!strncmp(text, "sentence ", 9)) text += 9 + strspn(text + 9, "0123456789");
  if (text != error->message) return cli_fail("%s:%" PRIu64 ": the sentence%s", path, place->line, text);
  return cli_fail("%s:%" PRIu64 ": %s", path, place->line, text);
}
