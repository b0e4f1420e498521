/* Any bytes as a segment are an error when opened, an error when searched, or hits that lie inside the index. What
 * opening looks at is made plausible first, so that more gets past it: the magic, sizes, the sum of the lengths, that
 * the places of ids, terms and postings ascend, and the checks. The segment as it came is opened too. Some segments
 * are merged. */
#include "fuzz.h"

#include "base/hash.h"
#include "base/slice.h"
#include "calque/lexical.h"
#include "lexical/growing.h"
#include "lexical/segment.h"

#include <math.h>
#include <string.h>

enum { K = 3, MAX_TERMS = 6 };
enum { LENGTHS, ID_STARTS, IDS, TERM_STARTS, TERMS, RECORDS, POSTINGS, N_PARTS };

typedef struct header {
  char magic[8];
  uint64_t n_documents, n_terms, n_occurrences;
  uint64_t begin[N_PARTS], size[N_PARTS];
} header;

/* Numbers that lie `step` bytes apart begin with 0, ascend and end with `end`, if they are inside of the bytes. */
static void make_ascend(uint8_t *bytes, size_t n, uint64_t begin, uint64_t count, size_t step, size_t at,
                        uint64_t end) {
  if (begin > n || count >= (n - begin) / step) return;
  for (uint64_t i = 0, before = 0, number; i <= count; i++, before = number) {
    uint8_t *place = bytes + begin + i * step + at;
    memcpy(&number, place, sizeof number);
    if (i == 0) number = 0;
    if (number < before || number > end) number = before;
    if (i == count) number = end;
    memcpy(place, &number, sizeof number);
  }
}

/* The checks of the terms' postings, and of all before them. */
static void put_checks_right(uint8_t *bytes, size_t n, const header *h) {
  const uint64_t begin = h->begin[RECORDS], postings = h->begin[POSTINGS];
  if (begin > n || h->n_terms >= (n - begin) / sizeof(cq_term_record) || postings > n - 8) return;
  for (uint64_t t = 0; t < h->n_terms; t++) {
    cq_term_record r[2];
    uint8_t *place = bytes + begin + t * sizeof *r;
    memcpy(r, place, sizeof r);
    if (r[0].at > r[1].at || r[1].at > n - 8 - postings) return; /* parts may lie over one another */
    r->check = (uint32_t)cq_check64(bytes + postings + r[0].at, r[1].at - r[0].at, t);
    memcpy(place, r, sizeof *r);
  }
  const uint64_t check = cq_check64(bytes, postings, 0);
  memcpy(bytes + n - 8, &check, sizeof check);
}

/* How many of the bytes are left. */
static size_t make_plausible(uint8_t *bytes, size_t n) {
  header h;
  if (n < sizeof h + 8) return n;
  memcpy(&h, bytes, sizeof h);
  memcpy(h.magic, "calqlex2", sizeof h.magic);
  for (int i = 0; i < N_PARTS; i++) h.begin[i] &= ~(uint64_t)7;
  h.size[LENGTHS] = h.n_documents * 4, h.size[ID_STARTS] = (h.n_documents + 1) * 8;
  h.size[TERM_STARTS] = (h.n_terms + 1) * 8, h.size[RECORDS] = (h.n_terms + 1) * sizeof(cq_term_record);
  n = n / 8 * 8;
  const size_t end = n - 8;
  if (h.begin[POSTINGS] <= end) h.size[POSTINGS] = end - h.begin[POSTINGS];
  make_ascend(bytes, n, h.begin[ID_STARTS], h.n_documents, 8, 0, h.size[IDS]);
  make_ascend(bytes, n, h.begin[TERM_STARTS], h.n_terms, 8, 0, h.size[TERMS]);
  make_ascend(bytes, n, h.begin[RECORDS], h.n_terms, sizeof(cq_term_record), offsetof(cq_term_record, at),
              h.size[POSTINGS]);
  if (h.begin[LENGTHS] <= n && h.n_documents <= (n - h.begin[LENGTHS]) / 4) {
    h.n_occurrences = 0;
    for (uint64_t d = 0; d < h.n_documents; d++) {
      uint32_t length;
      memcpy(&length, bytes + h.begin[LENGTHS] + d * 4, sizeof length);
      length &= 0xfff; /* scores are tabled up to the longest, which would take most of the time */
      memcpy(bytes + h.begin[LENGTHS] + d * 4, &length, sizeof length);
      h.n_occurrences += length;
    }
  }
  memcpy(bytes, &h, sizeof h);
  put_checks_right(bytes, n, &h);
  return n;
}

