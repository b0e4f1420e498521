/* Postings: what was written is read, bit widths from 0 to 32, bounds that bound, and bytes that lie. */
#include "support/files.h"

#include "base/memory.h"
#include "base/random.h"
#include "lexical/postings.h"

#include <sys/mman.h>

enum { MAX_POSTINGS = 1000 };

/* The layout by its description: value i is in lane i % 4, at bit (i / 4) * bits of it; a lane's words lie 4 apart. */
static uint32_t value_at(const unsigned char *packed, int bits, int i) {
  uint32_t value = 0;
  for (int b = 0; b < bits; b++) {
    const int bit = i / 4 * bits + b, byte = (bit / 32 * 4 + i % 4) * 4 + bit % 32 / 8;
    value |= (uint32_t)(packed[byte] >> bit % 8 & 1) << b;
  }
  return value;
}

static void check_layout(const unsigned char *block, const cq_posting *postings, uint32_t next, int gap_bits,
                         int frequency_bits) {
  assert_int_equal(block[0], gap_bits);
  assert_int_equal(block[1], frequency_bits);
  for (int i = 0; i < CQ_BLOCK; i++) {
    assert_int_equal(value_at(block + 2, gap_bits, i), postings[i].document - next);
    assert_int_equal(value_at(block + 2 + 16 * gap_bits, frequency_bits, i), postings[i].frequency - 1);
    next = postings[i].document + 1;
  }
}

static int width(uint32_t value) {
  int bits = 0;
  for (; value; value >>= 1) bits++;
  return bits;
}

static void check_bounds(const cq_block_entry *entry, const cq_posting *postings, const uint32_t *lengths) {
  uint32_t max = 0, min = UINT32_MAX;
  for (int i = 0; i < CQ_BLOCK; i++) {
    const cq_posting p = postings[i];
    bool is_bound = false;
    for (int k = 0; k < CQ_MAX_PAIRS && entry->pairs[k].frequency; k++)
      is_bound |= entry->pairs[k].frequency >= p.frequency && entry->pairs[k].length <= lengths[p.document];
    assert_true(is_bound);
    if (p.frequency > max) max = p.frequency;
    if (lengths[p.document] < min) min = lengths[p.document];
  }
  /* No pair is more than the block has, and none says what another says already. */
  for (int k = 0; k < CQ_MAX_PAIRS && entry->pairs[k].frequency; k++) {
    assert_true(entry->pairs[k].frequency <= max && entry->pairs[k].length >= min);
    if (k > 0)
      assert_true(entry->pairs[k].frequency > entry->pairs[k - 1].frequency &&
                  entry->pairs[k].length > entry->pairs[k - 1].length);
  }
}

/* Writes behind other bytes, reads from a copy of just the right size. */
static void check_round_trip(const cq_posting *postings, uint32_t n, const uint32_t *lengths) {
  cq_builder out = {0};
  cq_postings p;
  uint32_t documents[CQ_BLOCK], frequencies[CQ_BLOCK], next = 0;
  cq_builder_text(&out, "abc");
  cq_postings_write(&out, postings, n, lengths);
  assert_false(out.failed);
  const size_t n_bytes = out.n - 3;
  unsigned char *bytes = malloc(n_bytes ? n_bytes : 1);
  assert_non_null(bytes);
  memcpy(bytes, out.data + 3, n_bytes);
  assert_true(cq_postings_open(&p, bytes, n_bytes, n));
  assert_int_equal(p.n, n);
  assert_int_equal(p.n_full, n / CQ_BLOCK);
  for (uint32_t b = 0; b < p.n_full + (n % CQ_BLOCK != 0); b++) {
    const cq_posting *block = postings + b * CQ_BLOCK;
    const uint32_t count = b < p.n_full ? CQ_BLOCK : n % CQ_BLOCK;
    assert_int_equal(cq_postings_block(documents, frequencies, &p, b), count);
    for (uint32_t i = 0; i < count; i++) {
      assert_int_equal(documents[i], block[i].document);
      assert_int_equal(frequencies[i], block[i].frequency);
    }
    if (b == p.n_full) break;
    const cq_block_entry entry = cq_postings_entry(&p, b);
    uint32_t gaps = 0, more = 0, before = next;
    for (uint32_t i = 0; i < count; i++) {
      gaps |= block[i].document - before, more |= block[i].frequency - 1;
      before = block[i].document + 1;
    }
    assert_int_equal(entry.last, block[CQ_BLOCK - 1].document);
    check_layout(p.bytes + entry.at, block, next, width(gaps), width(more));
    check_bounds(&entry, block, lengths);
    next = entry.last + 1;
  }
  if (n % CQ_BLOCK == 0) assert_int_equal(cq_postings_block(documents, frequencies, &p, p.n_full), 0);
  free(bytes);
  cq_builder_free(&out);
}

