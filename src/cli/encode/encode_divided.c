/* calque encode by several ranks:
 *
 *   options, model, ranges of --calibration ──agreed──▶ ranges of the input's bytes ──▶ int8: min and max per dimension
 *         ──▶ each rank encodes some ranges and records them as done ──▶ the output in place
 */
#include "cli/encode/encode_command.h"
#include "cli/frame/command_ranks.h"
#include "cli/frame/report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Computes the ranges over this rank's sentences, in own [2, dim]; without sentences, from infinity to -infinity. */
static int ranges_of_share(double *own, cli_encode_job *j) {
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
    const int code = range.n_rows ? cli_encode_ranges(j, &in) : CLI_OK;
    cli_sentences_close(&in);
    if (code) return code;
    for (size_t d = 0; range.n_rows && d < 2 * j->dim; d++)
      own[d] = d < j->dim ? fmin(own[d], (double)j->ranges[d]) : fmax(own[d], (double)j->ranges[d]);
  }
  return CLI_OK;
}

/* For the next run, if this one does not end. */
static int save_ranges(const cli_encode_job *j, const char *path) {
  cq_error error = {0};
  cq_npy_writer *w;
  if (cq_ranks_rank(j->ranks) > 0) return CLI_OK;
  if (cq_npy_writer_open(&w, path, CQ_NPY_F32, (int64_t)j->dim, &error)) return cli_fail_error(&error);
  if (!cq_npy_writer_rows(w, j->ranges, 2, &error))
    return cq_npy_writer_commit(w, &error) ? cli_fail_error(&error) : CLI_OK;
  cq_npy_writer_abort(w);
  return cli_fail_error(&error);
}

/* Ranges over all sentences; each rank encodes a share. A resumed run reads saved ranges. */
static int ranges_of_divided(cli_encode_job *j) {
  const size_t n = 2 * j->dim;
  char path[4096];
  if (snprintf(path, sizeof path, "%s/ranges.npy", cq_divided_directory(j->divided)) >= (int)sizeof path)
    return cli_fail("%s: the path is too long", j->args->output);
  if (cq_divided_n_done(j->divided)) return cli_encode_ranges_npy(j, path);
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
  all = code == CLI_OK ? cli_ranks_gather(own, 1, j->ranks) : NULL; /* all ranks wait until they are saved */
  if (code == CLI_OK && !all) code = CLI_FAILED;
  free(own);
  free(all);
  return code;
}

/* Checks that all ranks do the same; *lines receives the description, which the caller frees. */
static int agree_to_encode(char **lines, const cli_encode_job *j, const cli_call *call) {
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
static uint64_t hash_of_ranges(const cli_encode_job *j) {
  const unsigned char *bytes = (const unsigned char *)j->ranges;
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < 2 * j->dim * sizeof *j->ranges; i++) hash = (hash ^ bytes[i]) * 0x100000001b3;
  return hash;
}

/* Adds the ranges of --calibration to the values that must agree: neither ranks nor a resumed run may use different
 * contents of that file. */
static int agree_on_calibration(char **lines, cli_encode_job *j) {
  cq_error error = {0};
  const int code = cli_encode_calibrate(j);
  if (code) return code;
  const size_t size = strlen(*lines) + 64;
  char *longer = malloc(size);
  if (!longer) return cli_fail("out of memory");
  snprintf(longer, size, "%scalibration with ranges of hash\t%016" PRIx64 "\n", *lines, hash_of_ranges(j));
  free(*lines);
  *lines = longer;
  return cq_ranks_agree(j->ranks, *lines, &error) ? cli_fail_error(&error) : CLI_OK;
}

int cli_encode_check_divisible(const cli_call *call, const char *output) {
  bool from_standard_input = call->n_arguments == 0;
  for (size_t i = 0; i < call->n_arguments; i++)
    from_standard_input = from_standard_input || !strcmp(call->arguments[i], "-");
  if (from_standard_input)
    return cli_fail("standard input cannot be divided among several ranks: name the files to encode");
  return output ? CLI_OK : cli_fail("several ranks cannot share standard output: name a file with --output");
}

