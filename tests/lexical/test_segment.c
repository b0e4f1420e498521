/* A segment's file: what was written is found, cut files and lying headers are refused or safe. */
#include "support/files.h"
#include "support/segment.h"

#include "base/memory.h"
#include "lexical/segment.h"

enum { N_DOCUMENTS = 200, N_TERMS = 5, HEADER = 144, N_NUMBERS = HEADER / 8 };
/* Numbers of the header by place: the magic, then counts, where the parts begin, how long they are. */
enum { AT_DOCUMENTS = 1, AT_TERMS, AT_OCCURRENCES, AT_BEGIN, AT_SIZE = AT_BEGIN + 7 };
enum { LENGTHS, ID_STARTS, IDS, TERM_STARTS, TERMS, RECORDS, POSTINGS };

static const char *const terms[N_TERMS] = {"a", "ab", "abc", "b", "\xc3\xa4"};
static const uint32_t every[N_TERMS] = {1, 3, 7, 200, 50}; /* term t is in each so-manieth document */

static uint32_t frequency_of(uint32_t term, uint32_t document) {
  return document % every[term] ? 0 : 1 + document % 5;
}

typedef struct names {
  const cq_slice *ids, *terms;
} names;

static cq_slice id_of(const void *context, uint32_t document) {
  return ((const names *)context)->ids[document];
}

static cq_slice term_of(const void *context, uint32_t term) {
  return ((const names *)context)->terms[term];
}

/* Writes the segment in n_parts parts. */
static cq_status write_segment(const char *path, size_t n_parts, cq_error *error) {
  uint32_t lengths[N_DOCUMENTS] = {0};
  char id_bytes[N_DOCUMENTS][16];
  cq_slice ids[N_DOCUMENTS], sorted[N_TERMS];
  cq_segment_part parts[N_TERMS] = {{.n_terms = 0}};
  cq_builder bytes[N_TERMS] = {{0}};
  cq_term_record records[N_TERMS] = {{0}};
  for (uint32_t d = 0; d < N_DOCUMENTS; d++) {
    snprintf(id_bytes[d], sizeof id_bytes[d], "doc-%u", d);
    ids[d] = cq_slice_of(id_bytes[d]);
    for (uint32_t t = 0; t < N_TERMS; t++) lengths[d] += frequency_of(t, d);
  }
  bool failed = false;
  for (uint32_t t = 0; t < N_TERMS; t++) {
    const size_t p = t % N_TERMS * n_parts / N_TERMS;
    cq_segment_part *part = &parts[p];
    cq_posting postings[N_DOCUMENTS];
    cq_term_record *r = &records[t];
    if (!part->n_terms) part->records = r;
    part->n_terms++;
    *r = (cq_term_record){.at = bytes[p].n};
    for (uint32_t d = 0; d < N_DOCUMENTS; d++) {
      if (!frequency_of(t, d)) continue;
      postings[r->n_documents++] = (cq_posting){d, frequency_of(t, d)};
      r->n_occurrences += frequency_of(t, d);
    }
    cq_postings_write(&bytes[p], postings, r->n_documents, lengths);
    failed |= bytes[p].failed;
    sorted[t] = cq_slice_of(terms[t]);
  }
  for (size_t p = 0; p < n_parts; p++) parts[p].postings = bytes[p].data, parts[p].n_bytes = bytes[p].n;
  const names of = {ids, sorted};
  const cq_segment_source source = {N_DOCUMENTS, N_TERMS, lengths, id_of, term_of, &of, parts, n_parts};
  const cq_status status = failed ? CQ_ERR_MEMORY : cq_segment_write(path, &source, error);
  for (size_t p = 0; p < n_parts; p++) cq_builder_free(&bytes[p]);
  return status;
}

