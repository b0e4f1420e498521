/* Beam search against a plain greedy loop and against all sentences there are, worked out in double precision. */
#include "support/decoders.h"

#include "lab/autoencode/beam.h"

enum { LATENT = 3, MOST_SENTENCES = 80, MOST_TOKENS = 64 };

static const cq_decoder_shape shapes[] = {
    {.embedding_dim = 3, .hidden_dim = 5, .n_layers = 1, .latent_dim = LATENT, .latent_at_every_step = true},
    {.embedding_dim = 4,
     .hidden_dim = 6,
     .n_layers = 2,
     .latent_dim = LATENT,
     .latent_at_every_step = true,
     .latent_as_state = true,
     .dropout = 0.5}, /* of which writing must see nothing */
    {.embedding_dim = 3, .hidden_dim = 5, .n_layers = 2, .latent_dim = LATENT, .states_from_encoder = true},
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes, MOST_STATES = 20 };

static void draw_latent(float *latent, int64_t n) {
  cq_random random = cq_random_seeded(8, 0);
  for (int64_t i = 0; i < n * LATENT; i++) latent[i] = (float)cq_random_normal(&random);
}

/* What an encoder would have handed over of a sentence: some function of its vector. */
static float given_state(const float *latent, int i) {
  return sinf((float)(i + 1) * (latent[0] + 2 * latent[1]) + latent[2]);
}

/* Of n sentences, in `room`; data NULL for a decoder that takes none. */
static cq_tensor given_states(float *room, const cq_decoder *d, cq_tensor latent) {
  const cq_decoder_shape *s = cq_decoder_shape_of(d);
  const int width = s->states_from_encoder ? (int)(2 * s->n_layers * s->hidden_dim) : 0;
  assert_true(width <= MOST_STATES);
  for (int64_t i = 0; i < latent.rows; i++)
    for (int j = 0; j < width; j++) room[i * width + j] = given_state(cq_f32(latent) + i * latent.stride, j);
  return cq_tensor_f32(width ? room : NULL, latent.rows, width);
}

static cq_status write_all(cq_ids *out, cq_worker *worker, const cq_decoder *d, cq_tensor latent,
                           const cq_beam_options *o, cq_error *error) {
  float room[MOST_SENTENCES * MOST_STATES];
  assert_true(latent.rows <= MOST_SENTENCES);
  return cq_decoder_write(out, worker, d, latent, given_states(room, d, latent), o, error);
}

static void begin_plainly(plain_state *state, const plain_decoder *d, const double *z) {
  const float latent[LATENT] = {(float)z[0], (float)z[1], (float)z[2]};
  double states[MOST_STATES];
  for (int i = 0; i < MOST_STATES; i++) states[i] = (double)given_state(latent, i);
  plain_begin(state, d, z, states);
}

/* Writes rows of `latent`; out [n] is to be released by release. */
static void write_rows(cq_ids *out, const cq_decoder *d, float *latent, int64_t n, const cq_beam_options *o) {
  cq_worker worker = {.kernels = cq_kernels_best()};
  cq_error error = {0};
  memset(out, 0, (size_t)n * sizeof *out);
  if (write_all(out, &worker, d, cq_tensor_f32(latent, n, LATENT), o, &error)) fail_msg("%s", error.message);
  assert_true(worker.workspace.current == 0 && worker.workspace.used == 0);
  cq_workspace_free(&worker.workspace);
}

static void release(cq_ids *ids, int64_t n) {
  for (int64_t i = 0; i < n; i++) cq_free(ids[i].ids);
}

static void expect_ids(const char *what, const cq_ids *found, const int32_t *ids, size_t n) {
  bool same = found->n == n;
  for (size_t i = 0; same && i < n; i++) same = found->ids[i] == ids[i];
  if (!same) {
    print_error("found   ");
    for (size_t i = 0; i < found->n; i++) print_error(" %d", found->ids[i]);
    print_error("\nexpected");
    for (size_t i = 0; i < n; i++) print_error(" %d", ids[i]);
    fail_msg("%s", what);
  }
}

/* --- greedy --- */

