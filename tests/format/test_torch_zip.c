/* pytorch_model.bin: what PyTorch wrote is read; what is no state dict is refused, and nothing is ever run. */
#include "support/files.h"

#include "base/memory.h"
#include "format/torch_zip.h"

/* tests/golden/format/state.bin, see reference/golden_formats.py. */
static void a_state_dict_is_read(void **state) {
  (void)state;
  static const char *const names[] = {"f32", "f16", "bf16", "parameter"};
  cq_safetensors *file;
  cq_error error = {0};
  float out[15];
  const char *path = tests_file("golden/format/state.bin");
  if (cq_torch_zip_open(&file, path, &error)) fail_msg("%s", error.message);
  assert_int_equal(cq_safetensors_count(file), 8);
  assert_string_equal(cq_safetensors_at(file, 0)->name, "f32");
  for (int i = 0; i < 4; i++) {
    const cq_stored_tensor *t = cq_safetensors_find(file, names[i]);
    assert_true(t && t->n_dims == 2 && t->shape[0] == 3 && t->shape[1] == 5 && t->n_elements == 15);
    assert_int_equal(cq_stored_tensor_to_f32(out, t, path, &error), CQ_OK);
    for (int k = 0; k < 15; k++) assert_true(out[k] == (float)k * 0.25f - 1);
  }
  const cq_stored_tensor *shared = cq_safetensors_find(file, "shared"), *row = cq_safetensors_find(file, "row");
  assert_true(row->n_dims == 1 && row->shape[0] == 4);
  assert_ptr_equal(row->data, (const char *)shared->data + 16);
  const cq_stored_tensor *scalar = cq_safetensors_find(file, "scalar");
  assert_true(scalar->n_dims == 0 && scalar->n_elements == 1);
  assert_int_equal(cq_stored_tensor_to_f32(out, scalar, path, &error), CQ_OK);
  assert_true(out[0] == 2.5f);
  const cq_stored_tensor *i64 = cq_safetensors_find(file, "i64");
  assert_true(i64->dtype == CQ_I64 && i64->n_elements == 3);
  cq_safetensors_close(file);
}

static void other_objects_are_refused_by_name(void **state) {
  (void)state;
  cq_safetensors *file;
  cq_error error = {0};
  assert_int_equal(cq_torch_zip_open(&file, tests_file("golden/format/object.bin"), &error), CQ_ERR_UNSUPPORTED);
  assert_null(file);
  assert_non_null(strstr(error.message, "it needs pathlib.PurePosixPath, which is not part of a state dict"));
  assert_int_equal(cq_torch_zip_open(&file, tests_file("golden/format/strided.bin"), &error), CQ_ERR_UNSUPPORTED);
  assert_non_null(strstr(error.message, "a tensor that is not contiguous"));
}

/* ---- archives of our own making ---- */

struct archive {
  unsigned char bytes[4000], directory[1000];
  size_t n, directory_n, n_entries;
};

static void number(unsigned char *p, uint64_t x, int n_bytes) {
  for (int i = 0; i < n_bytes; i++) p[i] = (unsigned char)(x >> (8 * i));
}

static void add(struct archive *a, const char *name, const void *data, size_t n) {
  size_t name_n = strlen(name);
  unsigned char *local = a->bytes + a->n, *record = a->directory + a->directory_n;
  assert_true(a->n + 30 + name_n + n < sizeof a->bytes && a->directory_n + 46 + name_n < sizeof a->directory);
  memset(local, 0, 30);
  memset(record, 0, 46);
  memcpy(local, "PK\3\4", 4);
  memcpy(record, "PK\1\2", 4);
  number(local + 26, name_n, 2);
  number(record + 20, n, 4);
  number(record + 24, n, 4);
  number(record + 28, name_n, 2);
  number(record + 42, a->n, 4);
  memcpy(local + 30, name, name_n);
  memcpy(record + 46, name, name_n);
  memcpy(local + 30 + name_n, data, n);
  a->n += 30 + name_n + n;
  a->directory_n += 46 + name_n;
  a->n_entries++;
}

static size_t finish(struct archive *a) {
  size_t at = a->n;
  memcpy(a->bytes + a->n, a->directory, a->directory_n);
  a->n += a->directory_n;
  unsigned char *end = a->bytes + a->n;
  memset(end, 0, 22);
  memcpy(end, "PK\5\6", 4);
  number(end + 8, a->n_entries, 2);
  number(end + 10, a->n_entries, 2);
  number(end + 12, a->directory_n, 4);
  number(end + 16, at, 4);
  a->n += 22;
  return at;
}