static void check_segment(const cq_segment *s) {
  uint64_t n_occurrences = 0;
  assert_int_equal(s->n_documents, N_DOCUMENTS);
  assert_int_equal(s->n_terms, N_TERMS);
  for (uint32_t d = 0; d < N_DOCUMENTS; d++) {
    char name[16];
    uint32_t length = 0;
    snprintf(name, sizeof name, "doc-%u", d);
    assert_true(cq_slice_equal(cq_segment_id(s, d), cq_slice_of(name)));
    for (uint32_t t = 0; t < N_TERMS; t++) length += frequency_of(t, d);
    assert_int_equal(s->lengths[d], length);
    n_occurrences += length;
  }
  assert_int_equal(s->n_occurrences, n_occurrences);
  for (uint32_t t = 0; t < N_TERMS; t++) {
    cq_postings p;
    uint32_t documents[CQ_BLOCK], frequencies[CQ_BLOCK], next = 0, n = 0;
    assert_int_equal(cq_segment_find(s, cq_slice_of(terms[t])), t);
    assert_true(cq_slice_equal(cq_segment_term(s, t), cq_slice_of(terms[t])));
    assert_true(cq_segment_postings(&p, s, t));
    for (uint32_t b = 0; b <= p.n_full; b++) {
      const uint32_t count = cq_postings_block(documents, frequencies, &p, b);
      for (uint32_t i = 0; i < count; i++, n++, next += every[t]) {
        assert_int_equal(documents[i], next);
        assert_int_equal(frequencies[i], frequency_of(t, next));
      }
    }
    assert_int_equal(n, s->records[t].n_documents);
  }
  static const char *const others[] = {"", "A", "aa", "abcd", "ac", "z", "\xc3", "\xc3\xa4z", "\xff"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    assert_int_equal(cq_segment_find(s, cq_slice_of(others[i])), CQ_NO_TERM);
}

static void what_was_written_is_found(void **state) {
  (void)state;
  size_t n, n_one;
  unsigned char *one = NULL;
  for (size_t n_parts = 1; n_parts <= N_TERMS; n_parts++) {
    cq_segment s;
    assert_int_equal(write_segment(test_path("segment"), n_parts, NULL), CQ_OK);
    assert_int_equal(cq_segment_open(&s, test_path("segment"), NULL), CQ_OK);
    check_segment(&s);
    cq_segment_close(&s);
    unsigned char *bytes = read_bytes(&n, test_path("segment"));
    if (!one) one = bytes, n_one = n;
    assert_int_equal(n, n_one);
    assert_memory_equal(bytes, one, n);
    if (bytes != one) free(bytes);
  }
  free(one);
  /* Nothing at all, and documents without a term. */
  static const uint32_t lengths[1];
  const cq_slice ids[] = {{"x", 1}};
  for (uint32_t n_documents = 0; n_documents < 2; n_documents++) {
    cq_segment s;
    const names of = {ids, NULL};
    const cq_segment_source source = {n_documents, 0, lengths, id_of, term_of, &of, NULL, 0};
    assert_int_equal(cq_segment_write(test_path("empty"), &source, NULL), CQ_OK);
    assert_int_equal(cq_segment_open(&s, test_path("empty"), NULL), CQ_OK);
    assert_int_equal(s.n_documents, n_documents);
    assert_int_equal(s.n_occurrences, 0);
    assert_int_equal(cq_segment_find(&s, cq_slice_of("a")), CQ_NO_TERM);
    cq_segment_close(&s);
  }
}

/* --- files that are none --- */

/* Whatever was let in can be walked through. */
static void walk(const cq_segment *s) {
  volatile unsigned sum = 0;
  uint32_t documents[CQ_BLOCK], frequencies[CQ_BLOCK];
  for (uint32_t d = 0; d < s->n_documents; d++) {
    const cq_slice id = cq_segment_id(s, d);
    for (size_t i = 0; i < id.n; i++) sum += (unsigned char)id.data[i];
    sum += s->lengths[d];
    (void)sum;
  }
  for (uint32_t t = 0; t < s->n_terms; t++) {
    const cq_slice term = cq_segment_term(s, t);
    cq_postings p;
    cq_segment_find(s, term);
    if (!cq_segment_postings(&p, s, t)) continue;
    for (uint32_t b = 0; b <= p.n_full; b++) assert_true(cq_postings_block(documents, frequencies, &p, b) <= CQ_BLOCK);
  }
}

/* Opens the bytes as a segment; returns the status, and the message in *error. */
static cq_status open_bytes(const void *bytes, size_t n, cq_error *error) {
  cq_segment s;
  *error = (cq_error){0};
  write_bytes(test_path("broken"), bytes, n);
  const cq_status status = cq_segment_open(&s, test_path("broken"), error);
  if (status) {
    assert_int_equal(status, CQ_ERR_FORMAT);
    assert_string_equal(error->file, test_path("broken"));
    assert_non_null(strstr(error->message, "broken: "));
    assert_null(s.file.data);
  } else {
    walk(&s);
    cq_segment_close(&s);
  }
  return status;
}

static void cut_files_are_refused(void **state) {
  (void)state;
  size_t n;
  cq_error error;
  uint64_t numbers[N_NUMBERS];
  assert_int_equal(write_segment(test_path("segment"), 2, NULL), CQ_OK);
  unsigned char *bytes = read_bytes(&n, test_path("segment"));
  memcpy(numbers, bytes, sizeof numbers);
  const size_t end = (size_t)(numbers[AT_BEGIN + POSTINGS] + numbers[AT_SIZE + POSTINGS]);
  assert_true(end + 8 <= n && n < end + 16); /* zeros to eight bytes, and the check */
  for (size_t cut = 0; cut < n; cut++) {
    assert_int_equal(open_bytes(bytes, cut, &error), CQ_ERR_FORMAT);
    assert_non_null(strstr(error.message, cut < HEADER ? "shorter than its header"
                                          : cut < end  ? "a part is not where the header says"
                                                       : "it does not end where the header says"));
  }
  free(bytes);
}

static void refused(const unsigned char *bytes, size_t n, const char *why) {
  cq_error error;
  assert_int_equal(open_bytes(bytes, n, &error), CQ_ERR_FORMAT);
  assert_non_null(strstr(error.message, why));
}

static void lies_are_refused(void **state) {
  (void)state;
  size_t n;
  assert_int_equal(write_segment(test_path("segment"), 1, NULL), CQ_OK);
  unsigned char *bytes = read_bytes(&n, test_path("segment")), *copy = malloc(n);
  assert_non_null(copy);
  uint64_t was[N_NUMBERS];
  memcpy(was, bytes, sizeof was);
  const struct lie {
    size_t at; /* of eight bytes */
    uint64_t number;
    const char *why;
  } lies[] = {
      {0, 0x3378656c716c6163, "not a segment of a lexical index"},
      {AT_DOCUMENTS * 8, UINT32_MAX, "the header counts too many"},
      {AT_DOCUMENTS * 8, ((uint64_t)1 << 62) + N_DOCUMENTS, "the header counts too many"},
      {AT_DOCUMENTS * 8, N_DOCUMENTS - 1, "a part is not where the header says"},
      {AT_TERMS * 8, UINT32_MAX, "the header counts too many"},
      {AT_TERMS * 8, N_TERMS + 1, "a part is not where the header says"},
      {AT_OCCURRENCES * 8, was[AT_OCCURRENCES] + 1, "the lengths do not add up"},
      {(AT_BEGIN + LENGTHS) * 8, was[AT_BEGIN + LENGTHS] + 4, "a part is not where the header says"},
      {(AT_BEGIN + RECORDS) * 8, (uint64_t)-8, "a part is not where the header says"},
      {(AT_BEGIN + POSTINGS) * 8, n + 8, "a part is not where the header says"},
      {(AT_SIZE + POSTINGS) * 8, UINT64_MAX - was[AT_BEGIN + POSTINGS] + 1, "a part is not where the header says"},
      {(AT_SIZE + POSTINGS) * 8, was[AT_SIZE + POSTINGS] - 1, "the postings' places do not ascend"},
      {(AT_SIZE + IDS) * 8, was[AT_SIZE + IDS] - 1, "the ids' places do not ascend"},
      {(AT_SIZE + TERMS) * 8, was[AT_SIZE + TERMS] - 1, "the terms' places do not ascend"},
      {was[AT_BEGIN + ID_STARTS], 1, "the ids' places do not ascend"},
      {was[AT_BEGIN + ID_STARTS] + 16, UINT64_MAX, "the ids' places do not ascend"},
      {was[AT_BEGIN + TERM_STARTS] + 8, 100, "the terms' places do not ascend"},
      {was[AT_BEGIN + RECORDS] + 8, UINT64_MAX, "the postings' places do not ascend"},
      {was[AT_BEGIN + LENGTHS], 0, "the lengths do not add up"},
  };
  for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
    memcpy(copy, bytes, n);
    memcpy(copy + lies[i].at, &lies[i].number, 8);
    put_checks_right(copy, n); /* which would find all of this first */
    refused(copy, n, lies[i].why);
  }
  refused((const unsigned char *)"", 0, "shorter than its header");
  /* A term that claims more documents than its bytes can hold is detected when its postings are read. */
  cq_segment s;
  cq_postings p;
  const uint32_t too_many = 1 << 20;
  memcpy(copy, bytes, n);
  memcpy(copy + was[AT_BEGIN + RECORDS] + offsetof(cq_term_record, n_documents), &too_many, sizeof too_many);
  put_checks_right(copy, n);
  write_bytes(test_path("broken"), copy, n);
  assert_int_equal(cq_segment_open(&s, test_path("broken"), NULL), CQ_OK);
  assert_false(cq_segment_postings(&p, &s, 0));
  assert_true(cq_segment_postings(&p, &s, 1));
  cq_segment_close(&s);
  free(copy);
  free(bytes);
}

