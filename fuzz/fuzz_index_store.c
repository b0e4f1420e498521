/* Any bytes as an index' manifest, documents and deletions are an error, or records that lie inside the file. The
 * input is the three, with a line of '=' after the first two. */
#define _GNU_SOURCE
#include "fuzz.h"

#include "store/index_store.h"

#include <string.h>
#include <sys/stat.h>

static char directory[96];

static void path_of(char out[128], const char *name) {
  snprintf(out, 128, "%s/%s", directory, name);
}

static void remove_directory(void) {
  static const char *const names[] = {"manifest.json", "documents", "vectors", "deleted-1"};
  char path[128];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) path_of(path, names[i]), unlink(path);
  rmdir(directory);
}

static void write_part(const char *name, const uint8_t *data, size_t n) {
  char path[128];
  path_of(path, name);
  FILE *f = fopen(path, "wb");
  CHECK(f && fwrite(data, 1, n, f) == n && fclose(f) == 0);
}

static size_t part(const uint8_t *data, size_t n, size_t *next) {
  const uint8_t *end = n > 0 ? memmem(data, n, "\n=\n", 3) : NULL;
  *next = end ? (size_t)(end - data) + 3 : n;
  return end ? (size_t)(end - data) + 1 : n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static const uint8_t vectors[4096];
  cq_index_store *store;
  cq_error error = {0};
  size_t next;
  if (!directory[0]) {
    snprintf(directory, sizeof directory, "%s.index", temporary_file(0));
    CHECK(mkdir(directory, 0777) == 0 && atexit(remove_directory) == 0);
    write_part("vectors", vectors, sizeof vectors);
  }
  const char *const names[] = {"manifest.json", "documents", "deleted-1"};
  for (int i = 0; i < 3; i++) {
    const size_t length = part(data, n, &next);
    write_part(names[i], data, length);
    data += next, n -= next;
  }
  const cq_status status = cq_index_store_open(&store, directory, false, &error);
  if (status) {
    CHECK(!store && error.message[0]);
    CHECK(status == CQ_ERR_FORMAT || status == CQ_ERR_UNSUPPORTED || status == CQ_ERR_IO || status == CQ_ERR_MEMORY);
    return 0;
  }
  cq_index_snapshot *snapshot = cq_index_store_hold(store);
  cq_index_store_close(store);
  const cq_index_info info = cq_index_snapshot_info(snapshot);
  int64_t n_live = 0;
  CHECK(info.dim > 0 && info.n >= 0 && info.n * info.dim * 4 <= (int64_t)sizeof vectors);
  for (int64_t i = 0; i < info.n; i++) {
    const cq_index_record r = cq_index_snapshot_record(snapshot, i);
    CHECK(!memchr(r.id.data, '\t', r.id.n) && !memchr(r.text.data, '\n', r.text.n));
    n_live += cq_index_snapshot_is_live(snapshot, i);
  }
  CHECK(n_live == info.n_live && info.n_approximate <= info.n);
  cq_index_snapshot_release(snapshot);
  return 0;
}
