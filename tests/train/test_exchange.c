/* Training by several ranks, here threads with a model each that exchange gradients through memory: the bits must be
 * those of one process. */
#include "support/autoencoders.h"
#include "support/wires.h"

#include "base/hash.h"
#include "base/memory.h"
#include "train/trainer.h"
#include "train/tree_exchange.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>

enum { MAX_RANKS = 5, N_STEPS = 4 };

/* --- the exchange --- */

typedef struct meeting {
  pthread_barrier_t barrier;
  int n_ranks;
  void *given[MAX_RANKS];
} meeting;

typedef struct rank {
  meeting *meeting;
  int number;
  cq_exchange exchange;
} rank;

typedef void (*add_fn)(void *into, const void *from, size_t n);

static void add_floats(void *into, const void *from, size_t n) {
  cq_kernels_best()->add(into, from, (int64_t)n);
}

static void add_doubles(void *into, const void *from, size_t n) {
  for (size_t i = 0; i < n; i++) ((double *)into)[i] += ((const double *)from)[i];
}

static void add_rows(void *into, const void *from, size_t n) {
  (void)n;
  if (cq_gradients_add_tables(into, from, cq_kernels_best(), NULL)) abort();
}

/* The first rank adds over the tree; *sum is there until cq_leave. */
static const void *meet(const rank *r, void *own, size_t n, add_fn add_up) {
  meeting *m = r->meeting;
  m->given[r->number] = own;
  pthread_barrier_wait(&m->barrier);
  for (int step = 1; r->number == 0 && step < m->n_ranks; step *= 2)
    for (int i = 0; i + step < m->n_ranks; i += 2 * step) add_up(m->given[i], m->given[i + step], n);
  pthread_barrier_wait(&m->barrier);
  return m->given[0];
}

static cq_status leave(const rank *r) {
  pthread_barrier_wait(&r->meeting->barrier);
  return CQ_OK;
}

static cq_status sum_dense(void *context, float *values, int64_t n, cq_error *error) {
  (void)error;
  const void *sum = meet(context, values, (size_t)n, add_floats);
  if (sum != values) memcpy(values, sum, (size_t)n * sizeof *values);
  return leave(context);
}

static cq_status sum_scalars(void *context, double *values, size_t n, cq_error *error) {
  (void)error;
  const void *sum = meet(context, values, n, add_doubles);
  if (sum != values) memcpy(values, sum, n * sizeof *values);
  return leave(context);
}

static cq_status sum_rows(void *context, cq_gradients *gradients, cq_error *error) {
  (void)error;
  const void *sum = meet(context, gradients, 0, add_rows);
  for (int i = 0; sum != gradients && i < gradients->n_tables; i++) {
    cq_table_gradient *t = &gradients->tables[i];
    for (size_t s = 0; s < t->n; s++) t->slot_of[t->row_of[s]] = 0;
    t->n = 0;
  }
  if (sum != gradients) add_rows(gradients, sum, 0);
  return leave(context);
}

static void gather(meeting *m, rank ranks[], int n_ranks) {
  *m = (meeting){.n_ranks = n_ranks};
  pthread_barrier_init(&m->barrier, NULL, (unsigned)n_ranks);
  for (int i = 0; i < n_ranks; i++)
    ranks[i] = (rank){.meeting = m,
                      .number = i,
                      .exchange = {.rank = i,
                                   .n_ranks = n_ranks,
                                   .sum_dense = sum_dense,
                                   .sum_rows = sum_rows,
                                   .sum_scalars = sum_scalars,
                                   .context = &ranks[i]}};
}

/* --- the exchange over messages, here through sockets --- */

typedef struct messenger {
  wired_rank *wire;
  cq_messages messages;
  cq_tree_exchange *exchange;
  cq_exchange in_pieces; /* the same, whose sums begin early piece by piece, as those of a large model do */
} messenger;

static void open_messengers(messenger out[], wired_rank wires[], int n_ranks, bool narrow) {
  wire_up(wires, n_ranks);
  for (int i = 0; i < n_ranks; i++) {
    out[i] = (messenger){.wire = &wires[i], .messages = {.transport = transport_of(&wires[i])}};
    assert_int_equal(cq_tree_exchange_new(&out[i].exchange, &out[i].messages, narrow, cq_kernels_best(), NULL), CQ_OK);
    out[i].in_pieces = *cq_tree_exchange_of(out[i].exchange);
    out[i].in_pieces.chunk = 777;
  }
}