static void a_beam_of_one_is_greedy(void **state) {
  enum { N = 40, V = PLAIN_FIRST + 8 };
  float latent[N * LATENT];
  size_t n_written = 0, n_cut = 0;
  (void)state;
  draw_latent(latent, N);
  for (int k = 0; k < N_SHAPES; k++)
    for (int penalty = 0; penalty < 3; penalty++) {
      const cq_beam_options o = {.beam = 1, .max_tokens = 12, .length_penalty = penalty};
      size_t n_params;
      cq_decoder *d = make_decoder(&shapes[k], V - PLAIN_FIRST, 1, 21);
      cq_decoder_params(&n_params, d)[2].value[PLAIN_END] += 2;                  /* so that some sentences end */
      if (penalty > 0) assert_int_equal(cq_decoder_pack(d, false, NULL), CQ_OK); /* with bounds, and without */
      plain_decoder plain = plain_of(d);
      cq_ids found[N];
      write_rows(found, d, latent, N, &o);
      for (int i = 0; i < N; i++) {
        plain_state state_of;
        double z[LATENT], log_p[V];
        int32_t ids[12], last = PLAIN_START;
        size_t n = 0;
        for (int j = 0; j < LATENT; j++) z[j] = (double)latent[i * LATENT + j];
        begin_plainly(&state_of, &plain, z);
        while (n < 12) {
          plain_step(log_p, &state_of, &plain, z, last, 0, NULL);
          last = 0;
          for (int32_t v = 1; v < V; v++) last = log_p[v] > log_p[last] ? v : last;
          if (last == PLAIN_END) break;
          ids[n++] = last;
        }
        expect_ids("not what a greedy loop writes", &found[i], ids, n);
        n_written += n;
        n_cut += n == 12;
      }
      release(found, N);
      plain_free(&plain);
      cq_decoder_free(d);
    }
  assert_true(n_written > 200 && n_cut > 0 && n_cut < N * 6); /* sentences that end, and some that do not */
}

/* --- all sentences --- */

typedef struct candidate {
  double score;
  int32_t ids[4];
  int n;
  plain_state state;
} candidate;

/* The best of all sentences of up to max_tokens tokens, the end counted: of the lengths that are looked at. The search
 * goes on while a beginning, at the length it has, scores better than the best that has ended. */
static void exhaust(candidate *best, const plain_decoder *d, const double *z, const cq_beam_options *o) {
  candidate *open = calloc(1, sizeof *open), *next;
  size_t n_open = 1;
  double best_score = -INFINITY, best_open = 0;
  memset(best, 0, sizeof *best);
  begin_plainly(&open[0].state, d, z);
  for (int length = 1; length <= o->max_tokens && n_open > 0; length++) {
    size_t n = 0;
    best_open = -INFINITY;
    next = calloc(n_open * (size_t)d->vocabulary, sizeof *next);
    for (size_t i = 0; i < n_open; i++) {
      double log_p[PLAIN_MOST];
      plain_step(log_p, &open[i].state, d, z, length > 1 ? open[i].ids[length - 2] : PLAIN_START, 0, NULL);
      for (int32_t v = 0; v < d->vocabulary; v++) {
        candidate c = open[i];
        c.score += log_p[v];
        if (v == PLAIN_END && c.score / pow(length, o->length_penalty) > best_score) {
          best_score = c.score / pow(length, o->length_penalty);
          *best = c;
        }
        if (v == PLAIN_END) continue;
        c.ids[c.n++] = v;
        best_open = fmax(best_open, c.score);
        next[n++] = c;
      }
    }
    free(open);
    open = next, n_open = n;
    if (best_score > -INFINITY && best_open / pow(length, o->length_penalty) <= best_score) break;
  }
  for (size_t i = 0; best_score == -INFINITY && i < n_open; i++)
    if (open[i].score == best_open) *best = open[i];
  free(open);
}

