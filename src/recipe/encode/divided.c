/* Divides files of lines into ranges of bytes:
 *
 *   files ──▶ ranges (independent of the number of ranks) ──counted by all──▶ the first line and row of each
 *         ──unfinished ones──▶ rank 0, rank 1, .., rank 0, ..
 *
 *   OUTPUT.unfinished/output    rows at their offsets; missing rows are holes
 *   OUTPUT.unfinished/rows-7    or, for rows of variable length, the rows of range 7
 *   OUTPUT.unfinished/done-1    of rank 1: the run's identity, then a byte per range: whether it is done
 *
 * A range counts as done when its rows are on disk and its rank has recorded this, about a second later. */
#include "calque/extra/divided.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/slice.h"
#include "calque/lines.h"
#include "ranks/ranks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MIN_RANGE = 16 << 10, MAX_RANGE = 1 << 20, WANTED_RANGES = 256, COLUMNS = 64 };

typedef struct range {
  size_t file;
  uint64_t begin, end;
  uint64_t lines_before, first_row, n_rows; /* lines of the file, rows of all files */
} range;

/* The counts of a range, as numbers that a double represents exactly. */
enum { N_LINES, N_ROWS, IS_BAD, HASH, N_COUNTS = HASH + 4 };

struct cq_divided {
  cq_divided_options o;
  char *identity_text;
  char directory[PATH_MAX], output[PATH_MAX], part[PATH_MAX];
  range *ranges;
  size_t n, capacity;
  unsigned char *done; /* [n] ranges that were done at the beginning, or by this rank */
  double *counts;      /* [n, N_COUNTS] */
  size_t next;         /* range to look at */
  size_t given;        /* the range given last */
  size_t n_open;       /* ranges before `next` that were unfinished at the beginning */
  size_t unsaved;      /* ranges done since the last save: this one and those marked after it */
  bool has_unsaved;
  double saved; /* when */
  uint64_t n_rows, n_skipped, n_done;
  cq_identity identity;
  int lock;
  int rank, n_ranks;
};

/* --- ranges --- */

static cq_status add_file_ranges(cq_divided *d, size_t file, uint64_t size, uint64_t length, cq_error *error) {
  for (uint64_t begin = 0; begin == 0 || begin < size; begin += length) {
    if (!cq_reserve((void **)&d->ranges, &d->capacity, d->n + 1, sizeof *d->ranges))
      return cq_fail_memory(error, "ranges of lines");
    d->ranges[d->n++] = (range){.file = file, .begin = begin, .end = size - begin < length ? size : begin + length};
  }
  return CQ_OK;
}

/* Rank 0's sizes are used, so that a growing file is the same for all ranks. */
static cq_status find_ranges(cq_divided *d, cq_error *error) {
  uint64_t *sizes = cq_alloc_array_zeroed(d->o.n_paths, sizeof *sizes), total = 0;
  if (!sizes) return cq_fail_memory(error, "ranges of lines");
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < d->o.n_paths; i++) {
    cq_lines *lines;
    struct stat info;
    status = cq_lines_open_part(&lines, d->o.paths[i], 0, 0, 0, error); /* says why not, on every rank */
    if (status) break;
    cq_lines_close(lines);
    if (stat(d->o.paths[i], &info) != 0)
      status = cq_fail_errno(error, d->o.paths[i], "cannot stat");
    else
      sizes[i] = (uint64_t)info.st_size;
  }
  if (!status) status = cq_ranks_broadcast(d->o.ranks, sizes, d->o.n_paths * sizeof *sizes, error);
  for (size_t i = 0; i < d->o.n_paths; i++) total += sizes[i];
  uint64_t length = total / WANTED_RANGES;
  length = length < MIN_RANGE ? MIN_RANGE : length > MAX_RANGE ? MAX_RANGE : length;
  for (size_t i = 0; !status && i < d->o.n_paths; i++) status = add_file_ranges(d, i, sizes[i], length, error);
  cq_free(sizes);
  return status;
}

/* --- counting --- */

static cq_status open_range(cq_lines **lines, const cq_divided *d, const range *r, cq_error *error) {
  return cq_lines_open_part(lines, d->o.paths[r->file], r->begin, r->end, r->lines_before, error);
}