static void close_messengers(messenger all[], wired_rank wires[], int n_ranks) {
  for (int i = 0; i < n_ranks; i++) cq_tree_exchange_free(all[i].exchange);
  unwire(wires, n_ranks);
}

static void run_all(void *(*run)(void *), void *items, size_t size, int n_ranks) {
  pthread_t threads[MAX_RANKS];
  for (int i = 0; i < n_ranks; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, run, (char *)items + i * (long)size), 0);
  for (int i = 0; i < n_ranks; i++) pthread_join(threads[i], NULL);
}

static void who_has_which_shards(void **state) {
  (void)state;
  for (int n_ranks = 1; n_ranks < 9; n_ranks++)
    for (int n_shards = 1; n_shards < 40; n_shards++) {
      int next = 0, block = 0;
      for (int i = 0; i < n_ranks; i++) {
        const cq_exchange e = {.rank = i, .n_ranks = n_ranks};
        int first;
        const int n = cq_exchange_shards(&first, &e, n_shards);
        assert_int_equal(first, next);
        if (i == 0) block = n;
        assert_true(n >= 0 && n <= block && (n_ranks == 1 || (block & (block - 1)) == 0));
        if (first + n < n_shards) assert_int_equal(n, block);
        next += n;
      }
      assert_int_equal(next, n_shards);
    }
}

/* --- encoders --- */

typedef struct encoder_rank {
  cq_encoder *encoder;
  cq_trainer *trainer;
  messenger *messenger; /* NULL: alone, or by memory */
  bool jointly;
  cq_status status;
  double loss, norm; /* of the last step */
} encoder_rank;

static const char *const sentences[] = {"The cat sleeps.",
                                        "x",
                                        "Where is the nearest station, please?",
                                        "No.",
                                        "No, no.",
                                        "Two and two make four; three and three make six.",
                                        "It rains."};
enum { N_SENTENCES = sizeof sentences / sizeof *sentences };

static float target_of(size_t i) {
  return (float)(i % 13) * 0.1f - 0.6f;
}

static cq_status towards_targets(void *context, double *loss, float *gradients, const float *vectors, size_t n,
                                 cq_error *error) {
  const size_t dim = *(const size_t *)context;
  (void)error;
  *loss = 0;
  for (size_t i = 0; i < n * dim; i++) {
    gradients[i] += vectors[i] - target_of(i);
    *loss += 0.5 * ((double)vectors[i] - (double)target_of(i)) * ((double)vectors[i] - (double)target_of(i));
  }
  return CQ_OK;
}

static void *train_encoder(void *item) {
  encoder_rank *r = item;
  cq_slice slices[N_SENTENCES];
  const float *targets[N_SENTENCES];
  size_t dim = (size_t)cq_encoder_dim(r->encoder);
  float *target = malloc(N_SENTENCES * dim * sizeof *target);
  for (size_t i = 0; i < N_SENTENCES * dim; i++) target[i] = target_of(i);
  for (size_t i = 0; i < N_SENTENCES; i++) slices[i] = cq_slice_of(sentences[i]), targets[i] = target + i * dim;
  for (int step = 0; step < N_STEPS; step++) {
    cq_step_report report;
    const size_t n = N_SENTENCES - (size_t)step % 3;
    const cq_status status = r->jointly
                                 ? cq_trainer_step_jointly(r->trainer, slices, n, towards_targets, &dim, &report, NULL)
                                 : cq_trainer_step(r->trainer, slices, targets, n, &report, NULL);
    r->loss = report.loss, r->norm = report.gradient_norm;
    if (!(r->status = status)) continue;
    if (r->messenger) cut_wires(r->messenger->wire); /* the others are not to wait for this one */
    free(target);
    return NULL;
  }
  r->status = cq_trainer_settle(r->trainer, NULL);
  free(target);
  return NULL;
}

static void open_rank(encoder_rank *r, const char *model, int n_shards, bool jointly, const double *rate,
                      const cq_exchange *exchange) {
  char path[512];
  const cq_trainer_options o = {.n_shards = n_shards,
                                .shard_tables = n_shards != 6, /* where the exchange can */
                                .accumulate = 2,
                                .seed = 5,
                                .dropout = true,
                                .exchange = exchange,
                                .optimizer = {.beta1 = 0.9,
                                              .beta2 = 0.999,
                                              .eps = 1e-8,
                                              .weight_decay = 0.01,
                                              .clip_norm = 1,
                                              .learning_rate = rate_of,
                                              .context = rate}};
  snprintf(path, sizeof path, "%s/golden/models/%s", CQ_TESTS_DIR, model);
  *r = (encoder_rank){.jointly = jointly};
  assert_int_equal(cq_encoder_open(&r->encoder, path, NULL, NULL), CQ_OK);
  assert_int_equal(cq_trainer_new(&r->trainer, r->encoder, NULL, &o, NULL), CQ_OK);
}

