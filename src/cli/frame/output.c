/* Writes a file under a temporary name and renames it when committed, so that a failed command leaves nothing. */
#include "cli/frame/output.h"

#include "cli/frame/stop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static cq_status fail_output(cq_error *error, const char *path, const char *verb, int number) {
  *error = (cq_error){.status = CQ_ERR_IO};
  snprintf(error->file, sizeof error->file, "%s", path);
  snprintf(error->message, sizeof error->message, "%s: %s: %s", path, verb, strerror(number));
  return CQ_ERR_IO;
}

cq_status cli_output_fail(const cli_output *out, cq_error *error) {
  return fail_output(error, out->path, "cannot write", errno);
}

cq_status cli_output_check(const char *path, bool replace, cq_error *error) {
  struct stat info;
  if (replace || !path || stat(path, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0) return CQ_OK;
  *error = (cq_error){.status = CQ_ERR_ARGUMENT};
  snprintf(error->file, sizeof error->file, "%s", path);
  snprintf(error->message, sizeof error->message, "%s: already exists (--replace overwrites it)", path);
  return CQ_ERR_ARGUMENT;
}

cq_status cli_output_open(cli_output *out, const char *path, cq_error *error) {
  struct stat info;
  /* A symbolic link, such as /dev/stdout, is followed, not replaced. */
  bool direct = lstat(path, &info) == 0 && !S_ISREG(info.st_mode);
  size_t size = strlen(path) + 32;
  cq_status status;
  *out = (cli_output){.path = strdup(path), .temporary = direct ? NULL : malloc(size)};
  if (out->temporary) out->temporary[0] = '\0';
  if (!out->path || (!direct && !out->temporary)) {
    status = fail_output(error, path, "cannot create", ENOMEM);
    goto failed;
  }
  if (!direct) snprintf(out->temporary, size, "%s.tmp-%ld", path, (long)getpid());
  if (!direct) cli_stop_remove(out->temporary);
  out->stream = fopen(direct ? path : out->temporary, "wb");
  if (out->stream) return CQ_OK;
  status = fail_output(error, path, "cannot create", errno);
  if (!direct) cli_stop_forget(out->temporary);
  free(out->temporary); /* it does not exist */
  out->temporary = NULL;
failed:
  cli_output_abort(out);
  return status;
}

cq_status cli_output_commit(cli_output *out, cq_error *error) {
  cq_status status = CQ_OK;
  int number = 0;
  if (fflush(out->stream) != 0 || ferror(out->stream))
    number = errno ? errno : EIO;
  else if (out->temporary && fsync(fileno(out->stream)) != 0)
    number = errno;
  if (fclose(out->stream) != 0 && !number) number = errno;
  out->stream = NULL;
  if (number)
    status = fail_output(error, out->path, "cannot write", number);
  else if (out->temporary && rename(out->temporary, out->path) != 0)
    status = fail_output(error, out->path, "cannot put in place", errno);
  if (!status && out->temporary) {
    cli_stop_forget(out->temporary);
    free(out->temporary);
    out->temporary = NULL;
  }
  cli_output_abort(out);
  return status;
}

void cli_output_abort(cli_output *out) {
  if (out->stream) fclose(out->stream);
  if (out->temporary && out->temporary[0]) {
    unlink(out->temporary);
    cli_stop_forget(out->temporary);
  }
  free(out->temporary);
  free(out->path);
  *out = (cli_output){0};
}

cq_status cli_output_text(const char *path, const char *text, cq_error *error) {
  cli_output file;
  if (!path) {
    fputs(text, stdout); /* a failure is noticed when the program flushes it */
    return CQ_OK;
  }
  cq_status status = cli_output_open(&file, path, error);
  if (status) return status;
  if (fputs(text, file.stream) >= 0) return cli_output_commit(&file, error);
  status = cli_output_fail(&file, error);
  cli_output_abort(&file);
  return status;
}
