/* calque encode: sentences in, vectors out.
 *
 *   files ──▶ chunk of --batch lines ──▶ encoder ──▶ precision ──▶ JSON lines | .npy | raw numbers
 *
 * Memory holds one chunk, whatever the input's length. int8 needs each dimension's range before the first row can be
 * written: from --calibration, or from a first pass over the input when it can be read twice.
 *
 * Several ranks share out ranges of the input's bytes, and write their rows into the unfinished output
 * (calque/extra/divided.h). */
#include "cli/autoencode/autoencode.h"
#include "cli/encode/sentences.h"
#include "cli/frame/command.h"
#include "cli/frame/output.h"
#include "cli/frame/ranks.h"
#include "cli/frame/report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TYPE_F32, TYPE_INT8, TYPE_BINARY, TYPE_UBINARY };
static const char *const output_types[] = {"f32", "int8", "binary", "ubinary", NULL};

enum { FORMAT_JSONL, FORMAT_NPY, FORMAT_RAW };

struct args {
  size_t size;
  const char *model, *output, *calibration;
  const char *language; /* of an autoencoder; NULL: the model is an encoder */
  int threads, column, batch, output_type;
  bool skip_bad;
  const cq_encode_options *encode;
  const cq_encoder_options *encoder;
};

static const cq_option options[] = {
    CLI_MODEL_OR_SHIPPED(struct args, model),
    {CQ_TEXT(
         struct args, "output", output, CHANGES, "FILE",
         "write here, by the name's ending: .npy (NumPy), .jsonl (JSON lines), .bin (the numbers alone, row by row)"),
     .letter = 'o', .otherwise = "JSON lines on standard output"},
    {CQ_INT(struct args, "tsv", column, CHANGES, 0, 0, 64, "COLUMN",
            "take this tab-separated column of each line, from 1"),
     .otherwise = "the whole line"},
    {CQ_CHOICE(struct args, "output-type", output_type, CHANGES, TYPE_F32, output_types, "TYPE",
               "numbers of the vectors: float32, or quantised to 8 bits or one bit a dimension")},
    {CQ_TEXT(struct args, "calibration", calibration, CHANGES, "FILE",
             "int8: take each dimension's range from these sentences, or from the vectors of a .npy file"),
     .otherwise = "a first pass over the input"},
    CLI_SKIP_BAD(struct args, skip_bad),
    CLI_BATCH(struct args, batch),
    CLI_THREADS(struct args, threads),
};

/* An autoencoder's language has a model of its own, so that one has to be named. */
static const cq_option language_options[] = {
    CLI_MODEL(struct args, model),
    {CQ_TEXT(struct args, "language", language, CHANGES, "CODE", "the language of the sentences"), .letter = 'l',
     .flags = CQ_OPTION_REQUIRED},
};

static const cli_part parts[] = {
    {"encode", offsetof(struct args, encode)}, {"encoder", offsetof(struct args, encoder)}, {0}};

/* Everything one run holds. */
typedef struct job {
  const struct args *args;
  cq_encoder *encoder;
  cq_context *ctx;
  cli_sentences in;
  size_t dim, n_columns; /* numbers in a vector before and after --output-type */
  int format;
  float *vectors;     /* [batch, dim] */
  float *ranges;      /* [2, dim], int8 only */
  signed char *small; /* [batch, n_columns] */
  cq_npy_writer *npy;
  cli_output file;
  FILE *stream;
  cq_encode_stats stats;
  cli_place first_truncated;
  cq_ranks *ranks; /* NULL: this process alone */
  cq_divided *divided;
  uint64_t n_rows; /* that this rank has written */
} job;

static int format_of(int *format, const cli_call *call, const char *output) {
  const char *dot = output ? strrchr(output, '.') : NULL;
  if (!output || (dot && (!strcmp(dot, ".jsonl") || !strcmp(dot, ".json"))))
    *format = FORMAT_JSONL;
  else if (dot && !strcmp(dot, ".npy"))
    *format = FORMAT_NPY;
  else if (dot && (!strcmp(dot, ".bin") || !strcmp(dot, ".f32") || !strcmp(dot, ".raw")))
    *format = FORMAT_RAW;
  else
    return cli_usage(call->path, "--output is '%s', expected a name that ends in .npy, .jsonl or .bin", output);
  return CLI_OK;
}