static uint64_t hash_of_params(const cq_params *params) {
  uint64_t hash = 0;
  for (size_t i = 0; i < params->n; i++)
    hash = cq_mix(hash) ^ cq_hash64(params->items[i]->value, (size_t)cq_param_floats(params->items[i]) * 4, 0);
  return hash;
}

static void open_wired(messenger messengers[], wired_rank wires[], encoder_rank many[], int n_ranks, const char *model,
                       bool jointly, bool narrow) {
  static const double rate = 1e-3;
  open_messengers(messengers, wires, n_ranks, narrow);
  for (int i = 0; i < n_ranks; i++) {
    open_rank(&many[i], model, 6, jointly, &rate, &messengers[i].in_pieces);
    many[i].messenger = &messengers[i];
  }
}

static void close_rank(encoder_rank *r) {
  cq_trainer_free(r->trainer);
  cq_encoder_free(r->encoder);
}

static void check_encoders(const char *model, int n_ranks, int n_shards, bool jointly, bool by_messages) {
  static const double rate = 1e-3;
  encoder_rank alone, many[MAX_RANKS];
  meeting m;
  rank ranks[MAX_RANKS];
  messenger messengers[MAX_RANKS];
  wired_rank wires[MAX_RANKS];
  open_rank(&alone, model, n_shards, jointly, &rate, NULL);
  train_encoder(&alone);
  gather(&m, ranks, n_ranks);
  open_messengers(messengers, wires, n_ranks, false);
  for (int i = 0; i < n_ranks; i++)
    open_rank(&many[i], model, n_shards, jointly, &rate, by_messages ? &messengers[i].in_pieces : &ranks[i].exchange);
  run_all(train_encoder, many, sizeof *many, n_ranks);
  for (int i = 0; i < n_ranks; i++) {
    assert_false(many[i].status || alone.status);
    if (hash_of_params(&many[i].encoder->params) != hash_of_params(&alone.encoder->params))
      fail_msg("%s, %d shards, %d ranks, %s, %s: rank %d has other bits", model, n_shards, n_ranks,
               jointly ? "jointly" : "one by one", by_messages ? "by messages" : "through memory", i);
    assert_true((messengers[i].messages.n_sent + messengers[i].messages.n_received > 0) == by_messages);
    assert_true(many[i].loss == alone.loss && many[i].norm == alone.norm && alone.norm > 0);
    close_rank(&many[i]);
  }
  close_rank(&alone);
  close_messengers(messengers, wires, n_ranks);
  pthread_barrier_destroy(&m.barrier);
}

static void encoders_have_the_bits_of_one_process(void **state) {
  (void)state;
  for (int n_ranks = 2; n_ranks <= MAX_RANKS; n_ranks++)
    for (int n_shards = 1; n_shards <= 11; n_shards += 5)
      for (int i = 0; i < 4; i++) {
        check_encoders("bert-cased", n_ranks, n_shards, i % 2, i / 2);
        check_encoders("static-mean", n_ranks, n_shards, i % 2, i / 2);
      }
}

/* In bf16 all ranks have the same bits still, near those of one process. */
static void gradients_travel_as_bf16(void **state) {
  static const char *const models[] = {"bert-cased", "static-mean"};
  static const double rate = 1e-3;
  (void)state;
  for (int n_ranks = 2; n_ranks <= MAX_RANKS; n_ranks++)
    for (int m = 0; m < 4; m++) {
      encoder_rank alone, many[MAX_RANKS];
      messenger messengers[MAX_RANKS];
      wired_rank wires[MAX_RANKS];
      open_rank(&alone, models[m % 2], 6, m / 2, &rate, NULL);
      train_encoder(&alone);
      open_wired(messengers, wires, many, n_ranks, models[m % 2], m / 2, true);
      run_all(train_encoder, many, sizeof *many, n_ranks);
      for (int i = 0; i < n_ranks; i++) {
        assert_int_equal(many[i].status, CQ_OK);
        assert_true(hash_of_params(&many[i].encoder->params) == hash_of_params(&many[0].encoder->params));
      }
      const int64_t n = cq_params_floats(&alone.encoder->params);
      double difference = 0;
      for (int64_t k = 0; k < n; k++)
        difference += fabs((double)alone.encoder->params.own[k] - (double)many[0].encoder->params.own[k]);
      /* An update is of about the rate's size for each parameter. */
      if (!(difference > 0 && difference < 0.05 * rate * N_STEPS * (double)n))
        fail_msg("%s, %d ranks: parameters differ by %g on average", models[m % 2], n_ranks, difference / (double)n);
      for (int i = 0; i < n_ranks; i++) close_rank(&many[i]);
      close_rank(&alone);
      close_messengers(messengers, wires, n_ranks);
    }
}

