/* Whatever happens to the files of an index: it is noticed, or what is read is what was written. So FAISS is never
 * given an approximation that is not as it was. The input is changes to the files, four bytes each:
 *
 *   which file, and what: % 7, / 7 % 4: change a byte, truncate, add a byte, change a bit
 *   where, two bytes, modulo the size
 *   the new value */
#define _GNU_SOURCE /* memmem */
#include "fuzz.h"

#include "base/file.h"
#include "base/slice.h"
#include "store/index_store.h"

#include <string.h>

enum { DIM = 2, N = 3, N_FILES = 7, MANIFEST = 0, APPROXIMATION = 5, MAX_BYTES = 20000, MAX_CHANGES = 32 };

static const char *const names[N_FILES] = {"i/manifest.json", "i/passages-1",    "i/vectors-1",  "i/checks-1",
                                           "i/deleted-1",     "i/approximate-1", "i/documents-1"};
static const float vectors[N * DIM] = {1, 2, -3, 4, 0.5f, 0};
static const char *const ids[N] = {"a", "b", "c"}, *const texts[N] = {"Eins.", "Two words", ""};

static struct file {
  uint8_t bytes[MAX_BYTES], was[MAX_BYTES];
  size_t n, n_was;
  bool is_changed;
} files[N_FILES];

/* An index of three documents, one of them deleted, with bytes of ours for an approximation. */
static void make_index(void) {
  const char *directory = fuzz_path("made");
  cq_document documents[N];
  cq_index_passage passages[N];
  cq_index_addition additions[N];
  cq_index_store *store;
  cq_slice bytes;
  char approximation[600];
  size_t n_removed;
  for (size_t i = 0; i < N; i++) {
    documents[i] =
        (cq_document){.id = cq_slice_of(ids[i]), .language = cq_slice_of("de"), .text = cq_slice_of(texts[i])};
    passages[i] = (cq_index_passage){.end = (uint32_t)documents[i].text.n};
    additions[i] = (cq_index_addition){&documents[i], &passages[i], 1};
  }
  for (size_t i = 0; i < sizeof approximation; i++) approximation[i] = (char)(i * 7 % 251);
  CHECK(cq_index_store_create(directory, "a model", "f00d", DIM, false, NULL) == CQ_OK);
  CHECK(cq_index_store_open(&store, directory, true, NULL) == CQ_OK);
  CHECK(cq_index_store_append(store, additions, N, vectors, NULL) == CQ_OK);
  CHECK(cq_index_store_commit(store, NULL) == CQ_OK);
  CHECK(cq_index_store_remove(store, &documents[1].id, 1, &n_removed, NULL) == CQ_OK && n_removed == 1);
  char path[300];
  snprintf(path, sizeof path, "%s/approximate-1", directory);
  CHECK(cq_file_write(path, approximation, sizeof approximation, NULL) == CQ_OK);
  CHECK(cq_index_store_set_approximate(store, true, NULL) == CQ_OK && cq_index_store_commit(store, NULL) == CQ_OK);
  cq_index_store_close(store);
  for (int i = 0; i < N_FILES; i++) {
    snprintf(path, sizeof path, "%s/%s", directory, names[i] + 2);
    CHECK(cq_file_read(&bytes, path, NULL) == CQ_OK && bytes.n > 0 && bytes.n < MAX_BYTES - MAX_CHANGES);
    memcpy(files[i].was, bytes.data, files[i].n_was = bytes.n);
    files[i].is_changed = true;
    cq_free((void *)(uintptr_t)bytes.data);
  }
  cq_directory_remove(directory);
}

static void restore(void) {
  for (int i = 0; i < N_FILES; i++) {
    if (!files[i].is_changed) continue;
    memcpy(files[i].bytes, files[i].was, files[i].n = files[i].n_was);
    fuzz_file(names[i], files[i].bytes, files[i].n);
    files[i].is_changed = false;
  }
}

static void change(const uint8_t *data, size_t n) {
  for (size_t k = 0; k + 4 <= n && k < 4 * (size_t)MAX_CHANGES; k += 4) {
    struct file *f = &files[data[k] % N_FILES];
    const size_t at = f->n ? ((size_t)data[k + 1] | (size_t)data[k + 2] << 8) % f->n : 0;
    f->is_changed = true;
    switch (data[k] / N_FILES % 4) {
    case 0: f->bytes[at] = data[k + 3]; break;
    case 1: f->n = at; break;
    case 2: f->bytes[f->n++] = data[k + 3]; break;
    default: f->bytes[at] ^= (uint8_t)(1u << data[k + 3] % 8); break;
    }
  }
  for (int i = 0; i < N_FILES; i++)
    if (files[i].is_changed) fuzz_file(names[i], files[i].bytes, files[i].n);
}

static bool is_as_it_was(const struct file *f) {
  return f->n == f->n_was && !memcmp(f->bytes, f->was, f->n);
}

static void read_back(const cq_index_snapshot *s) {
  const cq_index_info info = cq_index_snapshot_info(s);
  cq_error error = {0};
  char path[300];
  CHECK(info.n == N && info.dim == DIM && info.n_live == N - 1 && info.n_approximate == N && info.approximate == 1);
  CHECK(!strcmp(info.model, "a model") && info.fingerprint && !strcmp(info.fingerprint, "f00d"));
  for (int64_t i = 0; i < N; i++) CHECK(cq_index_snapshot_is_live(s, i) == (i != 1));
  snprintf(path, sizeof path, "%s", fuzz_path(names[APPROXIMATION]));
  cq_status status = cq_index_snapshot_verify_approximate(s, path, &error);
  CHECK((status == CQ_OK) == is_as_it_was(&files[APPROXIMATION]));
  CHECK(!status || (status == CQ_ERR_FORMAT && error.message[0]));
  status = cq_index_snapshot_verify(s, NULL, &error);
  CHECK(!status || error.message[0]);
  for (int64_t i = 0; i < N; i++) {
    cq_arena arena = {0};
    cq_document d;
    const bool is_sound = cq_index_snapshot_is_sound(s, i);
    const bool is_document = cq_index_snapshot_document(&d, &arena, s, i, NULL) == CQ_OK;
    CHECK(status || (is_sound && is_document));
    if (is_sound) CHECK(!memcmp(cq_index_snapshot_vectors(s) + i * DIM, vectors + i * DIM, DIM * sizeof *vectors));
    if (is_sound) CHECK(cq_index_snapshot_passage(s, i).first == i);
    if (is_document) CHECK(cq_slice_equal(d.id, cq_slice_of(ids[i])) && cq_slice_equal(d.text, cq_slice_of(texts[i])));
    cq_arena_free(&arena);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  cq_index_store *store;
  cq_error error = {0};
  if (files[0].n_was == 0) make_index();
  restore();
  change(data, n);
  const cq_status status = cq_index_store_open(&store, fuzz_path("i"), false, &error);
  if (status) {
    CHECK(!store && error.message[0] && n >= 4);
    return 0;
  }
  cq_index_snapshot *snapshot = cq_index_store_hold(store);
  cq_index_store_close(store);
  read_back(snapshot);
  cq_index_snapshot_release(snapshot);
  return 0;
}