static void a_wide_beam_finds_the_best_of_all(void **state) {
  enum { N = 6 };
  static const double penalties[] = {0, 0.7, 1, 2};
  float latent[N * LATENT];
  size_t n_of_length[5] = {0}, n_not_greedy = 0;
  (void)state;
  draw_latent(latent, N);
  for (int seed = 0; seed < 6; seed++)
    for (int k = 0; k < 4; k++)
      for (int max_tokens = 1; max_tokens <= 4; max_tokens++) {
        const cq_beam_options o = {1000, max_tokens, penalties[k]}, greedy = {1, max_tokens, penalties[k]};
        cq_decoder *d = make_decoder(&shapes[seed % N_SHAPES], 1, 1.2, 30 + (uint64_t)seed);
        plain_decoder plain = plain_of(d);
        cq_ids found[N], simple[N];
        write_rows(found, d, latent, N, &o);
        write_rows(simple, d, latent, N, &greedy);
        for (int i = 0; i < N; i++) {
          double z[LATENT];
          candidate best;
          for (int j = 0; j < LATENT; j++) z[j] = (double)latent[i * LATENT + j];
          exhaust(&best, &plain, z, &o);
          expect_ids("not the best of all sentences", &found[i], best.ids, (size_t)best.n);
          n_of_length[best.n]++;
          n_not_greedy +=
              found[i].n != simple[i].n || memcmp(found[i].ids, simple[i].ids, found[i].n * sizeof(int32_t));
        }
        release(found, N);
        release(simple, N);
        plain_free(&plain);
        cq_decoder_free(d);
      }
  for (int n = 0; n < 4; n++) assert_true(n_of_length[n] > 0);
  assert_true(n_not_greedy > 20);
}

/* --- a narrow beam --- */

typedef struct beginning {
  double score;
  int32_t ids[16];
  int n;
  plain_state state;
} beginning;

static int by_score(const void *a, const void *b) {
  const double x = ((const beginning *)a)->score, y = ((const beginning *)b)->score;
  return x > y ? -1 : x < y;
}

/* Takes the best 2 * beam next tokens of the kept hypotheses, best first: ends are candidates, others are kept. */
static void plain_beam(beginning *best, const plain_decoder *d, const double *z, const cq_beam_options *o) {
  enum { MOST_CANDIDATES = 8 * PLAIN_MOST };
  static beginning open[8], candidates[MOST_CANDIDATES];
  double best_score = -INFINITY;
  int n_open = 1;
  memset(open, 0, sizeof open);
  begin_plainly(&open[0].state, d, z);
  for (int length = 1; length <= o->max_tokens && n_open > 0; length++) {
    int n = 0;
    for (int i = 0; i < n_open; i++) {
      double log_p[PLAIN_MOST];
      plain_step(log_p, &open[i].state, d, z, length > 1 ? open[i].ids[length - 2] : PLAIN_START, 0, NULL);
      for (int32_t v = 0; v < d->vocabulary; v++) {
        candidates[n] = open[i];
        candidates[n].score += log_p[v];
        candidates[n].ids[candidates[n].n++] = v;
        n++;
      }
    }
    qsort(candidates, (size_t)n, sizeof *candidates, by_score);
    n_open = 0;
    for (int i = 0; i < n && i < 2 * o->beam && n_open < o->beam; i++) {
      const double score = candidates[i].score / pow(length, o->length_penalty);
      if (candidates[i].ids[length - 1] != PLAIN_END)
        open[n_open++] = candidates[i];
      else if (score > best_score) {
        best_score = score;
        *best = candidates[i];
        best->n--;
      }
    }
    if (n_open > 0 && open[0].score / pow(length, o->length_penalty) <= best_score) return;
  }
  if (best_score == -INFINITY) *best = open[0];
}