/* The next line of a range; CQ_ERR_FORMAT for a bad one. */
static cq_status next_good_line(cq_slice *line, cq_lines *lines, int column, cq_error *error) {
  cq_slice columns[COLUMNS];
  const cq_status status = cq_lines_next(line, lines, error);
  if (status || !line->data || column == 0) return status;
  const size_t n = cq_tsv_split(columns, COLUMNS, *line);
  if (n >= (size_t)column) return CQ_OK;
  return cq_fail_line(error, CQ_ERR_FORMAT, cq_lines_path(lines), cq_lines_number(lines),
                      "expected a column %d, the line has %zu", column, n);
}

/* Bad lines are reported later, once the number of lines before them is known. */
static cq_status count_range(double counts[N_COUNTS], const cq_divided *d, const range *r, cq_error *error) {
  cq_identity hash = {0, 0};
  uint64_t n_lines = 0, n_rows = 0;
  bool is_bad = false;
  cq_lines *lines;
  cq_status status = open_range(&lines, d, r, error);
  if (status) return status;
  for (;;) {
    cq_slice line;
    status = next_good_line(&line, lines, d->o.column, error);
    if (!status && !line.data) break;
    n_lines++;
    if (!status) {
      n_rows++;
      hash = cq_hash128_add(hash, line.data, line.n);
    } else if (status != CQ_ERR_FORMAT) {
      break;
    } else {
      is_bad = is_bad || !d->o.skip_bad || cq_lines_broken(lines);
      if (cq_lines_broken(lines)) break;
    }
  }
  cq_lines_close(lines);
  if (status && status != CQ_ERR_FORMAT) return status;
  counts[N_LINES] = (double)n_lines, counts[N_ROWS] = (double)n_rows, counts[IS_BAD] = is_bad;
  for (int i = 0; i < 4; i++)
    counts[HASH + i] = (double)(((i < 2 ? hash.low : hash.high) >> 32 * (i % 2)) & UINT32_MAX);
  return CQ_OK;
}

/* Reads the range again to report a bad line, since its lines' numbers are now known. */
static cq_status tell_bad_line(const cq_divided *d, const range *r, cq_error *error) {
  cq_lines *lines;
  cq_slice line = {"", 0};
  cq_status status = open_range(&lines, d, r, error);
  if (status) return status;
  while (!(status = next_good_line(&line, lines, d->o.column, error)) || (d->o.skip_bad && !cq_lines_broken(lines)))
    if (!status && !line.data) break;
  cq_lines_close(lines);
  return status;
}

/* The first line and row of each range. */
static cq_status place_ranges(cq_divided *d, cq_error *error) {
  uint64_t n_lines = 0, n_all = 0;
  cq_identity identity = cq_hash128(d->identity_text, strlen(d->identity_text));
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < d->n; i++) {
    range *r = &d->ranges[i];
    const double *counts = d->counts + i * N_COUNTS;
    if (r->begin == 0) n_lines = 0;
    r->lines_before = n_lines, r->first_row = d->n_rows, r->n_rows = (uint64_t)counts[N_ROWS];
    n_lines += (uint64_t)counts[N_LINES], n_all += (uint64_t)counts[N_LINES];
    d->n_rows += r->n_rows;
    identity = cq_hash128_add(identity, counts, N_COUNTS * sizeof *counts);
    if (counts[IS_BAD] > 0) {
      status = d->rank == 0 ? tell_bad_line(d, r, error) : cq_ranks_meet(d->o.ranks, NULL, error);
      if (!status && d->rank == 0)
        status = cq_fail_file(error, CQ_ERR_IO, d->o.paths[r->file], "has changed while it was read");
    }
    const bool is_last = i + 1 == d->n || d->ranges[i + 1].begin == 0;
    if (!status && is_last && n_lines == 0)
      status = cq_fail_file(error, CQ_ERR_FORMAT, d->o.paths[r->file], "the file is empty");
  }
  d->n_skipped = n_all - d->n_rows;
  const uint64_t sizes[] = {d->o.header_bytes, d->o.row_bytes, d->n};
  d->identity = cq_hash128_add(identity, sizes, sizeof sizes);
  if (!status && d->n_rows == 0)
    status =
        cq_fail(error, CQ_ERR_FORMAT, "no sentence is left, %llu lines were skipped", (unsigned long long)d->n_skipped);
  return status;
}