/* Encodes the current chunk into j->vectors. */
static int encode_chunk(job *j, const cli_sentences *in) {
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

/* Ranges over all that `in` gives. */
static int ranges_of_sentences(job *j, cli_sentences *in) {
  cq_error error = {0};
  bool first = true;
  float *more = calloc(2 * j->dim, sizeof *more);
  int code = CLI_OK;
  if (!more) return cli_fail("out of memory");
  while (code == CLI_OK) {
    if (cli_sentences_next(in, &error)) code = cli_sentences_fail(in, &error);
    if (code || in->n == 0) break;
    if ((code = encode_chunk(j, in))) break;
    cq_int8_ranges(more, j->vectors, in->n, j->dim);
    widen_ranges(j->ranges, more, j->dim, first);
    first = false;
  }
  free(more);
  j->stats = (cq_encode_stats){0};
  return code;
}

static int ranges_of_npy(job *j, const char *path) {
  cq_error error = {0};
  cq_npy *npy = NULL;
  int code = CLI_OK;
  if (cq_npy_open(&npy, path, &error)) return cli_fail_error(&error);
  if (cq_npy_dtype(npy) != CQ_NPY_F32)
    code = cli_fail("%s: expected numbers of type float32", path);
  else if (cq_npy_columns(npy) != (int64_t)j->dim || cq_npy_rows(npy) < 1)
    code = cli_fail("%s: expected rows of %zu numbers, has %" PRId64 " rows of %" PRId64, path, j->dim,
                    cq_npy_rows(npy), cq_npy_columns(npy));
  else
    cq_int8_ranges(j->ranges, cq_npy_data(npy), (size_t)cq_npy_rows(npy), j->dim);
  cq_npy_close(npy);
  return code;
}

/* Over the sentences of this rank's share, in own [2, dim]; of none: no range, infinity to -infinity. */
static int ranges_of_share(double *own, job *j) {
  cq_divided_range range = {.path = ""};
  for (size_t d = 0; d < 2 * j->dim; d++) own[d] = d < j->dim ? INFINITY : -INFINITY;
  for (size_t i = 0; cq_divided_share(&range, j->divided, i); i++) {
    cli_sentences in = {.paths = &range.path,
                        .n_paths = 1,
                        .columns = {j->in.columns[0]},
                        .n_columns = 1,
                        .rows = j->in.rows,
                        .skip_bad = j->in.skip_bad,
                        .range = &range};
    const int code = range.n_rows ? ranges_of_sentences(j, &in) : CLI_OK;
    cli_sentences_close(&in);
    if (code) return code;
    for (size_t d = 0; range.n_rows && d < 2 * j->dim; d++)
      own[d] = d < j->dim ? fmin(own[d], (double)j->ranges[d]) : fmax(own[d], (double)j->ranges[d]);
  }
  return CLI_OK;
}

/* For the next run, if this one does not end. */
static int save_ranges(const job *j, const char *path) {
  cq_error error = {0};
  cq_npy_writer *w;
  if (cq_ranks_rank(j->ranks) > 0) return CLI_OK;
  if (cq_npy_writer_open(&w, path, CQ_NPY_F32, (int64_t)j->dim, &error)) return cli_fail_error(&error);
  if (!cq_npy_writer_rows(w, j->ranges, 2, &error))
    return cq_npy_writer_commit(w, &error) ? cli_fail_error(&error) : CLI_OK;
  cq_npy_writer_abort(w);
  return cli_fail_error(&error);
}

/* Over all sentences, of which each rank encodes a share; a run that goes on finds them. */
static int ranges_of_divided(job *j) {
  const size_t n = 2 * j->dim;
  char path[4096];
  if (snprintf(path, sizeof path, "%s/ranges.npy", cq_divided_directory(j->divided)) >= (int)sizeof path)
    return cli_fail("%s: the path is too long", j->args->output);
  if (cq_divided_n_done(j->divided)) return ranges_of_npy(j, path);
  double *own = calloc(n, sizeof *own), *all = NULL;
  int code = own ? ranges_of_share(own, j) : cli_fail("out of memory");
  if (code == CLI_OK && !(all = cli_ranks_gather(own, n, j->ranks))) code = CLI_FAILED;
  for (int r = 0; code == CLI_OK && r < cq_ranks_count(j->ranks); r++)
    for (size_t i = 0; i < n; i++) {
      const double value = all[(size_t)r * n + i];
      own[i] = i < j->dim ? fmin(own[i], value) : fmax(own[i], value);
    }
  for (size_t i = 0; code == CLI_OK && i < n; i++) j->ranges[i] = (float)own[i];
  if (code == CLI_OK) code = save_ranges(j, path);
  free(all);
  all = code == CLI_OK ? cli_ranks_gather(own, 1, j->ranks) : NULL; /* no rank goes on before they are saved */
  if (code == CLI_OK && !all) code = CLI_FAILED;
  free(own);
  free(all);
  return code;
}

static int find_ranges(job *j, const cli_call *call) {
  const char *path = j->args->calibration;
  size_t n = path ? strlen(path) : 0;
  j->ranges = calloc(2 * j->dim, sizeof *j->ranges);
  if (!j->ranges) return cli_fail("out of memory");
  if (n > 4 && !strcmp(path + n - 4, ".npy")) return ranges_of_npy(j, path);
  if (path) {
    cli_sentences in = {.paths = &path, .n_paths = 1, .n_columns = 1, .rows = j->in.rows, .skip_bad = j->in.skip_bad};
    int code = ranges_of_sentences(j, &in);
    cli_sentences_close(&in);
    return code;
  }
  if (j->ranks) return ranges_of_divided(j);
  if (!cli_sentences_can_repeat(&j->in))
    return cli_usage(call->path, "--output-type int8 needs --calibration FILE when the input can be read only once");
  int code = ranges_of_sentences(j, &j->in);
  cli_sentences_rewind(&j->in);
  return code;
}

static const cq_npy_type types[] = {CQ_NPY_F32, CQ_NPY_I8, CQ_NPY_I8, CQ_NPY_U8}; /* by output type */

static int open_output(job *j) {
  cq_error error = {0};
  cq_status status = CQ_OK;
  const char *path = j->args->output;
  if (j->format == FORMAT_NPY)
    status = cq_npy_writer_open(&j->npy, path, types[j->args->output_type], (int64_t)j->n_columns, &error);
  else if (path)
    status = cli_output_open(&j->file, path, &error);
  if (status) return cli_fail_error(&error);
  j->stream = path ? j->file.stream : stdout;
  return CLI_OK;
}

/* {"text": "...", "embedding": [...]}; nine digits give every f32 back exactly. */
static void write_json(job *j, cq_slice text, size_t row) {
  fputs("{\"text\": ", j->stream);
  cli_json_text(j->stream, text.data, text.n);
  fputs(", \"embedding\": [", j->stream);
  for (size_t i = 0; i < j->n_columns; i++) {
    const char *comma = i ? ", " : "";
    size_t at = row * j->n_columns + i;
    if (j->args->output_type == TYPE_F32)
      fprintf(j->stream, "%s%.9g", comma, (double)j->vectors[at]);
    else if (j->args->output_type == TYPE_UBINARY)
      fprintf(j->stream, "%s%d", comma, (unsigned char)j->small[at]);
    else
      fprintf(j->stream, "%s%d", comma, j->small[at]);
  }
  fputs("]}\n", j->stream);
}

static size_t bytes_of_row(const job *j) {
  return j->n_columns * (j->args->output_type == TYPE_F32 ? sizeof(float) : 1);
}

static int write_chunk(job *j) {
  cq_error error = {0};
  size_t n = j->in.n;
  const void *rows = j->args->output_type == TYPE_F32 ? (const void *)j->vectors : j->small;
  size_t row_bytes = bytes_of_row(j);
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
  /* Someone may wait for these vectors before writing more. */
  if (!j->args->output) return cli_flush_output() ? CLI_OK : CLI_FAILED;
  if (!ferror(j->stream)) return CLI_OK;
  if (j->divided) return cli_fail("%s: cannot write: %s", j->args->output, strerror(errno));
  cli_output_fail(&j->file, &error);
  return cli_fail_error(&error);
}

static int write_vectors(job *j) {
  cq_error error = {0};
  cli_progress progress = cli_progress_start();
  bool show = j->args->output || !progress.terminal; /* not among the lines of data on the same terminal */
  for (;;) {
    if (cli_sentences_next(&j->in, &error)) {
      cli_progress_clear(&progress);
      return cli_sentences_fail(&j->in, &error);
    }
    if (j->in.n == 0) break;
    int code = encode_chunk(j, &j->in);
    if (code == CLI_OK) code = write_chunk(j);
    if (code) {
      cli_progress_clear(&progress);
      return code;
    }
    char rate[64];
    snprintf(rate, sizeof rate, "%.0f sentences/s", (double)j->in.n_read / (cli_now_s() - progress.started_s + 1e-9));
    if (show) cli_progress_draw(&progress, "encoded", j->in.n_read, 0, rate, false);
  }
  cli_progress_clear(&progress);
  if (j->in.n_read == 0) return cli_fail("no sentence is left, %" PRIu64 " lines were skipped", j->in.n_skipped);
  return CLI_OK;
}

static int commit_output(job *j) {
  cq_error error = {0};
  cq_status status = CQ_OK;
  if (j->npy) {
    status = cq_npy_writer_commit(j->npy, &error);
    j->npy = NULL;
  } else if (j->args->output) {
    status = cli_output_commit(&j->file, &error);
  }
  return status ? cli_fail_error(&error) : CLI_OK;
}

static void print_remarks(const job *j) {
  if (j->in.n_skipped) cli_note("%" PRIu64 " malformed lines were skipped", j->in.n_skipped);
  if (j->stats.n_truncated)
    cli_note("%" PRIu64 " of %" PRIu64
             " sentences were longer than %d tokens and were truncated (the first: %s:%" PRIu64 ")",
             j->stats.n_truncated, j->stats.n_sentences, cq_encoder_max_seq_length(j->encoder),
             strcmp(j->first_truncated.path, "-") ? j->first_truncated.path : "<stdin>", j->first_truncated.line);
}

/* --- several ranks --- */

/* All ranks are about to do the same; *lines receives what, to be freed. */
static int agree_to_encode(char **lines, const job *j, const cli_call *call) {
  char fingerprint[33];
  cq_error error = {0};
  char *options_text = cli_ranks_lines(call);
  size_t size = 0;
  FILE *out = open_memstream(lines, &size);
  if (cq_encoder_fingerprint(fingerprint, j->encoder, &error)) {
    if (out) fclose(out);
    free(options_text);
    return cli_fail_error(&error);
  }
  if (out)
    fprintf(out, "%sthe model of fingerprint\t%s\nprecision\t%s\n", options_text ? options_text : "", fingerprint,
            cq_precision_name(cq_encoder_precision(j->encoder)));
  for (size_t i = 0; out && i < call->n_arguments; i++) fprintf(out, "the file\t%s\n", call->arguments[i]);
  const bool failed = !options_text || !out || fclose(out) != 0;
  free(options_text);
  if (failed) return cli_fail("out of memory");
  return cq_ranks_agree(j->ranks, *lines, &error) ? cli_fail_error(&error) : CLI_OK;
}

/* FNV-1a. */
static uint64_t hash_of_ranges(const job *j) {
  const unsigned char *bytes = (const unsigned char *)j->ranges;
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < 2 * j->dim * sizeof *j->ranges; i++) hash = (hash ^ bytes[i]) * 0x100000001b3;
  return hash;
}