static void a_narrow_beam_is_the_plain_one(void **state) {
  enum { N = 30 };
  float latent[N * LATENT];
  (void)state;
  draw_latent(latent, N);
  for (int beam = 1; beam <= 8; beam++)
    for (int k = 0; k < N_SHAPES; k++) {
      const cq_beam_options o = {beam, 15, beam % 2 ? 1 : 0.6};
      size_t n_params;
      cq_decoder *d = make_decoder(&shapes[k], 7, 1, 60 + (uint64_t)beam);
      cq_decoder_params(&n_params, d)[2].value[PLAIN_END] += 1;
      plain_decoder plain = plain_of(d);
      cq_ids found[N];
      write_rows(found, d, latent, N, &o);
      for (int i = 0; i < N; i++) {
        double z[LATENT];
        beginning best;
        for (int j = 0; j < LATENT; j++) z[j] = (double)latent[i * LATENT + j];
        plain_beam(&best, &plain, z, &o);
        expect_ids("not what a plain beam writes", &found[i], best.ids, (size_t)best.n);
      }
      release(found, N);
      plain_free(&plain);
      cq_decoder_free(d);
    }
}

/* --- neighbors --- */

static void neighbors_do_not_matter(void **state) {
  enum { N = 37 };
  static const int beams[] = {1, 2, 5, 9};
  float latent[N * LATENT], strided[N * (LATENT + 2)];
  (void)state;
  draw_latent(latent, N);
  for (int i = 0; i < N; i++) memcpy(strided + i * (LATENT + 2), latent + i * LATENT, LATENT * sizeof(float));
  for (int k = 0; k < N_SHAPES; k++)
    for (size_t b = 0; b < sizeof beams / sizeof *beams; b++) {
      const cq_beam_options o = {beams[b], 15, 1};
      cq_decoder *d = make_decoder(&shapes[k], 9, 1, 4);
      cq_worker worker = {.kernels = cq_kernels_best()};
      cq_ids all[N], one, apart[N] = {{0}};
      write_rows(all, d, latent, N, &o);
      for (int i = 0; i < N; i++) {
        write_rows(&one, d, latent + i * LATENT, 1, &o);
        expect_ids("another sentence alone", &one, all[i].ids, all[i].n);
        release(&one, 1);
      }
      cq_tensor rows = cq_tensor_columns(cq_tensor_f32(strided, N, LATENT + 2), 0, LATENT);
      assert_int_equal(write_all(apart, &worker, d, rows, &o, NULL), CQ_OK);
      for (int i = 0; i < N; i++) expect_ids("rows apart", &apart[i], all[i].ids, all[i].n);
      release(apart, N);
      release(all, N);
      cq_workspace_free(&worker.workspace);
      cq_decoder_free(d);
    }
}

/* --- lengths, on a decoder that says the same at every step --- */

/* p of the end, and of letter a; the others share what is left. */
static cq_decoder *constant_decoder(double p_end, double p_letter) {
  cq_decoder *d = make_decoder(&shapes[0], 3, 0, 1);
  size_t n;
  float *bias = cq_decoder_params(&n, d)[2].value;
  for (int i = 0; i < PLAIN_FIRST + 3; i++) bias[i] = (float)log((1 - p_end - p_letter) / 5);
  bias[PLAIN_END] = (float)log(p_end);
  bias[PLAIN_FIRST] = (float)log(p_letter);
  return d;
}

static void expect_letters(double p_end, double p_letter, cq_beam_options o, size_t n) {
  float latent[LATENT] = {1, 2, 3};
  int32_t letters[MOST_TOKENS];
  cq_ids found;
  cq_decoder *d = constant_decoder(p_end, p_letter);
  for (size_t i = 0; i < n; i++) letters[i] = PLAIN_FIRST;
  write_rows(&found, d, latent, 1, &o);
  expect_ids("another number of letters", &found, letters, n);
  release(&found, 1);
  cq_decoder_free(d);
}

static void lengths_are_limited_and_weighed(void **state) {
  (void)state;
  for (int beam = 1; beam <= 4; beam *= 2) {
    expect_letters(0.9, 0.05, (cq_beam_options){beam, 10, 1}, 0); /* ends at once */
    expect_letters(1e-9, 0.9, (cq_beam_options){beam, 1, 0}, 1);  /* does not end before it must */
    expect_letters(1e-9, 0.9, (cq_beam_options){beam, 17, 1}, 17);
    expect_letters(0.05, 0.9, (cq_beam_options){beam, 17, 0}, beam == 1 ? 17 : 0); /* log 0.05 is more than any */
  }
  /* log p / length is -1.20, -0.79, -0.65, -0.58 with 0, 1, 2, 3 letters: the longest there is room for. */
  for (int max_tokens = 1; max_tokens < 9; max_tokens++)
    expect_letters(0.3, 0.69, (cq_beam_options){3, max_tokens, 1}, (size_t)max_tokens - 1);
  /* By the square root of the length -1.20, -1.114, -1.124: one letter. */
  expect_letters(0.3, 0.69, (cq_beam_options){3, 20, 0.5}, 1);
}