/* A rank that cannot send any more, while sums are under way: all ranks fail, and none waits forever. */
static void a_cut_wire_ends_all_ranks(void **state) {
  (void)state;
  for (int n_ranks = 2; n_ranks <= MAX_RANKS; n_ranks++)
    for (int broken = 0; broken < n_ranks; broken++)
      for (int jointly = 0; jointly < 2; jointly++) {
        encoder_rank many[MAX_RANKS];
        messenger messengers[MAX_RANKS];
        wired_rank wires[MAX_RANKS];
        open_wired(messengers, wires, many, n_ranks, "bert-cased", jointly, false);
        if (broken >= 0) wires[broken].broken = true;
        run_all(train_encoder, many, sizeof *many, n_ranks);
        for (int i = 0; i < n_ranks; i++) {
          assert_int_equal(many[i].status, CQ_ERR_IO);
          close_rank(&many[i]);
        }
        close_messengers(messengers, wires, n_ranks);
      }
}

/* A loss that is not finite ends a step whose sums have begun. */
static void a_failed_step_abandons_its_sums(void **state) {
  (void)state;
  for (int n_ranks = 2; n_ranks <= MAX_RANKS; n_ranks++) {
    encoder_rank many[MAX_RANKS];
    messenger messengers[MAX_RANKS];
    wired_rank wires[MAX_RANKS];
    open_wired(messengers, wires, many, n_ranks, "bert-cased", false, false);
    cq_param *words = many[0].encoder->params.items[0]; /* rank 0's alone */
    for (int64_t i = 0; i < cq_param_floats(words); i++) words->value[i] = NAN;
    run_all(train_encoder, many, sizeof *many, n_ranks);
    for (int i = 0; i < n_ranks; i++) {
      assert_int_equal(many[i].status, CQ_ERR_LIMIT);
      close_rank(&many[i]);
    }
    close_messengers(messengers, wires, n_ranks);
  }
}

/* Sums of several chunks, of nothing, and what was broadcast; a wire that is cut is named. */
typedef struct summing {
  messenger *rank;
  float *values;
  int64_t n;
  double scalars[3];
  char text[6];
  cq_status status;
  cq_error error;
} summing;

static void *sum_up(void *item) {
  summing *s = item;
  const cq_exchange *e = cq_tree_exchange_of(s->rank->exchange);
  s->status = e->sum_dense(e->context, s->values, s->n, &s->error);
  if (!s->status) s->status = e->sum_dense(e->context, s->values, 0, &s->error);
  if (!s->status) s->status = e->sum_scalars(e->context, s->scalars, 3, &s->error);
  if (!s->status) s->status = cq_messages_broadcast(&s->rank->messages, s->text, sizeof s->text, &s->error);
  if (s->status) cut_wires(s->rank->wire); /* the others are not to wait for this one */
  return NULL;
}