/* Adds the ranges that --calibration gives to what must be the same: neither ranks nor a run that goes on may mix two
 * contents of that file. */
static int agree_on_calibration(char **lines, job *j, const cli_call *call) {
  cq_error error = {0};
  const int code = find_ranges(j, call);
  if (code) return code;
  const size_t size = strlen(*lines) + 64;
  char *longer = malloc(size);
  if (!longer) return cli_fail("out of memory");
  snprintf(longer, size, "%scalibration with ranges of hash\t%016" PRIx64 "\n", *lines, hash_of_ranges(j));
  free(*lines);
  *lines = longer;
  return cq_ranks_agree(j->ranks, *lines, &error) ? cli_fail_error(&error) : CLI_OK;
}

static int check_divisible(const cli_call *call, const char *output) {
  bool from_standard_input = call->n_arguments == 0;
  for (size_t i = 0; i < call->n_arguments; i++)
    from_standard_input = from_standard_input || !strcmp(call->arguments[i], "-");
  if (from_standard_input)
    return cli_fail("standard input cannot be divided among several ranks: name the files to encode");
  return output ? CLI_OK : cli_fail("several ranks cannot share standard output: name a file with --output");
}

static int open_divided_input(job *j, const cli_call *call) {
  cq_error error = {0};
  char *lines = NULL;
  int code = agree_to_encode(&lines, j, call);
  if (code == CLI_OK && j->args->calibration) code = agree_on_calibration(&lines, j, call);
  if (code == CLI_OK) {
    const cq_divided_options o = {.paths = call->arguments,
                                  .n_paths = call->n_arguments,
                                  .column = j->args->column,
                                  .skip_bad = j->args->skip_bad,
                                  .output = j->args->output,
                                  .identity = lines,
                                  .header_bytes = j->format == FORMAT_NPY ? CQ_NPY_HEADER_BYTES : 0,
                                  .row_bytes = j->format == FORMAT_JSONL ? 0 : bytes_of_row(j),
                                  .ranks = j->ranks};
    if (cq_divided_open(&j->divided, &o, &error)) code = cli_fail_error(&error);
  }
  free(lines);
  if (code == CLI_OK && cq_divided_n_done(j->divided))
    cli_note("going on where %" PRIu64 " of %" PRIu64 " sentences are encoded", cq_divided_n_done(j->divided),
             cq_divided_n_rows(j->divided));
  return code;
}

