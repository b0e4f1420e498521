/* Any bytes as the manifest, documents and deletions of an index of an older format are an error, or records that lie
 * inside the file. The input is the three, with a line of '=' after the first two. */
#include "fuzz.h"

#include "store/index_store.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static const uint8_t vectors[4096];
  cq_index_store *store;
  cq_error error = {0};
  static bool is_written;
  if (!is_written) fuzz_file("vectors", vectors, sizeof vectors), is_written = true;
  const char *const names[] = {"manifest.json", "documents", "deleted-1"};
  for (int i = 0; i < 3; i++) {
    const fuzz_part part = fuzz_next_part(&data, &n);
    fuzz_file(names[i], part.data, part.n);
  }
  const cq_status status = cq_index_store_open(&store, fuzz_path(""), false, &error);
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
    cq_arena arena = {0};
    cq_document d;
    const cq_status read = cq_index_snapshot_document(&d, &arena, snapshot, i, &error);
    CHECK(!read || read == CQ_ERR_MEMORY);
    CHECK(read || (!memchr(d.id.data, '\t', d.id.n) && !memchr(d.text.data, '\n', d.text.n)));
    cq_arena_free(&arena);
    n_live += cq_index_snapshot_is_live(snapshot, i);
  }
  CHECK(n_live == info.n_live && info.n_approximate <= info.n);
  cq_index_snapshot_release(snapshot);
  return 0;
}