/* In a segment with checks, any one changed byte is noticed; in a term's postings, when they are read. */
static void damage_is_noticed(void **state) {
  (void)state;
  size_t n, n_late = 0;
  uint64_t was[N_NUMBERS];
  assert_int_equal(write_segment(test_path("segment"), 2, NULL), CQ_OK);
  unsigned char *bytes = read_bytes(&n, test_path("segment"));
  memcpy(was, bytes, sizeof was);
  for (size_t i = 0; i < n; i++) {
    cq_segment s;
    bytes[i] ^= 0x20;
    write_bytes(test_path("damaged"), bytes, n);
    bytes[i] ^= 0x20;
    if (cq_segment_open(&s, test_path("damaged"), NULL) != CQ_OK) continue;
    uint32_t n_refused = 0;
    for (uint32_t t = 0; t < s.n_terms; t++) {
      cq_postings p;
      for (int again = 0; again < 2; again++) n_refused += !cq_segment_postings(&p, &s, t);
    }
    const size_t end = (size_t)(was[AT_BEGIN + POSTINGS] + was[AT_SIZE + POSTINGS]);
    assert_true(i >= was[AT_BEGIN + POSTINGS] && i < n - 8);
    assert_int_equal(n_refused, i < end ? 2 : 0); /* behind the end there are zeros, which nobody reads */
    n_late++;
    cq_segment_close(&s);
  }
  assert_true(n_late > 0);
  bytes[7] = '1'; /* a version that is no longer read */
  cq_segment s;
  cq_error error = {0};
  write_bytes(test_path("damaged"), bytes, n);
  assert_int_equal(cq_segment_open(&s, test_path("damaged"), &error), CQ_ERR_FORMAT);
  assert_non_null(strstr(error.message, "version 1, but this calque reads version 2: build the index again"));
  free(bytes);
}