/* From here on j->in has the lines of a range. */
static void read_range(job *j, const cq_divided_range *range) {
  cli_sentences_close(&j->in);
  j->in.paths = &range->path, j->in.n_paths = 1, j->in.range = range;
}

static int write_range(job *j, const cq_divided_range *range) {
  cq_error error = {0};
  const bool in_place = j->format != FORMAT_JSONL;
  j->stream = fopen(range->output, in_place ? "r+b" : "wb");
  if (!j->stream || fseeko(j->stream, (off_t)range->at, SEEK_SET) != 0)
    return cli_fail("%s: cannot write: %s", range->output, strerror(errno));
  read_range(j, range);
  int code = CLI_OK;
  uint64_t n = 0;
  while (code == CLI_OK) {
    if (cli_sentences_next(&j->in, &error)) code = cli_sentences_fail(&j->in, &error);
    if (code || j->in.n == 0) break;
    code = encode_chunk(j, &j->in);
    if (code == CLI_OK && (n += j->in.n) > range->n_rows)
      code = cli_fail("%s: has changed while it was read", range->path);
    if (code == CLI_OK) code = write_chunk(j);
  }
  if (code == CLI_OK && n != range->n_rows) code = cli_fail("%s: has changed while it was read", range->path);
  errno = 0;
  if (fclose(j->stream) != 0 && code == CLI_OK) code = cli_fail("%s: cannot write: %s", range->output, strerror(errno));
  j->stream = NULL;
  j->n_rows += n;
  if (code == CLI_OK && cq_divided_done(j->divided, &error)) code = cli_fail_error(&error);
  return code;
}

