/* One run of `calque encode`, and the functions for several ranks (encode_divided.c). */
#ifndef CLI_ENCODE_ENCODE_COMMAND_H
#define CLI_ENCODE_ENCODE_COMMAND_H

#include "cli/frame/command.h"
#include "cli/frame/input_sentences.h"
#include "cli/frame/output.h"

enum { TYPE_F32, TYPE_INT8, TYPE_BINARY, TYPE_UBINARY };
enum { FORMAT_JSONL, FORMAT_NPY, FORMAT_RAW };

typedef struct cli_encode_args {
  size_t size;
  const char *model, *output, *calibration;
  const char *language; /* of an autoencoder; NULL: the model is an encoder */
  int threads, column, batch, output_type;
  bool skip_bad, replace;
  const cq_encode_options *encode;
  const cq_encoder_options *encoder;
} cli_encode_args;

/* Everything one run holds. */
typedef struct cli_encode_job {
  const cli_encode_args *args;
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
} cli_encode_job;

/* All but the model. */
#define CLI_ENCODE_OPTIONS                                                                                             \
  {CQ_TEXT(cli_encode_args, "output", output, CHANGES, "FILE",                                                         \
           "write here, in the format of the extension: .npy (NumPy), .jsonl (JSON lines), .bin (raw numbers, row by " \
           "row)"),                                                                                                    \
   .letter = 'o', .otherwise = "JSON lines on standard output"},                                                       \
      {CQ_INT(cli_encode_args, "tsv", column, CHANGES, 0, 0, 64, "COLUMN",                                             \
              "take this tab-separated column of each line, from 1"),                                                  \
       .otherwise = "the whole line"},                                                                                 \
      {CQ_CHOICE(cli_encode_args, "output-type", output_type, CHANGES, TYPE_F32, cli_encode_output_types, "TYPE",      \
                 "numbers of the vectors: float32, or quantized to 8 bits or one bit a dimension")},                   \
      {CQ_TEXT(cli_encode_args, "calibration", calibration, CHANGES, "FILE",                                           \
               "int8: take each dimension's range from these sentences, or from the vectors of a .npy file"),          \
       .otherwise = "a first pass over the input"},                                                                    \
      CLI_SKIP_BAD(cli_encode_args, skip_bad), CLI_REPLACE(cli_encode_args, replace),                                  \
      CLI_BATCH(cli_encode_args, batch), CLI_THREADS(cli_encode_args, threads)
extern const char *const cli_encode_output_types[];
extern const cq_option_part cli_encode_groups[];
int cli_encode_run(const cli_call *call);

/* --- encode_vectors.c: each function returns an exit code, after printing the error --- */

/* Encodes the current chunk of `in` into j->vectors. */
int cli_encode_chunk(cli_encode_job *j, const cli_sentences *in);
/* Writes the current, encoded chunk of j->in to j->stream or j->npy. */
int cli_encode_write(cli_encode_job *j);
/* Sets j->ranges from all sentences of `in`, or from the vectors of a file. */
int cli_encode_ranges(cli_encode_job *j, cli_sentences *in);
int cli_encode_ranges_npy(cli_encode_job *j, const char *path);
/* Fails if all vectors that define j->ranges are the same. */
int cli_encode_check_ranges(const cli_encode_job *j);
/* j->ranges of --calibration. */
int cli_encode_calibrate(cli_encode_job *j);
cq_npy_type cli_encode_type(const cli_encode_job *j); /* of the output's numbers */
size_t cli_encode_row_bytes(const cli_encode_job *j);

/* --- several ranks, which divide ranges of the input's bytes (calque/extra/divided.h) --- */

int cli_encode_check_divisible(const cli_call *call, const char *output);
/* Checks that all ranks do the same; divides the input and, for int8, finds j->ranges. */
int cli_encode_open_divided(cli_encode_job *j, const cli_call *call);
/* Encodes this rank's ranges, waits for the others, moves the output into place, and gathers the notices. */
int cli_encode_divided(cli_encode_job *j, const cli_call *call);

#endif