/* Every number of the header by every lie, and every byte of the file by some. */
static void anything_is_safe(void **state) {
  (void)state;
  size_t n;
  cq_error error;
  assert_int_equal(write_segment(test_path("segment"), 1, NULL), CQ_OK);
  unsigned char *bytes = read_bytes(&n, test_path("segment"));
  for (size_t i = 0; i < N_NUMBERS; i++) {
    uint64_t was;
    memcpy(&was, bytes + i * 8, 8);
    const uint64_t lies[] = {0,       1, 8,         was + 1,    was - 1,   was + 8,
                             was - 8, n, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX};
    for (size_t k = 0; k < sizeof lies / sizeof *lies; k++) {
      memcpy(bytes + i * 8, &lies[k], 8);
      put_checks_right(bytes, n);
      (void)!open_bytes(bytes, n, &error);
    }
    memcpy(bytes + i * 8, &was, 8);
  }
  for (size_t i = HEADER; i < n; i++) {
    const unsigned char was = bytes[i];
    for (int k = 0; k < 2; k++) {
      bytes[i] = (unsigned char)(k ? was ^ 0xff : was + 1);
      put_checks_right(bytes, n);
      (void)!open_bytes(bytes, n, &error);
    }
    bytes[i] = was;
  }
  free(bytes);
}

static void failures_leave_nothing(void **state) {
  (void)state;
  cq_error error = {0};
  cq_segment s;
  assert_int_equal(write_segment(test_path("no/such/place"), 1, &error), CQ_ERR_IO);
  assert_non_null(strstr(error.message, "no/such/place"));
  assert_int_equal(cq_segment_open(&s, test_path("nowhere"), &error), CQ_ERR_IO);
  assert_non_null(strstr(error.message, "nowhere"));
  for (long n = 1;; n++) {
    cq_alloc_fail_at(n);
    const cq_status status = write_segment(test_path("failing"), 1, NULL);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    if (!failed) break;
    assert_int_equal(count_files("failing"), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_was_written_is_found), cmocka_unit_test(cut_files_are_refused),
      cmocka_unit_test(lies_are_refused),          cmocka_unit_test(damage_is_noticed),
      cmocka_unit_test(anything_is_safe),          cmocka_unit_test(failures_leave_nothing),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