static cq_status count_ranges(cq_divided *d, cq_error *error) {
  d->counts = cq_alloc_array_zeroed(d->n, N_COUNTS * sizeof *d->counts);
  if (!d->counts) return cq_fail_memory(error, "ranges of lines");
  cq_status status = CQ_OK;
  for (size_t i = (size_t)d->rank; !status && i < d->n; i += (size_t)d->n_ranks)
    status = count_range(d->counts + i * N_COUNTS, d, &d->ranges[i], error);
  if (!status) status = cq_ranks_sum(d->o.ranks, d->counts, d->n * N_COUNTS, error);
  return status ? status : place_ranges(d, error);
}

/* --- finished ranges --- */

static cq_status state_path(char out[PATH_MAX], const cq_divided *d, const char *name, size_t number, cq_error *error) {
  char text[64];
  snprintf(text, sizeof text, "%s-%zu", name, number);
  return cq_path_join(out, PATH_MAX, d->directory, text, error);
}

static uint64_t output_bytes(const cq_divided *d) {
  return d->o.header_bytes + d->n_rows * d->o.row_bytes;
}

/* Adds one file's range to the finished ones. */
static bool take_done(cq_divided *d, const char *path) {
  cq_slice bytes;
  cq_identity identity;
  if (cq_file_read(&bytes, path, NULL)) return false;
  bool is_of = bytes.n == sizeof identity + d->n;
  if (is_of) memcpy(&identity, bytes.data, sizeof identity);
  is_of = is_of && cq_identity_equal(identity, d->identity);
  for (size_t i = 0; is_of && i < d->n; i++) d->done[i] |= bytes.data[sizeof identity + i] != 0;
  cq_free((void *)(uintptr_t)bytes.data);
  return is_of;
}

/* Finds the ranges that an earlier run has finished. */
static void find_done(cq_divided *d) {
  struct stat info;
  char path[PATH_MAX];
  if (d->o.row_bytes && (stat(d->output, &info) != 0 || (uint64_t)info.st_size != output_bytes(d))) return;
  DIR *dir = opendir(d->directory);
  for (struct dirent *entry; dir && (entry = readdir(dir));)
    if (!strncmp(entry->d_name, "done-", 5) && !strchr(entry->d_name, '.') &&
        !cq_path_join(path, sizeof path, d->directory, entry->d_name, NULL))
      take_done(d, path);
  if (dir) closedir(dir);
  for (size_t i = 0; i < d->n; i++) {
    if (d->done[i] && !d->o.row_bytes) d->done[i] = !state_path(path, d, "rows", i, NULL) && cq_file_exists(path);
    if (d->done[i]) d->n_done += d->ranges[i].n_rows;
  }
}

/* Removes the files of another run and reserves space for the rows. */
static cq_status begin_anew(cq_divided *d, cq_error *error) {
  DIR *dir = opendir(d->directory);
  char path[PATH_MAX];
  for (struct dirent *entry; dir && (entry = readdir(dir));)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
        !cq_path_join(path, sizeof path, d->directory, entry->d_name, NULL))
      unlink(path);
  if (dir) closedir(dir);
  if (!d->o.row_bytes) return CQ_OK;
  const int fd = open(d->output, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return cq_fail_errno(error, d->output, "cannot create");
  cq_status status = CQ_OK;
  if (ftruncate(fd, (off_t)output_bytes(d)) != 0) status = cq_fail_errno(error, d->output, "cannot make room for");
  close(fd);
  return status;
}

static cq_status begin_output(cq_divided *d, cq_error *error) {
  struct stat info;
  if (stat(d->o.output, &info) == 0 && !S_ISREG(info.st_mode))
    return cq_fail_file(error, CQ_ERR_ARGUMENT, d->o.output, "is not a regular file: rows cannot be put in place");
  cq_status status = cq_directory_make(d->directory, error);
  if (!status) status = cq_directory_lock(&d->lock, d->directory, error);
  if (!status) find_done(d);
  return status || d->n_done ? status : begin_anew(d, error);
}

/* --- opening --- */

