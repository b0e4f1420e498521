/* What several ranks encode together has the bits that one process gives, statistics included. */
#include "support/files.h"
#include "support/wires.h"

#include "base/memory.h"
#include "calque/slice.h"
#include "recipe/encode/shared_encoder.h"

enum { MAX_TEXTS = 40, N_CALLS = 3 };

static cq_slice texts[MAX_TEXTS];
static char long_text[4000];

typedef struct sharing {
  const cq_encoder *encoder;
  size_t n;
  float *vectors[N_CALLS];
  cq_encode_stats stats;
  cq_status status;
  cq_error error;
} sharing;

static void encode_together(cq_ranks *ranks, void *item) {
  sharing *s = item;
  s->status = cq_shared_encoder_agree(s->encoder, ranks, &s->error);
  if (s->status) return;
  if (cq_ranks_rank(ranks) > 0) {
    s->status = cq_shared_encode_serve(s->encoder, ranks, NULL, &s->error);
    return;
  }
  for (int i = 0; i < N_CALLS && !s->status; i++)
    s->status = cq_shared_encode(s->vectors[i], &s->stats, s->encoder, texts, s->n, ranks, NULL, &s->error);
  if (!s->status) s->status = cq_shared_encode_end(ranks, &s->error);
}

static cq_encoder *open_golden(const char *name) {
  cq_encoder *encoder;
  char path[512];
  snprintf(path, sizeof path, "%s/golden/models/%s", CQ_TESTS_DIR, name);
  assert_int_equal(cq_encoder_open(&encoder, path, NULL, NULL), CQ_OK);
  return encoder;
}

static void check_together(const cq_encoder *encoder, int n_ranks, size_t n) {
  const size_t dim = (size_t)cq_encoder_dim(encoder), n_bytes = n * dim * sizeof(float);
  sharing all[MAX_WIRED_RANKS];
  cq_encode_stats stats = {0};
  float *expected = calloc(n + 1, dim * sizeof *expected);
  for (int i = 0; i < N_CALLS; i++)
    assert_int_equal(cq_encoder_encode(expected, &stats, encoder, texts, n, NULL, NULL, NULL), CQ_OK);
  for (int i = 0; i < n_ranks; i++) all[i] = (sharing){.encoder = encoder, .n = n};
  for (int i = 0; i < N_CALLS; i++) all[0].vectors[i] = malloc(n_bytes + 1);
  run_ranks(n_ranks, encode_together, all, sizeof *all);
  for (int i = 0; i < n_ranks; i++) assert_int_equal(all[i].status, CQ_OK);
  for (int i = 0; i < N_CALLS; i++) {
    assert_memory_equal(all[0].vectors[i], expected, n_bytes);
    free(all[0].vectors[i]);
  }
  assert_memory_equal(&all[0].stats, &stats, sizeof stats);
  free(expected);
}

static void many_ranks_give_the_bits_of_one(void **state) {
  (void)state;
  static const size_t numbers[] = {0, 1, 2, 3, 7, MAX_TEXTS};
  cq_encoder *encoder = open_golden("bert-uncased");
  memset(long_text, 'x', sizeof long_text);
  for (size_t i = 3; i < sizeof long_text; i += 4) long_text[i] = ' ';
  for (size_t i = 0; i < MAX_TEXTS; i++) texts[i] = (cq_slice){long_text, (i * i * 7) % 90};
  texts[5].n = sizeof long_text; /* nearly all bytes: some ranks have no text at all, and it is truncated */
  texts[30].n = sizeof long_text - 1;
  for (int n_ranks = 1; n_ranks <= MAX_WIRED_RANKS; n_ranks++)
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) check_together(encoder, n_ranks, numbers[i]);
  cq_encoder_free(encoder);
}

static void another_model_is_refused(void **state) {
  (void)state;
  cq_encoder *encoder = open_golden("bert-uncased"), *other = open_golden("bert-cased");
  sharing all[3] = {{.encoder = encoder}, {.encoder = encoder}, {.encoder = other}};
  run_ranks(3, encode_together, all, sizeof *all);
  assert_int_equal(all[2].status, CQ_ERR_ARGUMENT);
  assert_non_null(strstr(all[2].error.message, "rank 0 has the model of fingerprint "));
  assert_int_equal(all[0].status, CQ_ERR_IO);
  cq_encoder_free(encoder);
  cq_encoder_free(other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(many_ranks_give_the_bits_of_one),
      cmocka_unit_test(another_model_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
