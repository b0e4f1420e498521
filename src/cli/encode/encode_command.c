/* calque encode: sentences in, vectors out.
 *
 *   files ──▶ chunk of --batch lines ──▶ encoder ──▶ precision ──▶ JSON lines | .npy | raw numbers
 *
 * Memory holds one chunk, whatever the input's length. int8 needs each dimension's range before the first row can be
 * written: from --calibration, or from a first pass over the input if it can be read twice.
 *
 * Several ranks share the work differently: encode_divided.c. */
#include "cli/encode/encode_command.h"
#include "cli/frame/command_ranks.h"
#include "cli/frame/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *const cli_encode_output_types[] = {"f32", "int8", "binary", "ubinary", NULL};

static const cq_option options[] = {CLI_MODEL_OR_SHIPPED(cli_encode_args, model), CLI_ENCODE_OPTIONS};

const cq_option_part cli_encode_groups[] = {{.group = &cq_group_encode, .offset = offsetof(cli_encode_args, encode)},
                                            {.group = &cq_group_encoder, .offset = offsetof(cli_encode_args, encoder)},
                                            {0}};

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
static int find_ranges(cli_encode_job *j, const cli_call *call) {
  if (j->args->calibration) return cli_encode_calibrate(j);
  if (!cli_sentences_can_repeat(&j->in))
    return cli_usage(call->path, "--output-type int8 needs --calibration FILE when the input can be read only once");
  const int code = cli_encode_ranges(j, &j->in);
  cli_sentences_rewind(&j->in);
  return code;
}

static int open_output(cli_encode_job *j) {
  cq_error error = {0};
  cq_status status = CQ_OK;
  const char *path = j->args->output;
  if (j->format == FORMAT_NPY)
    status = cq_npy_writer_open(&j->npy, path, cli_encode_type(j), (int64_t)j->n_columns, &error);
  else if (path)
    status = cli_output_open(&j->file, path, &error);
  if (status) return cli_fail_error(&error);
  j->stream = path ? j->file.stream : stdout;
  return CLI_OK;
}

static int write_vectors(cli_encode_job *j) {
  cq_error error = {0};
  cli_progress progress = cli_progress_start();
  bool show = j->args->output || !progress.terminal; /* not between lines of data on the same terminal */
  for (;;) {
    if (cli_sentences_next(&j->in, &error)) {
      cli_progress_clear(&progress);
      return cli_sentences_fail(&j->in, &error);
    }
    if (j->in.n == 0) break;
    int code = cli_encode_chunk(j, &j->in);
    if (code == CLI_OK) code = cli_encode_write(j);
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

static int commit_output(cli_encode_job *j) {
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

static void print_remarks(const cli_encode_job *j) {
  if (j->in.n_skipped) cli_note("%" PRIu64 " malformed lines were skipped", j->in.n_skipped);
  if (j->stats.n_truncated)
    cli_note("%" PRIu64 " of %" PRIu64
             " sentences were longer than %d tokens and were truncated (the first: %s:%" PRIu64 ")",
             j->stats.n_truncated, j->stats.n_sentences, cq_encoder_max_seq_length(j->encoder),
             strcmp(j->first_truncated.path, "-") ? j->first_truncated.path : "<stdin>", j->first_truncated.line);
}

static int open_encoder(cq_encoder **out, const cli_encode_args *args) {
  char path[4096];
  if (!args->language) return cli_open_model(out, args->model, args->encoder);
  if (strchr(args->language, '/') ||
      snprintf(path, sizeof path, "%s/encoder-%s", args->model, args->language) >= (int)sizeof path)
    return cli_fail("'%s' is not a language code", args->language);
  return cli_open_model(out, path, args->encoder);
}

/* A table or JSON is text, too: its lines would be encoded with their separators and names. */
static void note_formats(const cli_call *call, const cli_encode_args *args) {
  static const char *const endings[] = {".csv", ".json", ".jsonl", ".tsv"};
  for (size_t i = 0; i < call->n_arguments && !args->column; i++) {
    const char *path = call->arguments[i], *dot = strrchr(path, '.');
    for (size_t e = 0; dot && e < sizeof endings / sizeof *endings; e++)
      if (!strcasecmp(dot, endings[e]))
        cli_note("%s: each line is encoded as it is%s", path, e == 3 ? "; --tsv takes a column" : "");
  }
}

int cli_encode_run(const cli_call *call) {
  const cli_encode_args *args = call->options;
  cli_encode_job j = {.args = args,
                      .in = {.paths = call->arguments,
                             .n_paths = call->n_arguments,
                             .columns = {args->column},
                             .n_columns = 1,
                             .rows = (size_t)args->batch,
                             .skip_bad = args->skip_bad}};
  cq_error error = {0};
  int code = format_of(&j.format, call, args->output);
  if (code == CLI_OK) code = cli_check_options(call);
  if (code) return code;
  if (args->calibration && args->output_type != TYPE_INT8)
    return cli_usage(call->path, "--calibration is for --output-type int8 only");
  if ((code = cli_ranks_open(&j.ranks)) || (j.ranks && (code = cli_encode_check_divisible(call, args->output))))
    goto done;
  code = CLI_FAILED;
  if (cq_ranks_rank(j.ranks) == 0 && cli_output_check(args->output, args->replace, &error)) {
    cli_fail_error(&error);
    goto done;
  }
  if (open_encoder(&j.encoder, args) || cli_open_context(&j.ctx, args->threads)) goto done;
  j.dim = (size_t)cq_encoder_encode_dim(j.encoder, args->encode);
  j.n_columns = args->output_type >= TYPE_BINARY ? (j.dim + 7) / 8 : j.dim;
  j.vectors = malloc(j.in.rows * j.dim * sizeof *j.vectors);
  j.small = malloc(j.in.rows * j.n_columns);
  if (args->output_type == TYPE_INT8) j.ranges = calloc(2 * j.dim, sizeof *j.ranges);
  if (!j.vectors || !j.small || (args->output_type == TYPE_INT8 && !j.ranges)) {
    cli_fail("out of memory");
    goto done;
  }
  if (cq_ranks_rank(j.ranks) == 0) note_formats(call, args);
  if (j.ranks) {
    code = cli_encode_open_divided(&j, call);
    if (code == CLI_OK && args->output_type == TYPE_INT8) code = cli_encode_check_ranges(&j);
    if (code == CLI_OK) code = cli_encode_divided(&j, call);
  } else {
    code = args->output_type == TYPE_INT8 ? find_ranges(&j, call) : CLI_OK;
    if (code == CLI_OK && args->output_type == TYPE_INT8) code = cli_encode_check_ranges(&j);
    if (code == CLI_OK) code = open_output(&j);
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
    CLI_ARGUMENTS("[FILE...]", 0, -1),
    .description =
        "Turns sentences, one per line, into vectors. Files may be compressed (gzip, xz, Zstandard); without one, or "
        "for \"-\", standard input is read. On standard output each sentence becomes a line {\"text\": ..., "
        "\"embedding\": [...]}; --output writes a file instead. Memory use does not depend on the length of the input.",
    .example = "echo \"A dog barks.\" | calque encode\n"
               "calque encode --model all-MiniLM-L6-v2 --normalize --output vectors.npy sentences.txt.gz",
    CLI_OPTIONS(cli_encode_args, options),
    .groups = cli_encode_groups,
    .takes_ranks = true,
    .run = cli_encode_run,
};