static cq_status open_divided(cq_divided *d, cq_error *error) {
  if (snprintf(d->directory, sizeof d->directory, "%s.unfinished", d->o.output) >= (int)sizeof d->directory)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, d->o.output, "the path is too long");
  cq_status status = cq_path_join(d->output, sizeof d->output, d->directory, "output", error);
  if (!status) status = find_ranges(d, error);
  if (!status) status = count_ranges(d, error);
  if (!status && !(d->done = cq_alloc_array_zeroed(d->n, 1))) status = cq_fail_memory(error, "ranges of lines");
  if (!status && d->rank == 0) status = begin_output(d, error);
  if (!status) status = cq_ranks_broadcast(d->o.ranks, d->done, d->n, error);
  if (!status) status = cq_ranks_broadcast(d->o.ranks, &d->n_done, sizeof d->n_done, error);
  if (!status && !cq_is_directory(d->directory))
    status = cq_fail_file(error, CQ_ERR_IO, d->directory, "not found: all ranks must see the directory of rank 0");
  d->saved = cq_seconds(CLOCK_MONOTONIC);
  return status ? status : cq_ranks_meet(d->o.ranks, NULL, error);
}

cq_status cq_divided_open(cq_divided **out, const cq_divided_options *options, cq_error *error) {
  *out = NULL;
  cq_divided *d = cq_alloc_zeroed(sizeof *d);
  if (!d) return cq_fail_memory(error, options->output);
  d->o = *options;
  d->rank = cq_ranks_rank(options->ranks), d->n_ranks = cq_ranks_count(options->ranks);
  d->identity_text = cq_strdup(options->identity);
  cq_status status = d->identity_text ? open_divided(d, error) : cq_fail_memory(error, options->output);
  if (status)
    cq_divided_close(d);
  else
    *out = d;
  return status;
}

void cq_divided_close(cq_divided *d) {
  if (!d) return;
  if (d->lock > 0) close(d->lock);
  cq_free(d->identity_text);
  cq_free(d->ranges);
  cq_free(d->done);
  cq_free(d->counts);
  cq_free(d);
}

uint64_t cq_divided_n_rows(const cq_divided *d) {
  return d->n_rows;
}

uint64_t cq_divided_n_skipped(const cq_divided *d) {
  return d->n_skipped;
}

uint64_t cq_divided_n_done(const cq_divided *d) {
  return d->n_done;
}

const char *cq_divided_directory(const cq_divided *d) {
  return d->directory;
}

/* --- one range after another --- */

static cq_divided_range show_range(cq_divided *d, size_t i) {
  const range *r = &d->ranges[i];
  const char *output = d->output;
  if (!d->o.row_bytes) {
    const cq_status too_long = state_path(d->part, d, "rows", i, NULL); /* then it cannot be opened */
    if (too_long) d->part[0] = '\0';
    output = d->part;
  }
  return (cq_divided_range){.path = d->o.paths[r->file],
                            .begin = r->begin,
                            .end = r->end,
                            .lines_before = r->lines_before,
                            .first_row = r->first_row,
                            .n_rows = r->n_rows,
                            .output = output,
                            .at = d->o.row_bytes ? d->o.header_bytes + r->first_row * d->o.row_bytes : 0};
}

bool cq_divided_share(cq_divided_range *out, cq_divided *d, size_t i) {
  const size_t at = i * (size_t)d->n_ranks + (size_t)d->rank;
  if (at >= d->n) return false;
  *out = show_range(d, at);
  return true;
}

bool cq_divided_next(cq_divided_range *out, cq_divided *d) {
  for (; d->next < d->n; d->next++) {
    if (d->done[d->next]) continue;
    const bool is_own = d->n_open++ % (size_t)d->n_ranks == (size_t)d->rank;
    if (!is_own) continue;
    d->given = d->next++;
    *out = show_range(d, d->given);
    return true;
  }
  return false;
}

static cq_status sync_file(const char *path, cq_error *error) {
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return cq_fail_errno(error, path, "cannot open");
  cq_status status = fsync(fd) == 0 ? CQ_OK : cq_fail_errno(error, path, "cannot write");
  close(fd);
  return status;
}