/* n postings with gaps and frequencies below given bounds; returns the number of documents that they need. */
static uint32_t fill(cq_posting *postings, uint32_t n, uint32_t gap, uint32_t frequency, uint64_t seed) {
  cq_random r = cq_random_seeded(seed, n);
  uint32_t next = 0;
  for (uint32_t i = 0; i < n; i++) {
    postings[i].document = next + (uint32_t)cq_random_below(&r, gap);
    postings[i].frequency = 1 + (uint32_t)cq_random_below(&r, frequency);
    next = postings[i].document + 1;
  }
  return next;
}

static uint32_t *some_lengths(uint32_t n, uint32_t bound) {
  uint32_t *lengths = malloc((n + 1) * sizeof *lengths);
  assert_non_null(lengths);
  cq_random r = cq_random_seeded(17, n);
  for (uint32_t i = 0; i <= n; i++) lengths[i] = (uint32_t)cq_random_below(&r, bound);
  return lengths;
}

static void any_number_comes_back(void **state) {
  (void)state;
  static const uint32_t numbers[] = {0, 1, 2, 127, 128, 129, 255, 256, 257, MAX_POSTINGS};
  cq_posting postings[MAX_POSTINGS];
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    for (uint32_t gap = 1; gap <= 300; gap += 299) {
      uint32_t *lengths = some_lengths(fill(postings, numbers[i], gap, 20, gap), 90);
      check_round_trip(postings, numbers[i], lengths);
      free(lengths);
    }
  }
}

static void every_width_of_frequencies(void **state) {
  (void)state;
  cq_posting postings[2 * CQ_BLOCK + 5];
  const uint32_t n = sizeof postings / sizeof *postings;
  uint32_t *lengths = some_lengths(fill(postings, n, 3, 1, 2), 50);
  for (int bits = 0; bits <= 32; bits++) {
    cq_random r = cq_random_seeded(5, (uint64_t)bits);
    for (uint32_t i = 0; i < n; i++) postings[i].frequency = 1 + (uint32_t)cq_random_below(&r, (uint64_t)1 << bits);
    /* The largest of all, where the neighbors' bits meet; 2^32 - 1 is the largest frequency, so 32 bits stop short
     * of it. */
    postings[77].frequency = bits == 32 ? UINT32_MAX : (uint32_t)((uint64_t)1 << bits);
    for (uint32_t i = 0; i < n; i++)
      if (postings[i].frequency == 0) postings[i].frequency = UINT32_MAX;
    check_round_trip(postings, n, lengths);
  }
  free(lengths);
}

static void every_width_of_gaps(void **state) {
  (void)state;
  /* Lengths of all documents that there can be; only some pages are touched. */
  const size_t n_bytes = ((size_t)1 << 32) * sizeof(uint32_t);
  uint32_t *lengths = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (lengths == MAP_FAILED) {
    print_message("skipped: no address space for the lengths of 2^32 documents\n");
    skip();
  }
  cq_posting postings[2 * CQ_BLOCK + 3];
  const uint32_t n = sizeof postings / sizeof *postings;
  for (int bits = 0; bits <= 32; bits++) {
    fill(postings, n, 1, 9, 3);
    /* One gap of that width, at another place each time; in the block, in the next one and behind it. */
    const uint32_t gap = bits ? (uint32_t)(((uint64_t)1 << bits) - 1) - (bits == 32 ? n : 0) : 0;
    const uint32_t places[] = {(uint32_t)bits * 3, CQ_BLOCK + (uint32_t)bits, 2 * CQ_BLOCK + 1};
    for (int k = 0; k < 3; k++) {
      cq_posting moved[2 * CQ_BLOCK + 3];
      memcpy(moved, postings, sizeof moved);
      for (uint32_t i = places[k]; i < n; i++) moved[i].document += gap;
      check_round_trip(moved, n, lengths);
    }
  }
  munmap(lengths, n_bytes);
}