/* An archive of the given pickle and one storage "0" of 16 bytes. */
static cq_status open_pickle(const void *pickle, size_t n, cq_error *error) {
  struct archive a = {.n = 0};
  cq_safetensors *file;
  add(&a, "m/data.pkl", pickle, n);
  add(&a, "m/data/0", "0123456789abcdef", 16);
  finish(&a);
  write_bytes(test_path("p.bin"), a.bytes, a.n);
  cq_status status = cq_torch_zip_open(&file, test_path("p.bin"), error);
  assert_int_equal(status == CQ_OK, file != NULL);
  cq_safetensors_close(file);
  return status;
}

#define TENSOR(offset, shape, stride)                                                                                  \
  "ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0"                               \
  "0X\3\0\0\0cpuK\4tQ" offset shape stride "\x89"                                                                      \
  "ccollections\nOrderedDict\n)RtR"
#define NAMED   "\x80\2}X\1\0\0\0a"
#define DEFAULT TENSOR("K\0", "K\4\x85", "K\1\x85")

static void broken_pickles_are_found_out(void **state) {
  (void)state;
  int failures = 0;
#define P(text) text, sizeof text - 1
  static const struct {
    const char *pickle;
    size_t n;
    cq_status status;
    const char *message;
  } cases[] = {
      {P("\x80\2}."), CQ_OK, NULL},
      {P(NAMED DEFAULT "s."), CQ_OK, NULL},
      {P("\x80\4\x95\0\0\0\0\0\0\0\0}(\x8c\1a" DEFAULT "u."), CQ_OK, NULL},
      {P(NAMED TENSOR("K\2", "K\1K\2\x86", "K\x09K\1\x86") "s."), CQ_OK, NULL},
      {P(NAMED TENSOR("K\4", "K\0K\7\x86", "K\1K\1\x86") "s."), CQ_OK, NULL},
      {P(NAMED DEFAULT "s}X\1\0\0\0bNsb."), CQ_OK, NULL},
      {P(NAMED TENSOR("K\1", "K\4\x85", "K\1\x85") "s."), CQ_ERR_FORMAT, "a tensor reaches past its storage"},
      {P(NAMED TENSOR("J\xff\xff\xff\xff", "K\4\x85", "K\1\x85") "s."), CQ_ERR_FORMAT,
       "a tensor reaches past its storage"},
      {P(NAMED TENSOR("\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f", "K\4\x85", "K\1\x85") "s."), CQ_ERR_FORMAT,
       "reaches past"},
      {P(NAMED TENSOR("K\0", "\x8a\x08\0\0\0\0\0\0\0\x40K\4\x86", "K\4K\1\x86") "s."), CQ_ERR_FORMAT, "more than 2^63"},
      {P(NAMED TENSOR("K\0", "K\2K\2\x86", "K\1K\2\x86") "s."), CQ_ERR_UNSUPPORTED, "not contiguous"},
      {P(NAMED TENSOR("K\0", "K\2K\2\x86", "K\1\x85") "s."), CQ_ERR_FORMAT, "expected (storage, offset, shape, stride"},
      {P(NAMED TENSOR("N", "K\4\x85", "K\1\x85") "s."), CQ_ERR_FORMAT, "expected (storage, offset, shape, stride"},
      {P(NAMED TENSOR("K\0", "N\x85", "K\1\x85") "s."), CQ_ERR_FORMAT, "a shape of no whole numbers"},
      {P(NAMED TENSOR("K\0", "(K\1K\1K\1K\1K\1K\1K\1K\1K\1t", "(K\1K\1K\1K\1K\1K\1K\1K\1K\1t") "s."),
       CQ_ERR_UNSUPPORTED, "more than 8 dimensions"},
      {P(NAMED "(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0"
               "1X\3\0\0\0cpuK\4tQs."),
       CQ_ERR_FORMAT, "not in the archive"},
      {P(NAMED "(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0"
               "0X\3\0\0\0cpuK\5tQs."),
       CQ_ERR_FORMAT, "another size"},
      {P("\x80\2cos\nsystem\nX\4\0\0\0true\x85R."), CQ_ERR_UNSUPPORTED, "it needs os.system, which is not part"},
      {P("\x80\2cbuiltins\neval\n."), CQ_ERR_UNSUPPORTED, "it needs builtins.eval"},
      {P("\x80\2ctorch._utils\nFloatStorage\n."), CQ_ERR_UNSUPPORTED, "it needs torch._utils.FloatStorage"},
      {P("\x80\2X\2\0\0\0osX\6\0\0\0system\x93."), CQ_ERR_UNSUPPORTED, "pickle instruction 0x93"},
      {P("\x80\2i"), CQ_ERR_UNSUPPORTED, "pickle instruction 0x69"},
      {P(NAMED "K\1s."), CQ_ERR_UNSUPPORTED, "entry 'a' of the dictionary is not a tensor"},
      {P("\x80\2}K\1" DEFAULT "s."), CQ_ERR_UNSUPPORTED, "a key that is not a name"},
      {P(NAMED DEFAULT "sX\1\0\0\0a" DEFAULT "s."), CQ_ERR_FORMAT, "two tensors are named 'a'"},
      {P("\x80\2]."), CQ_ERR_UNSUPPORTED, "the pickle holds something else"},
      {P("\x80\2."), CQ_ERR_FORMAT, "the stack is empty"},
      {P("\x80\2(."), CQ_ERR_FORMAT, "the stack is empty"},
      {P("\x80\2(\x85."), CQ_ERR_FORMAT, "the stack is empty"},
      {P("\x80\2K\1s."), CQ_ERR_FORMAT, "items without a container"},
      {P("\x80\2}(K\1u."), CQ_ERR_FORMAT, "a key without a value"},
      {P("\x80\2}u."), CQ_ERR_FORMAT, "no mark on the stack"},
      {P("\x80\2}h\0."), CQ_ERR_FORMAT, "recalls a memo that was not stored"},
      {P("\x80\2}r\xff\xff\xff\xff."), CQ_ERR_FORMAT, "a memo number that is too high"},
      {P("\x80\2\x8a\x09\0\0\0\0\0\0\0\0\1."), CQ_ERR_FORMAT, "an integer of more than 64 bits"},
      {P("\x80\2X\xff\xff\xff\xff"), CQ_ERR_FORMAT, "it ends too early"},
      {P("\x80\2\x8d\xff\xff\xff\xff\xff\xff\xff\xff"), CQ_ERR_FORMAT, "it ends too early"},
      {P("\x80\2cos"), CQ_ERR_FORMAT, "it ends too early"},
      {P("\x80\2}"), CQ_ERR_FORMAT, "it ends too early"},
      {P(""), CQ_ERR_FORMAT, "it ends too early"},
      {P("\x80\2K\1K\1R."), CQ_ERR_FORMAT, "a call of no known function"},
      {P("\x80\2ctorch\nFloatStorage\n)R."), CQ_ERR_FORMAT, "a call of no known function"},
      {P("\x80\2ccollections\nOrderedDict\n}\x85R."), CQ_ERR_UNSUPPORTED,
       "an ordered dictionary that is made with items"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cq_error error = {0};
    cq_status status = open_pickle(cases[i].pickle, cases[i].n, &error);
    if (status != cases[i].status || (cases[i].message && !strstr(error.message, cases[i].message)))
      failures++, print_error("case %zu: status %d: %s\n", i, status, error.message);
  }
  assert_int_equal(failures, 0);
  cq_error error = {0};
  assert_int_equal(open_pickle("\x80\2}K", 4, &error), CQ_ERR_FORMAT);
  assert_int_equal(error.byte, 40 + 3); /* the header has 30 bytes and a name of 10 */
}

/* A storage is found wherever it lies. */
static void entries_come_in_any_order(void **state) {
  static const char pickle[] = NAMED DEFAULT "s.";
  struct archive a = {.n = 0};
  cq_safetensors *file;
  (void)state;
  add(&a, "m/data/0", "0123456789abcdef", 16);
  add(&a, "m/data.pkl", pickle, sizeof pickle - 1);
  finish(&a);
  write_bytes(test_path("turned.bin"), a.bytes, a.n);
  assert_int_equal(cq_torch_zip_open(&file, test_path("turned.bin"), NULL), CQ_OK);
  cq_safetensors_close(file);
}

/* Cut or with any one byte changed the file gives an error or a reading, but never trouble. */
static void damaged_archives_do_no_harm(void **state) {
  (void)state;
  size_t n;
  unsigned char *bytes = read_bytes(&n, tests_file("golden/format/state.bin"));
  for (size_t i = 0; i < n; i++) {
    cq_safetensors *file;
    cq_error error = {0};
    write_bytes(test_path("cut.bin"), bytes, i);
    cq_status status = cq_torch_zip_open(&file, test_path("cut.bin"), &error);
    assert_int_equal(status, CQ_ERR_FORMAT);
    assert_true(error.byte <= n && error.message[0]);
    bytes[i] ^= 0xFF;
    write_bytes(test_path("cut.bin"), bytes, n);
    bytes[i] ^= 0xFF;
    status = cq_torch_zip_open(&file, test_path("cut.bin"), &error);
    assert_true(status == CQ_OK || status == CQ_ERR_FORMAT || status == CQ_ERR_UNSUPPORTED);
    cq_safetensors_close(file);
  }
  free(bytes);
}

static void archives_are_checked(void **state) {
  (void)state;
  cq_safetensors *file;
  cq_error error = {0};
  struct archive a = {.n = 0};
  add(&a, "m/other", "x", 1);
  size_t at = finish(&a);
  write_bytes(test_path("a.bin"), a.bytes, a.n);
  assert_int_equal(cq_torch_zip_open(&file, test_path("a.bin"), &error), CQ_ERR_FORMAT);
  assert_non_null(strstr(error.message, "the archive has no data.pkl"));
  a.bytes[at + 10] = 8; /* deflated */
  write_bytes(test_path("a.bin"), a.bytes, a.n);
  assert_int_equal(cq_torch_zip_open(&file, test_path("a.bin"), &error), CQ_ERR_UNSUPPORTED);
  assert_int_equal(error.byte, at);
  assert_non_null(strstr(error.message, "entry 'm/other' is compressed"));
  a.bytes[at + 10] = 0;
  number(a.bytes + at + 20, 5000, 4);
  number(a.bytes + at + 24, 5000, 4);
  write_bytes(test_path("a.bin"), a.bytes, a.n);
  assert_int_equal(cq_torch_zip_open(&file, test_path("a.bin"), &error), CQ_ERR_FORMAT);
  assert_non_null(strstr(error.message, "entry 'm/other' does not fit into the file"));
  number(a.bytes + a.n - 12, 60000, 2);
  write_bytes(test_path("a.bin"), a.bytes, a.n);
  assert_int_equal(cq_torch_zip_open(&file, test_path("a.bin"), &error), CQ_ERR_FORMAT);
  assert_non_null(strstr(error.message, "more entries than the file has room for"));
  write_text(test_path("a.bin"), "\x80\2\x8a\nl\xfc\x9c");
  assert_int_equal(cq_torch_zip_open(&file, test_path("a.bin"), &error), CQ_ERR_UNSUPPORTED);
  assert_non_null(strstr(error.message, "older than PyTorch 1.6"));
  write_text(test_path("a.bin"), "");
  assert_int_equal(cq_torch_zip_open(&file, test_path("a.bin"), &error), CQ_ERR_FORMAT);
  struct archive big = {.n = 0};
  add(&big, "m/data.pkl", "\x80\2}.", 4);
  add(&big, "m/byteorder", "big", 3);
  finish(&big);
  write_bytes(test_path("a.bin"), big.bytes, big.n);
  assert_int_equal(cq_torch_zip_open(&file, test_path("a.bin"), &error), CQ_ERR_UNSUPPORTED);
  assert_non_null(strstr(error.message, "big-endian"));
}

static void allocation_failures_are_reported(void **state) {
  (void)state;
  for (long n = 1;; n++) {
    cq_safetensors *file;
    cq_error error = {0};
    cq_alloc_fail_at(n);
    cq_status status = cq_torch_zip_open(&file, tests_file("golden/format/state.bin"), &error);
    bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    cq_safetensors_close(file);
    if (!failed) {
      assert_int_equal(status, CQ_OK);
      assert_true(n > 5);
      break;
    }
    assert_int_equal(status, CQ_ERR_MEMORY);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(entries_come_in_any_order),         cmocka_unit_test(a_state_dict_is_read),
      cmocka_unit_test(other_objects_are_refused_by_name), cmocka_unit_test(broken_pickles_are_found_out),
      cmocka_unit_test(damaged_archives_do_no_harm),       cmocka_unit_test(archives_are_checked),
      cmocka_unit_test(allocation_failures_are_reported),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