/* Writes the rows first, then the record that they are written. */
static cq_status save_done(cq_divided *d, cq_error *error) {
  char path[PATH_MAX];
  cq_builder bytes = {0};
  if (!d->has_unsaved) return CQ_OK;
  cq_status status = d->o.row_bytes ? sync_file(d->output, error) : CQ_OK;
  for (size_t i = d->unsaved; !d->o.row_bytes && !status && i <= d->given; i++) {
    if (d->done[i] != 2) continue;
    status = state_path(path, d, "rows", i, error);
    if (!status) status = sync_file(path, error);
    d->done[i] = 1;
  }
  if (!status) status = state_path(path, d, "done", (size_t)d->rank, error);
  cq_builder_bytes(&bytes, (const char *)&d->identity, sizeof d->identity);
  cq_builder_bytes(&bytes, (const char *)d->done, d->n);
  if (!status) status = bytes.failed ? cq_fail_memory(error, path) : cq_file_write(path, bytes.data, bytes.n, error);
  cq_builder_free(&bytes);
  d->has_unsaved = false;
  d->saved = cq_seconds(CLOCK_MONOTONIC);
  return status;
}

cq_status cq_divided_done(cq_divided *d, cq_error *error) {
  d->done[d->given] = 2; /* its rows may still be in the system's memory */
  if (!d->has_unsaved) d->unsaved = d->given;
  d->has_unsaved = true;
  const double every = d->o.save_every_s > 0 ? d->o.save_every_s : d->o.save_every_s < 0 ? 0 : 1;
  return cq_seconds(CLOCK_MONOTONIC) - d->saved >= every ? save_done(d, error) : CQ_OK;
}

/* --- the end --- */

static cq_status file_size(uint64_t *size, const char *path, cq_error *error) {
  struct stat info;
  if (stat(path, &info) != 0) return cq_fail_errno(error, path, "cannot stat");
  *size = (uint64_t)info.st_size;
  return CQ_OK;
}

/* The rows of a range, in the output. */
static cq_status copy_range(int fd, uint64_t at, const char *path, const cq_divided *d, cq_error *error) {
  cq_mapping rows;
  cq_status status = cq_mapping_open(&rows, path, error);
  if (status) return status;
  status = cq_write_at(fd, rows.data, rows.n, (int64_t)at, d->output, error);
  cq_mapping_close(&rows);
  return status;
}

/* For rows of variable length: the ranges' offsets are known only now. Each rank copies some of the ranges. */
static cq_status put_together(cq_divided *d, cq_error *error) {
  char path[PATH_MAX];
  uint64_t at = 0;
  const int fd = open(d->output, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  cq_status status = fd < 0 ? cq_fail_errno(error, d->output, "cannot create") : CQ_OK;
  for (size_t i = 0; !status && i < d->n; i++) {
    uint64_t size = 0;
    status = state_path(path, d, "rows", i, error);
    if (!status) status = file_size(&size, path, error);
    if (!status && i % (size_t)d->n_ranks == (size_t)d->rank) status = copy_range(fd, at, path, d, error);
    at += size;
  }
  if (!status && fsync(fd) != 0) status = cq_fail_errno(error, d->output, "cannot write");
  if (fd >= 0) close(fd);
  return status;
}

static cq_status put_in_place(cq_divided *d, const void *header, cq_error *error) {
  const int fd = open(d->output, O_WRONLY | O_CLOEXEC);
  cq_status status = fd < 0 ? cq_fail_errno(error, d->output, "cannot open") : CQ_OK;
  if (!status) status = cq_write_at(fd, header, d->o.header_bytes, 0, d->output, error);
  if (!status && fsync(fd) != 0) status = cq_fail_errno(error, d->output, "cannot write");
  if (fd >= 0) close(fd);
  if (!status && rename(d->output, d->o.output) != 0) status = cq_fail_errno(error, d->o.output, "cannot put in place");
  if (!status) status = cq_sync_name(d->o.output, error);
  if (!status) cq_directory_remove(d->directory);
  return status;
}

cq_status cq_divided_finish(cq_divided *d, const void *header, cq_error *error) {
  cq_status status = save_done(d, error);
  if (!status) status = cq_ranks_meet(d->o.ranks, NULL, error);
  if (!status && !d->o.row_bytes) status = put_together(d, error);
  if (!status) status = cq_ranks_meet(d->o.ranks, NULL, error);
  if (!status && d->rank == 0) status = put_in_place(d, header, error);
  return status ? status : cq_ranks_meet(d->o.ranks, NULL, error);
}