static int write_ranges(job *j) {
  cli_progress progress = cli_progress_start();
  cq_divided_range range = {.path = ""};
  int code = CLI_OK;
  const uint64_t n_all = (cq_divided_n_rows(j->divided) - cq_divided_n_done(j->divided)) /
                         (uint64_t)cq_ranks_count(j->ranks); /* of this rank, about */
  while (code == CLI_OK && cq_divided_next(&range, j->divided)) {
    char rate[64];
    code = write_range(j, &range);
    snprintf(rate, sizeof rate, "%.0f sentences/s a rank",
             (double)j->n_rows / (cli_now_s() - progress.started_s + 1e-9));
    if (code == CLI_OK)
      cli_progress_draw(&progress, "encoded by rank 0", j->n_rows < n_all ? j->n_rows : n_all, n_all, rate, false);
  }
  cli_progress_clear(&progress);
  return code;
}

/* Of all ranks together: how many sentences were truncated, and the first of them in the order of the files. */
static int gather_remarks(job *j, const cli_call *call) {
  double own[4] = {(double)j->stats.n_truncated, (double)j->stats.n_sentences, INFINITY, 0};
  for (size_t i = 0; j->stats.n_truncated && i < call->n_arguments; i++)
    if (j->first_truncated.path == call->arguments[i]) own[2] = (double)i, own[3] = (double)j->first_truncated.line;
  double *all = cli_ranks_gather(own, 4, j->ranks);
  if (!all) return CLI_FAILED;
  const double *first = all;
  j->stats = (cq_encode_stats){0};
  for (int i = 0; i < cq_ranks_count(j->ranks); i++) {
    const double *r = all + 4 * (size_t)i;
    j->stats.n_truncated += (uint64_t)r[0], j->stats.n_sentences += (uint64_t)r[1];
    if (r[2] < first[2] || (r[2] <= first[2] && r[3] < first[3])) first = r;
  }
  if (j->stats.n_truncated) j->first_truncated = (cli_place){call->arguments[(size_t)first[2]], (uint64_t)first[3]};
  j->in.n_skipped = cq_divided_n_skipped(j->divided);
  free(all);
  return CLI_OK;
}