static void messages_of_any_length(void **state) {
  (void)state;
  enum { N_VALUES = (1 << 20) + 4321 };
  for (int n_ranks = 1; n_ranks <= MAX_RANKS; n_ranks++)
    for (int broken = -1; broken < n_ranks && (n_ranks > 1 || broken < 0); broken++) {
      messenger messengers[MAX_RANKS];
      wired_rank wires[MAX_RANKS];
      summing all[MAX_RANKS];
      open_messengers(messengers, wires, n_ranks, false);
      if (broken >= 0) wires[broken].broken = true;
      for (int i = 0; i < n_ranks; i++) {
        all[i] = (summing){.rank = &messengers[i], .n = N_VALUES, .scalars = {i, 1, 0.5}};
        strcpy(all[i].text, i ? "-----" : "hello");
        all[i].values = malloc(N_VALUES * sizeof(float));
        for (int k = 0; k < N_VALUES; k++) all[i].values[k] = (float)(k % 7 + i);
      }
      run_all(sum_up, all, sizeof *all, n_ranks);
      int n_failed = 0;
      for (int i = 0; i < n_ranks; i++) {
        n_failed += all[i].status != CQ_OK;
        if (broken < 0) {
          assert_int_equal(all[i].status, CQ_OK);
          const int of_ranks = n_ranks * (n_ranks - 1) / 2;
          for (int k = 0; k < N_VALUES; k += 997) assert_true(all[i].values[k] == (float)(k % 7 * n_ranks + of_ranks));
          assert_true(all[i].values[N_VALUES - 1] == (float)((N_VALUES - 1) % 7 * n_ranks + of_ranks));
          assert_true(all[i].scalars[0] == of_ranks && all[i].scalars[1] == n_ranks);
          assert_string_equal(all[i].text, "hello");
        }
        free(all[i].values);
      }
      if (broken >= 0) {
        char expected[40];
        snprintf(expected, sizeof expected, "rank %d cannot send to rank ", broken);
        assert_true(n_failed > 0);
        assert_int_equal(all[broken].status, CQ_ERR_IO);
        assert_non_null(strstr(all[broken].error.message, expected));
        assert_non_null(strstr(all[broken].error.message, "the wire is cut"));
      }
      close_messengers(messengers, wires, n_ranks);
    }
}

/* --- autoencoders --- */

typedef struct autoencoder_rank {
  problem p;
  bool failed;
  double nll, norm;
} autoencoder_rank;

static void *train_autoencoders(void *item) {
  autoencoder_rank *r = item;
  for (int step = 0; step < N_STEPS; step++) {
    cq_autoencoder_batch batch = pairs_of((size_t)(N - step % 2));
    cq_autoencoder_report report;
    if (step == 2) batch.side[1] = -1;
    r->failed |= cq_autoencoder_step(r->p.trainer, &batch, &report, NULL) != CQ_OK;
    r->nll = report.nll[0] + report.nll[1], r->norm = report.gradient_norm;
  }
  r->failed |= cq_autoencoder_settle(r->p.trainer, NULL) != CQ_OK;
  return NULL;
}

static void open_autoencoders(autoencoder_rank *r, bool two, int n_shards, const cq_exchange *exchange) {
  *r = (autoencoder_rank){.failed = false};
  make_sides(&r->p, true, 0.2);
  cq_autoencoder_options o = noisy_options(&r->p);
  o.two_optimizers = two, o.contrast_rate = 1, o.shared_latent = two;
  o.n_shards = n_shards;
  o.exchange = exchange;
  r->p.rate = 1e-2;
  start(&r->p, &o, NULL);
}

static void check_autoencoders(bool two, int n_ranks, int n_shards) {
  static autoencoder_rank alone, many[MAX_RANKS];
  meeting m;
  rank ranks[MAX_RANKS];
  open_autoencoders(&alone, two, n_shards, NULL);
  train_autoencoders(&alone);
  gather(&m, ranks, n_ranks);
  for (int i = 0; i < n_ranks; i++) open_autoencoders(&many[i], two, n_shards, &ranks[i].exchange);
  run_all(train_autoencoders, many, sizeof *many, n_ranks);
  for (int i = 0; i < n_ranks; i++) {
    assert_false(many[i].failed || alone.failed);
    if (hash_of(&many[i].p) != hash_of(&alone.p))
      fail_msg("%d shards, %d ranks, two optimizers %d: rank %d has other bits", n_shards, n_ranks, two, i);
    assert_true(many[i].nll == alone.nll && many[i].norm == alone.norm && alone.norm > 0);
    tear_down(&many[i].p);
  }
  tear_down(&alone.p);
  pthread_barrier_destroy(&m.barrier);
}

static void autoencoders_have_the_bits_of_one_process(void **state) {
  (void)state;
  for (int n_ranks = 2; n_ranks <= MAX_RANKS; n_ranks++)
    for (int n_shards = 1; n_shards <= 5; n_shards += 2)
      for (int two = 0; two < 2; two++) check_autoencoders(two, n_ranks, n_shards);
}

int main(void) {
  signal(SIGPIPE, SIG_IGN);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(who_has_which_shards),
      cmocka_unit_test(messages_of_any_length),
      cmocka_unit_test(encoders_have_the_bits_of_one_process),
      cmocka_unit_test(gradients_travel_as_bf16),
      cmocka_unit_test(a_cut_wire_ends_all_ranks),
      cmocka_unit_test(a_failed_step_abandons_its_sums),
      cmocka_unit_test(autoencoders_have_the_bits_of_one_process),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