static void pairs_bound_what_was_added(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 300; seed++) {
    cq_random r = cq_random_seeded(11, seed);
    cq_bound_pair pairs[CQ_MAX_PAIRS] = {{0}}, added[60];
    for (int n = 0; n < 60; n++) {
      added[n] = (cq_bound_pair){1 + (uint32_t)cq_random_below(&r, 30), (uint32_t)cq_random_below(&r, 30)};
      if (seed % 3 == 0) added[n].length = added[n].frequency * 2; /* none covers another */
      cq_bound_pairs_add(pairs, added[n].frequency, added[n].length);
      for (int i = 0; i <= n; i++) {
        bool is_bound = false;
        for (int k = 0; k < CQ_MAX_PAIRS && pairs[k].frequency; k++)
          is_bound |= pairs[k].frequency >= added[i].frequency && pairs[k].length <= added[i].length;
        assert_true(is_bound);
      }
    }
  }
  /* The max frequent keep what they are when there are too many. */
  cq_bound_pair pairs[CQ_MAX_PAIRS] = {{0}};
  for (uint32_t f = 1; f <= 6; f++) cq_bound_pairs_add(pairs, f, f * 10);
  const cq_bound_pair expected[CQ_MAX_PAIRS] = {{3, 10}, {4, 40}, {5, 50}, {6, 60}};
  assert_memory_equal(pairs, expected, sizeof pairs);
  cq_bound_pairs_add(pairs, 6, 5);
  const cq_bound_pair one[CQ_MAX_PAIRS] = {{6, 5}};
  assert_memory_equal(pairs, one, sizeof pairs);
}

/* Reads whatever the bytes are; returns how many postings there seem to be. */
static uint32_t read_all(const unsigned char *bytes, size_t n_bytes, uint32_t n) {
  uint32_t documents[CQ_BLOCK], frequencies[CQ_BLOCK], found = 0;
  cq_postings p;
  unsigned char *copy = malloc(n_bytes ? n_bytes : 1);
  assert_non_null(copy);
  memcpy(copy, bytes, n_bytes);
  if (cq_postings_open(&p, copy, n_bytes, n)) {
    for (uint32_t b = 0; b <= p.n_full; b++) {
      const uint32_t count = cq_postings_block(documents, frequencies, &p, b);
      assert_true(count <= CQ_BLOCK);
      found += count;
    }
  }
  free(copy);
  return found;
}

static void damaged_bytes_are_safe(void **state) {
  (void)state;
  enum { N = 2 * CQ_BLOCK + 40 };
  cq_posting postings[N];
  cq_builder out = {0};
  uint32_t *lengths = some_lengths(fill(postings, N, 200, 40, 9), 90);
  cq_postings_write(&out, postings, N, lengths);
  unsigned char *bytes = (unsigned char *)out.data;
  assert_int_equal(read_all(bytes, out.n, N), N);
  for (size_t cut = 0; cut < out.n; cut++) assert_true(read_all(bytes, cut, N) < N);
  cq_postings p;
  assert_false(cq_postings_open(&p, bytes, 2 * sizeof(cq_block_entry) - 1, N));
  assert_false(cq_postings_open(&p, bytes, out.n, UINT32_MAX));
  for (size_t i = 0; i < out.n; i++) {
    const unsigned char was = bytes[i];
    for (int k = 0; k < 3; k++) {
      bytes[i] = (unsigned char)(k == 0 ? 0xff : k == 1 ? 0x80 : was + 1);
      read_all(bytes, out.n, N);
    }
    bytes[i] = was;
  }
  /* A width that is none, and one with which the block would end behind the bytes. */
  assert_true(cq_postings_open(&p, bytes, out.n, N));
  uint32_t documents[CQ_BLOCK], frequencies[CQ_BLOCK];
  unsigned char *block = (unsigned char *)out.data + (p.bytes - bytes) + cq_postings_entry(&p, 1).at;
  block[0] = 33;
  assert_int_equal(cq_postings_block(documents, frequencies, &p, 1), 0);
  block[0] = 32, block[1] = 32;
  assert_int_equal(cq_postings_block(documents, frequencies, &p, 1), 0);
  free(lengths);
  cq_builder_free(&out);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  cq_posting postings[MAX_POSTINGS];
  uint32_t *lengths = some_lengths(fill(postings, MAX_POSTINGS, 5, 9, 4), 90);
  for (long n = 1;; n++) {
    cq_builder out = {0};
    cq_alloc_fail_at(n);
    cq_postings_write(&out, postings, MAX_POSTINGS, lengths);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(out.failed, failed);
    cq_builder_free(&out);
    if (!failed) break;
  }
  free(lengths);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(any_number_comes_back),  cmocka_unit_test(every_width_of_frequencies),
      cmocka_unit_test(every_width_of_gaps),    cmocka_unit_test(pairs_bound_what_was_added),
      cmocka_unit_test(damaged_bytes_are_safe), cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