static int finish_divided(job *j, const cli_call *call) {
  cq_error error = {0};
  char header[CQ_NPY_HEADER_BYTES];
  cq_npy_header(header, types[j->args->output_type], (int64_t)cq_divided_n_rows(j->divided), (int64_t)j->n_columns);
  if (cq_divided_finish(j->divided, header, &error)) return cli_fail_error(&error);
  return gather_remarks(j, call);
}

static int open_encoder(cq_encoder **out, const struct args *args) {
  char path[4096];
  if (!args->language) return cli_open_model(out, args->model, args->encoder);
  if (strchr(args->language, '/') ||
      snprintf(path, sizeof path, "%s/encoder-%s", args->model, args->language) >= (int)sizeof path)
    return cli_fail("'%s' is no language's code", args->language);
  return cli_open_model(out, path, args->encoder);
}

static int run_encode(const cli_call *call) {
  const struct args *args = call->options;
  job j = {.args = args,
           .in = {.paths = call->arguments,
                  .n_paths = call->n_arguments,
                  .columns = {args->column},
                  .n_columns = 1,
                  .rows = (size_t)args->batch,
                  .skip_bad = args->skip_bad}};
  int code = format_of(&j.format, call, args->output);
  if (code == CLI_OK) code = cli_check_options(call);
  if (code) return code;
  if (args->calibration && args->output_type != TYPE_INT8)
    return cli_usage(call->path, "--calibration is for --output-type int8 only");
  if ((code = cli_ranks_open(&j.ranks)) || (j.ranks && (code = check_divisible(call, args->output)))) goto done;
  code = CLI_FAILED;
  if (open_encoder(&j.encoder, args) || cli_open_context(&j.ctx, args->threads)) goto done;
  j.dim = (size_t)cq_encoder_encode_dim(j.encoder, args->encode);
  j.n_columns = args->output_type >= TYPE_BINARY ? (j.dim + 7) / 8 : j.dim;
  j.vectors = malloc(j.in.rows * j.dim * sizeof *j.vectors);
  j.small = malloc(j.in.rows * j.n_columns);
  if (!j.vectors || !j.small) {
    cli_fail("out of memory");
    goto done;
  }
  if (j.ranks && (code = open_divided_input(&j, call))) goto done;
  if (args->output_type == TYPE_INT8 && !j.ranges && (code = find_ranges(&j, call))) goto done;
  if (j.ranks) {
    code = write_ranges(&j);
    if (code == CLI_OK) code = finish_divided(&j, call);
  } else {
    code = open_output(&j);
    if (code == CLI_OK) code = write_vectors(&j);
    if (code == CLI_OK) code = commit_output(&j);
  }
  if (code == CLI_OK) print_remarks(&j);
done:
  if (j.npy) cq_npy_writer_abort(j.npy);
  cli_output_abort(&j.file);
  cli_sentences_close(&j.in);
  free(j.vectors);
  free(j.small);
  free(j.ranges);
  cq_context_free(j.ctx);
  cq_encoder_free(j.encoder);
  cq_divided_close(j.divided);
  cli_ranks_close(j.ranks, code);
  return code;
}

const cli_command cli_encode = {
    .name = "encode",
    .summary = "turn sentences into vectors (embeddings)",
    .arguments = "[FILE...]",
    .max_arguments = -1,
    .description =
        "Turns sentences, one a line, into vectors. Files may be compressed (gzip, xz, Zstandard); without one, or for "
        "\"-\", standard input is read. On standard output each sentence becomes a line {\"text\": ..., \"embedding\": "
        "[...]}; --output writes "
        "a file instead. Memory stays the same however long the input is.",
    .example = "echo \"A dog barks.\" | calque encode\n"
               "calque encode --model all-MiniLM-L6-v2 --normalize --output vectors.npy sentences.txt.gz",
    CLI_OPTIONS(struct args, options),
    .parts = parts,
    .takes_ranks = true,
    .run = run_encode,
};

const cli_command cli_autoencode_encode = {
    .name = "encode",
    .summary = "turn sentences of one language into vectors",
    .arguments = "[FILE...]",
    .max_arguments = -1,
    .description = "`calque encode` with a language's encoder, which is also an encoder by itself: MODEL/encoder-CODE, "
                   "for every command that takes a model.",
    .example = "calque autoencode encode --model fr-it --language fr -o french.npy french.txt",
    CLI_OPTIONS(struct args, language_options),
    .more_options = options + 1, /* all but the model */
    .n_more_options = sizeof options / sizeof *options - 1,
    .parts = parts,
    .run = run_encode,
};