int cli_encode_open_divided(cli_encode_job *j, const cli_call *call) {
  cq_error error = {0};
  char *lines = NULL;
  int code = agree_to_encode(&lines, j, call);
  if (code == CLI_OK && j->args->calibration) code = agree_on_calibration(&lines, j);
  if (code == CLI_OK) {
    const cq_divided_options o = {.paths = call->arguments,
                                  .n_paths = call->n_arguments,
                                  .column = j->args->column,
                                  .skip_bad = j->args->skip_bad,
                                  .output = j->args->output,
                                  .identity = lines,
                                  .header_bytes = j->format == FORMAT_NPY ? CQ_NPY_HEADER_BYTES : 0,
                                  .row_bytes = j->format == FORMAT_JSONL ? 0 : cli_encode_row_bytes(j),
                                  .ranks = j->ranks};
    if (cq_divided_open(&j->divided, &o, &error)) code = cli_fail_error(&error);
  }
  free(lines);
  if (code == CLI_OK && cq_divided_n_done(j->divided))
    cli_note("resuming: %" PRIu64 " of %" PRIu64 " sentences are encoded", cq_divided_n_done(j->divided),
             cq_divided_n_rows(j->divided));
  return code == CLI_OK && j->args->output_type == TYPE_INT8 && !j->args->calibration ? ranges_of_divided(j) : code;
}

/* From here on j->in has the lines of a range. */
static void read_range(cli_encode_job *j, const cq_divided_range *range) {
  cli_sentences_close(&j->in);
  j->in.paths = &range->path, j->in.n_paths = 1, j->in.range = range;
}

static int write_range(cli_encode_job *j, const cq_divided_range *range) {
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
    code = cli_encode_chunk(j, &j->in);
    if (code == CLI_OK && (n += j->in.n) > range->n_rows)
      code = cli_fail("%s: has changed while it was read", range->path);
    if (code == CLI_OK) code = cli_encode_write(j);
  }
  if (code == CLI_OK && n != range->n_rows) code = cli_fail("%s: has changed while it was read", range->path);
  errno = 0;
  if (fclose(j->stream) != 0 && code == CLI_OK) code = cli_fail("%s: cannot write: %s", range->output, strerror(errno));
  j->stream = NULL;
  j->n_rows += n;
  if (code == CLI_OK && cq_divided_done(j->divided, &error)) code = cli_fail_error(&error);
  return code;
}

static int write_ranges(cli_encode_job *j) {
  cli_progress progress = cli_progress_start();
  cq_divided_range range = {.path = ""};
  int code = CLI_OK;
  const uint64_t n_all = (cq_divided_n_rows(j->divided) - cq_divided_n_done(j->divided)) /
                         (uint64_t)cq_ranks_count(j->ranks); /* of this rank, about */
  while (code == CLI_OK && cq_divided_next(&range, j->divided)) {
    char rate[64];
    code = write_range(j, &range);
    snprintf(rate, sizeof rate, "%.0f sentences/s per rank",
             (double)j->n_rows / (cli_now_s() - progress.started_s + 1e-9));
    if (code == CLI_OK)
      cli_progress_draw(&progress, "encoded by rank 0", j->n_rows < n_all ? j->n_rows : n_all, n_all, rate, false);
  }
  cli_progress_clear(&progress);
  return code;
}

/* Gathers from all ranks how many sentences were truncated, and the first of them in file order. */
static int gather_remarks(cli_encode_job *j, const cli_call *call) {
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

static int finish_divided(cli_encode_job *j, const cli_call *call) {
  cq_error error = {0};
  char header[CQ_NPY_HEADER_BYTES];
  cq_npy_header(header, cli_encode_type(j), (int64_t)cq_divided_n_rows(j->divided), (int64_t)j->n_columns);
  if (cq_divided_finish(j->divided, header, &error)) return cli_fail_error(&error);
  return gather_remarks(j, call);
}

int cli_encode_divided(cli_encode_job *j, const cli_call *call) {
  const int code = write_ranges(j);
  return code == CLI_OK ? finish_divided(j, call) : code;
}