static void search(const cq_lexical *index, const cq_lexical_query *query, uint64_t n_documents) {
  for (int i = 0; i < CQ_N_LEXICAL_MODELS; i++) {
    cq_lexical_options o = cq_lexical_default_options();
    cq_lexical_hit *hits;
    cq_error error = {0};
    o.model = (cq_lexical_model)i, o.k = K, o.exhaustive = ((uint64_t)i + n_documents) % 2;
    const cq_status status = cq_lexical_search(&hits, index, query, 1, &o, NULL, &error);
    if (status) {
      CHECK(!hits && error.message[0] && (status == CQ_ERR_FORMAT || status == CQ_ERR_ARGUMENT));
      continue;
    }
    for (int rank = 0; rank < K && hits[rank].id.data; rank++) {
      volatile unsigned sum = 0;
      CHECK(hits[rank].document < n_documents && isfinite(hits[rank].score));
      CHECK(rank == 0 || hits[rank].score <= hits[rank - 1].score);
      for (size_t k = 0; k < hits[rank].id.n; k++) sum += (unsigned char)hits[rank].id.data[k];
      (void)sum;
    }
    cq_free(hits);
  }
}

/* The segment twice, the first of its documents dead. What comes out is sound. */
static void merge(const char *path, uint32_t n_documents) {
  const char *const paths[] = {path, path};
  const char *merged = fuzz_path("merged");
  unsigned char *dead = calloc(n_documents / 4 + 1, 1);
  cq_error error = {0};
  cq_lexical_set *set;
  cq_segment segment;
  CHECK(dead && cq_lexical_set_open(&set, NULL, paths, 2, NULL, &error) == CQ_OK);
  dead[0] = 1;
  const cq_status status = cq_lexical_segments_merge(merged, set, 0, 2, dead, &error);
  CHECK(!status || (status == CQ_ERR_FORMAT && error.message[0]));
  if (!status) {
    CHECK(cq_segment_open(&segment, merged, &error) == CQ_OK && segment.n_documents == 2 * n_documents);
    for (uint32_t t = 0; t < segment.n_terms; t++) {
      cq_postings postings;
      CHECK(cq_segment_postings(&postings, &segment, t) && postings.n > 0);
    }
    cq_segment_close(&segment);
    remove(merged);
  }
  cq_lexical_set_free(set);
  free(dead);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static const char manifest[] =
      "{\"lexical_index\": 1, \"segments\": 1, \"language\": \"\", \"stems\": false, \"stop_words\": []}";
  fuzz_file("manifest.json", manifest, strlen(manifest));
  cq_segment segment;
  cq_error error = {0};
  cq_status status = cq_segment_open(&segment, input_file(data, n), &error);
  CHECK(!status || (status == CQ_ERR_FORMAT && error.message[0]));
  if (!status) cq_segment_close(&segment);
  uint8_t *bytes = malloc(n ? n : 1);
  CHECK(bytes);
  memcpy(bytes, data, n);
  const size_t n_left = make_plausible(bytes, n);
  fuzz_file("segment-1", bytes, n_left);
  free(bytes);
  cq_lexical *index;
  status = cq_segment_open(&segment, fuzz_path("segment-1"), &error);
  if (status) {
    CHECK(status == CQ_ERR_FORMAT && error.message[0]);
    CHECK(cq_lexical_open(&index, fuzz_path(""), &error) == CQ_ERR_FORMAT && !index);
    return 0;
  }
  cq_lexical_term terms[MAX_TERMS];
  cq_lexical_query query = {terms, 0};
  for (uint32_t t = 0; t < segment.n_terms && query.n < MAX_TERMS; t++)
    terms[query.n++] = (cq_lexical_term){cq_segment_term(&segment, t), 1 + t, 0};
  status = cq_lexical_open(&index, fuzz_path(""), &error);
  if (status)
    CHECK(!index && error.message[0]);
  else
    search(index, &query, segment.n_documents);
  cq_lexical_free(index);
  const uint32_t n_documents = segment.n_documents;
  cq_segment_close(&segment);
  if (n % 4 == 0) merge(fuzz_path("segment-1"), n_documents); /* not always: it writes files */
  return 0;
}
