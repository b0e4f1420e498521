/* Encodes a chunk of sentences and writes vectors, for one process or several ranks of `calque encode`. */
#include "cli/encode/encode_command.h"
#include "cli/frame/report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int cli_encode_chunk(cli_encode_job *j, const cli_sentences *in) {
  cq_error error = {0};
  cq_encode_stats stats = {0};
  if (cq_encoder_encode(j->vectors, &stats, j->encoder, in->slices, in->n, j->args->encode, j->ctx, &error))
    return cli_sentences_fail(in, &error);
  for (size_t i = 0; i < in->n * j->dim; i++)
    if (!isfinite(j->vectors[i])) {
      const cli_place *place = &in->places[i / j->dim];
      return cli_fail("%s:%" PRIu64 ": the model gives a vector with %g in it", place->path, place->line,
                      (double)j->vectors[i]);
    }
  if (stats.n_truncated && !j->stats.n_truncated) j->first_truncated = in->places[stats.first_truncated];
  j->stats.n_sentences += stats.n_sentences;
  j->stats.n_truncated += stats.n_truncated;
  return CLI_OK;
}

static void widen_ranges(float *ranges, const float *more, size_t dim, bool first) {
  for (size_t i = 0; i < dim; i++) {
    if (first || more[i] < ranges[i]) ranges[i] = more[i];
    if (first || more[dim + i] > ranges[dim + i]) ranges[dim + i] = more[dim + i];
  }
}

int cli_encode_ranges(cli_encode_job *j, cli_sentences *in) {
  cq_error error = {0};
  bool first = true;
  float *more = calloc(2 * j->dim, sizeof *more);
  int code = CLI_OK;
  if (!more) return cli_fail("out of memory");
  while (code == CLI_OK) {
    if (cli_sentences_next(in, &error)) code = cli_sentences_fail(in, &error);
    if (code || in->n == 0) break;
    if ((code = cli_encode_chunk(j, in))) break;
    cq_int8_ranges(more, j->vectors, in->n, j->dim);
    widen_ranges(j->ranges, more, j->dim, first);
    first = false;
  }
  free(more);
  j->stats = (cq_encode_stats){0};
  return code;
}

/* A range of one value would turn every vector into the same numbers. */
int cli_encode_check_ranges(const cli_encode_job *j) {
  const float *min = j->ranges, *max = j->ranges + j->dim;
  for (size_t i = 0; i < j->dim; i++)
    if (max[i] > min[i]) return CLI_OK;
  return cli_fail("--output-type int8: all vectors that define the ranges are the same; --calibration FILE takes them "
                  "from other sentences");
}

int cli_encode_ranges_npy(cli_encode_job *j, const char *path) {
  cq_error error = {0};
  cq_npy *npy = NULL;
  int code = CLI_OK;
  if (cq_npy_open(&npy, path, &error)) return cli_fail_error(&error);
  if (cq_npy_dtype(npy) != CQ_NPY_F32)
    code = cli_fail("%s: expected numbers of type float32", path);
  else if (cq_npy_columns(npy) != (int64_t)j->dim || cq_npy_rows(npy) < 1)
    code = cli_fail("%s: expected rows of %zu numbers, has %" PRId64 " rows of %" PRId64, path, j->dim,
                    cq_npy_rows(npy), cq_npy_columns(npy));
  const float *vectors = cq_npy_data(npy);
  const size_t n_numbers = code == CLI_OK ? (size_t)cq_npy_rows(npy) * j->dim : 0;
  for (size_t i = 0; i < n_numbers && code == CLI_OK; i++)
    if (!isfinite(vectors[i])) code = cli_fail("%s: row %zu has a number that is not finite", path, i / j->dim + 1);
  if (code == CLI_OK) cq_int8_ranges(j->ranges, vectors, n_numbers / j->dim, j->dim);
  cq_npy_close(npy);
  return code;
}

int cli_encode_calibrate(cli_encode_job *j) {
  const char *path = j->args->calibration;
  const size_t n = strlen(path);
  if (n > 4 && !strcmp(path + n - 4, ".npy")) return cli_encode_ranges_npy(j, path);
  cli_sentences in = {.paths = &path, .n_paths = 1, .n_columns = 1, .rows = j->in.rows, .skip_bad = j->in.skip_bad};
  const int code = cli_encode_ranges(j, &in);
  cli_sentences_close(&in);
  return code;
}

cq_npy_type cli_encode_type(const cli_encode_job *j) {
  static const cq_npy_type types[] = {CQ_NPY_F32, CQ_NPY_I8, CQ_NPY_I8, CQ_NPY_U8};
  return types[j->args->output_type];
}

/* {"text": "...", "embedding": [...]}; nine digits restore every f32 exactly. */
static void write_json(cli_encode_job *j, cq_slice text, size_t row) {
  cli_json_text(j->stream, "{\"text\": ", text);
  fputs(", \"embedding\": [", j->stream);
  for (size_t i = 0; i < j->n_columns; i++) {
    const char *comma = i ? ", " : "";
    size_t at = row * j->n_columns + i;
    if (j->args->output_type == TYPE_F32)
      cli_json_number(j->stream, comma, j->vectors[at], 0);
    else if (j->args->output_type == TYPE_UBINARY)
      fprintf(j->stream, "%s%d", comma, (unsigned char)j->small[at]);
    else
      fprintf(j->stream, "%s%d", comma, j->small[at]);
  }
  fputs("]}\n", j->stream);
}

size_t cli_encode_row_bytes(const cli_encode_job *j) {
  return j->n_columns * (j->args->output_type == TYPE_F32 ? sizeof(float) : 1);
}

int cli_encode_write(cli_encode_job *j) {
  cq_error error = {0};
  size_t n = j->in.n;
  const void *rows = j->args->output_type == TYPE_F32 ? (const void *)j->vectors : j->small;
  size_t row_bytes = cli_encode_row_bytes(j);
  switch (j->args->output_type) {
  case TYPE_INT8: cq_quantize_int8(j->small, j->vectors, n, j->dim, j->ranges); break;
  case TYPE_BINARY: cq_quantize_binary(j->small, j->vectors, n, j->dim); break;
  case TYPE_UBINARY: cq_quantize_ubinary((unsigned char *)j->small, j->vectors, n, j->dim); break;
  default: break;
  }
  if (j->npy) {
    if (cq_npy_writer_rows(j->npy, rows, n, &error)) return cli_fail_error(&error);
    return CLI_OK;
  }
  if (j->format != FORMAT_JSONL)
    fwrite(rows, row_bytes, n, j->stream);
  else
    for (size_t i = 0; i < n; i++) write_json(j, j->in.slices[i], i);
  /* Flushes: the program that writes the input may wait for these vectors. */
  if (!j->args->output) return cli_flush_output() ? CLI_OK : CLI_FAILED;
  if (!ferror(j->stream)) return CLI_OK;
  if (j->divided) return cli_fail("%s: cannot write: %s", j->args->output, strerror(errno));
  cli_output_fail(&j->file, &error);
  return cli_fail_error(&error);
}