/* --- what is given --- */

static void wrong_options(void **state) {
  static const cq_beam_options wrong[] = {{0, 10, 1}, {-1, 10, 1},     {1001, 10, 1}, {5, 0, 1},
                                          {5, -3, 1}, {5, 1 << 17, 1}, {5, 10, -0.1}, {5, 10, NAN}};
  cq_decoder *d = make_decoder(&shapes[0], 3, 1, 1);
  cq_worker worker = {.kernels = cq_kernels_best()};
  float latent[LATENT] = {0};
  (void)state;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    cq_ids out = {0};
    cq_error error = {0};
    const cq_tensor row = cq_tensor_f32(latent, 1, LATENT);
    assert_int_equal(write_all(&out, &worker, d, row, &wrong[i], &error), CQ_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "beam"));
    assert_null(out.ids);
  }
  cq_workspace_free(&worker.workspace);
  cq_decoder_free(d);
}

/* No sentences; ids that held something before; vectors that are not numbers give some sentence, and do no harm. */
static void odd_input(void **state) {
  const cq_beam_options o = {3, 5, 1};
  cq_decoder *d = make_decoder(&shapes[1], 3, 1, 1);
  cq_worker worker = {.kernels = cq_kernels_best()};
  cq_ids used = {0}, fresh;
  float latent[LATENT] = {0.5f, -1, 2}, no_numbers[LATENT] = {NAN, NAN, NAN};
  (void)state;
  assert_int_equal(write_all(NULL, &worker, d, cq_tensor_f32(latent, 0, LATENT), &o, NULL), CQ_OK);
  for (int k = 0; k < 2; k++) {
    float *row = k ? no_numbers : latent;
    write_rows(&fresh, d, row, 1, &o);
    assert_true(cq_reserve((void **)&used.ids, &used.capacity, 40, sizeof *used.ids));
    used.n = 40;
    assert_int_equal(write_all(&used, &worker, d, cq_tensor_f32(row, 1, LATENT), &o, NULL), CQ_OK);
    expect_ids("other ids in a used place", &used, fresh.ids, fresh.n);
    release(&fresh, 1);
  }
  release(&used, 1);
  cq_workspace_free(&worker.workspace);
  cq_decoder_free(d);
}

static void allocations_may_fail(void **state) {
  enum { N = 3 };
  const cq_beam_options o = {4, 6, 1};
  float latent[N * LATENT];
  cq_decoder *d = make_decoder(&shapes[1], 5, 1, 1);
  (void)state;
  draw_latent(latent, N);
  for (long n = 1;; n++) {
    cq_worker worker = {.kernels = cq_kernels_best()};
    cq_ids out[N] = {{0}};
    cq_error error = {0};
    cq_alloc_fail_at(n);
    const cq_status status = write_all(out, &worker, d, cq_tensor_f32(latent, N, LATENT), &o, &error);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    release(out, N);
    cq_workspace_free(&worker.workspace);
    if (!failed) {
      assert_int_equal(status, CQ_OK);
      assert_true(n > N);
      break;
    }
    if (status != CQ_ERR_MEMORY) fail_msg("allocation %ld: status %d: %s", n, status, error.message);
  }
  cq_decoder_free(d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_beam_of_one_is_greedy),
      cmocka_unit_test(a_wide_beam_finds_the_best_of_all),
      cmocka_unit_test(a_narrow_beam_is_the_plain_one),
      cmocka_unit_test(neighbors_do_not_matter),
      cmocka_unit_test(lengths_are_limited_and_weighed),
      cmocka_unit_test(wrong_options),
      cmocka_unit_test(odd_input),
      cmocka_unit_test(allocations_may_fail),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
