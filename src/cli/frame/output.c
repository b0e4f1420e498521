/* A regular file is written by base/file.h's writer, which renames it when committed: a failed command leaves
 * nothing. */
#include "cli/frame/output.h"
#include "base/error.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

cq_status cli_output_fail(const cli_output *out, cq_error *error) {
  return cq_fail_errno(error, out->path, "cannot write");
}

cq_status cli_output_check(const char *path, bool replace, cq_error *error) {
  struct stat info;
  if (replace || !path || stat(path, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0) return CQ_OK;
  return cq_fail_file(error, CQ_ERR_ARGUMENT, path, "already exists (--replace overwrites it)");
}

cq_status cli_output_open(cli_output *out, const char *path, cq_error *error) {
  struct stat info;
  *out = (cli_output){.path = strdup(path)};
  if (!out->path) return cq_fail_memory(error, path);
  /* A symbolic link, such as /dev/stdout, is followed, not replaced; it may point nowhere yet. */
  const bool direct = (stat(path, &info) == 0 || lstat(path, &info) == 0) && !S_ISREG(info.st_mode);
  cq_status status = CQ_OK;
  if (!direct)
    status = cq_writer_open_output(&out->writer, path, error);
  else if (!(out->stream = fopen(path, "wb")))
    status = cq_fail_errno(error, path, "cannot create");
  if (!direct) out->stream = out->writer.stream;
  if (status) cli_output_abort(out);
  return status;
}

cq_status cli_output_commit(cli_output *out, cq_error *error) {
  cq_status status = CQ_OK;
  if (out->writer.stream) {
    status = cq_writer_commit(&out->writer, error);
  } else {
    if (fflush(out->stream) != 0 || ferror(out->stream)) {
      if (!errno) errno = EIO;
      status = cli_output_fail(out, error);
    }
    if (fclose(out->stream) != 0 && !status) status = cli_output_fail(out, error);
  }
  out->stream = NULL;
  cli_output_abort(out);
  return status;
}

void cli_output_abort(cli_output *out) {
  if (out->stream && !out->writer.stream) fclose(out->stream);
  cq_writer_abort(&out->writer);
  free(out->path);
  *out = (cli_output){0};
}

cq_status cli_output_text(const char *path, const char *text, cq_error *error) {
  cli_output file;
  if (!path) {
    cq_print_text(stdout, cq_slice_of(text)); /* a failure is noticed when the program flushes it */
    return CQ_OK;
  }
  cq_status status = cli_output_open(&file, path, error);
  if (status) return status;
  if (fputs(text, file.stream) >= 0) return cli_output_commit(&file, error);
  status = cli_output_fail(&file, error);
  cli_output_abort(&file);
  return status;
}
