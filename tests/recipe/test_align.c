/* Alignment of sentences: the path through generated documents is the one that made them, coarse and fine; documents in
 * random order are unrelated, and a passage that stands elsewhere is found. */
#include "base/memory.h"
#include "base/random.h"
#include "recipe/align/alignment.h"
#include "recipe/align/path.h"
#include "support/files.h"

#include <math.h>

enum { DIM = 384, MAX = 4 };

typedef struct pair {
  cq_align_side sides[2];
  cq_bead *gold;
  size_t n_gold;
} pair;

static void draw(float *x, cq_random *r) {
  for (size_t j = 0; j < DIM; j++) x[j] = (float)(cq_random_normal(r) / sqrt(DIM));
}

static void put(cq_align_side *s, const float *meaning, size_t length, cq_random *r) {
  float *x = cq_align_group(s, s->n + 1, 1);
  for (size_t j = 0; j < DIM; j++) x[j] = meaning[j] + 0.2F * (float)(cq_random_normal(r) / sqrt(DIM)) + (j == 0);
  cq_align_unit(x, DIM);
  s->begins[s->n + 1] = s->begins[s->n] + (double)length;
  s->n++;
}

/* A bead of a source and b target sentences: the side with one says all of the other. */
static void put_bead(pair *p, size_t a, size_t b, cq_random *r) {
  float parts[MAX][DIM], whole[DIM] = {0};
  const size_t n[2] = {a, b}, most = a > b ? a : b;
  for (size_t k = 0; k < most; k++) {
    draw(parts[k], r);
    for (size_t j = 0; j < DIM; j++) whole[j] += parts[k][j] / (float)sqrt((double)most);
  }
  p->gold[p->n_gold++] = (cq_bead){(uint32_t)p->sides[0].n, (uint32_t)a, (uint32_t)p->sides[1].n, (uint32_t)b, 0};
  for (int side = 0; side < 2; side++)
    for (size_t k = 0; k < n[side]; k++)
      put(&p->sides[side], n[side] == most ? parts[k] : whole, 50 * most / n[side], r);
}

static void open_pair(pair *p, size_t n) {
  cq_error error = {0};
  *p = (pair){.gold = cq_alloc_array(n, sizeof *p->gold)};
  for (int side = 0; side < 2; side++) {
    assert_int_equal(cq_align_side_new(&p->sides[side], n, DIM, MAX, &error), CQ_OK);
    p->sides[side].n = 0;
  }
}

static void close_pair(pair *p) {
  cq_align_side_free(&p->sides[0]), cq_align_side_free(&p->sides[1]);
  cq_free(p->gold);
}

static void join(pair *p) {
  cq_align_side_join(&p->sides[0]), cq_align_side_join(&p->sides[1]);
}

static size_t n_found(const cq_bead *beads, size_t n, const pair *p) {
  size_t found = 0, source = 0, target = 0;
  for (size_t i = 0, g = 0; i < n; i++) {
    const cq_bead *b = &beads[i];
    assert_int_equal(b->source, source), assert_int_equal(b->target, target); /* they cover both sides, in order */
    source += b->n_source, target += b->n_target;
    assert_true(b->n_source + b->n_target > 0);
    while (g < p->n_gold &&
           (p->gold[g].source < b->source || (p->gold[g].source == b->source && p->gold[g].target < b->target)))
      g++;
    if (g < p->n_gold && p->gold[g].source == b->source && p->gold[g].target == b->target)
      found += p->gold[g].n_source == b->n_source && p->gold[g].n_target == b->n_target;
  }
  assert_int_equal(source, p->sides[0].n), assert_int_equal(target, p->sides[1].n);
  return found;
}

static cq_bead *find_path(pair *p, cq_context *ctx, size_t *n_beads) {
  cq_error error = {0};
  cq_align_plan plan;
  cq_bead *beads;
  join(p);
  assert_int_equal(cq_align_plan_make(&plan, p->sides, NULL, ctx, &error), CQ_OK);
  assert_int_equal(cq_align_path(&beads, n_beads, &plan, p->sides, NULL, ctx, &error), CQ_OK);
  cq_align_plan_free(&plan);
  return beads;
}

static size_t align(pair *p, cq_context *ctx, size_t *n_beads) {
  cq_bead *beads = find_path(p, ctx, n_beads);
  const size_t found = n_found(beads, *n_beads, p);
  cq_free(beads);
  return found;
}

static void test_few_sentences(void **state) {
  static const uint8_t kinds[][2] = {{1, 1}, {1, 2}, {1, 1}, {0, 1}, {2, 1}, {1, 1}, {1, 0}, {1, 3}, {1, 1}};
  cq_random r = cq_random_seeded(3, 0);
  pair p;
  size_t n;
  (void)state;
  open_pair(&p, 20);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) put_bead(&p, kinds[i][0], kinds[i][1], &r);
  assert_int_equal(align(&p, NULL, &n), p.n_gold);
  assert_int_equal(n, p.n_gold);
  close_pair(&p);
}

/* More sentences than the coarsest level has, with a long passage that only one side has. */
static void test_levels(void **state) {
  cq_random r = cq_random_seeded(4, 0);
  cq_error error = {0};
  cq_context *ctx;
  pair p;
  size_t n;
  (void)state;
  assert_int_equal(cq_context_open(&ctx, 3, &error), CQ_OK);
  open_pair(&p, 4000);
  while (p.sides[0].n < 1500) {
    const uint64_t u = cq_random_below(&r, 20);
    if (p.sides[0].n > 700 && p.sides[0].n < 900)
      put_bead(&p, 1, 0, &r);
    else
      put_bead(&p, u == 1 ? 2 : 1, u == 0 ? 2 : 1, &r);
  }
  const size_t found = align(&p, ctx, &n);
  assert_true(found >= p.n_gold - p.n_gold / 100);
  cq_context_free(ctx);
  close_pair(&p);
}

static void test_one_against_many(void **state) {
  cq_random r = cq_random_seeded(5, 0);
  pair p;
  size_t n;
  (void)state;
  open_pair(&p, 3000);
  for (size_t i = 0; i < 2000; i++) put_bead(&p, i == 1234, 1, &r);
  assert_true(align(&p, NULL, &n) >= 1);
  assert_true(n >= 1995 && n <= 2000); /* the others are alone, but for what stands beside it */
  close_pair(&p);
}

/* Only groups that could matter are encoded, and those of the path are among them. */
static void test_wanted_groups(void **state) {
  cq_random r = cq_random_seeded(6, 0);
  cq_error error = {0};
  cq_align_plan plan;
  pair p;
  size_t n_wanted[2] = {0, 0};
  (void)state;
  open_pair(&p, 400);
  for (size_t i = 0; i < 100; i++) put_bead(&p, i % 10 == 3 ? 2 : 1, i % 10 == 6 ? 3 : 1, &r);
  join(&p);
  assert_int_equal(cq_align_plan_make(&plan, p.sides, NULL, NULL, &error), CQ_OK);
  for (int side = 0; side < 2; side++)
    for (size_t i = 0; i < p.sides[side].n * MAX; i++) {
      const bool wanted = plan.wanted[side][i];
      assert_true(!wanted || i % MAX > 0); /* sentences are known */
      assert_true(!wanted || i / MAX >= i % MAX);
      n_wanted[side] += wanted;
    }
  for (size_t g = 0; g < p.n_gold; g++) {
    const cq_bead *b = &p.gold[g];
    assert_true(b->n_source == 1 || plan.wanted[0][(b->source + b->n_source - 1) * MAX + b->n_source - 1]);
    assert_true(b->n_target == 1 || plan.wanted[1][(b->target + b->n_target - 1) * MAX + b->n_target - 1]);
  }
  for (int side = 0; side < 2; side++)
    assert_true(n_wanted[side] >= 10 && n_wanted[side] < p.sides[side].n * (MAX - 1) / 2);
  cq_align_plan_free(&plan);
  close_pair(&p);
}

/* A heading that says a little of what the sentence after it says is joined to it, unless it is a block of its own. */
static void test_blocks(void **state) {
  cq_random r = cq_random_seeded(8, 0);
  static const uint32_t numbers[2][41] = {{0}};
  uint32_t blocks[41];
  pair p;
  size_t n;
  (void)state;
  open_pair(&p, 41);
  for (size_t i = 0; i < 20; i++) put_bead(&p, 1, 1, &r);
  float heading[DIM];
  draw(heading, &r);
  put(&p.sides[0], heading, 10, &r);
  p.gold[p.n_gold++] = (cq_bead){.source = 20, .n_source = 1, .target = 20};
  for (size_t i = 0; i < 20; i++) put_bead(&p, 1, 1, &r);
  float *x = cq_align_group(&p.sides[0], 21, 1);
  for (size_t j = 0; j < DIM; j++) x[j] += 0.6F * cq_align_group(&p.sides[1], 21, 1)[j];
  cq_align_unit(x, DIM);
  for (uint32_t i = 0; i < 41; i++) blocks[i] = (i >= 20) + (i > 20);
  p.sides[0].blocks = numbers[0], p.sides[1].blocks = numbers[1];
  assert_int_equal(align(&p, NULL, &n), p.n_gold - 2);
  p.sides[0].blocks = blocks;
  assert_int_equal(align(&p, NULL, &n), p.n_gold);
  close_pair(&p);
}

/* Where each sentence is a block, one that two say is still theirs. */
static void test_groups_of_blocks(void **state) {
  cq_random r = cq_random_seeded(9, 0);
  uint32_t blocks[80];
  pair p;
  size_t n;
  (void)state;
  open_pair(&p, 80);
  for (size_t i = 0; i < 50; i++) put_bead(&p, i % 10 == 3 ? 2 : 1, i % 10 == 6 ? 2 : 1, &r);
  for (uint32_t i = 0; i < 80; i++) blocks[i] = i;
  p.sides[0].blocks = p.sides[1].blocks = blocks;
  assert_int_equal(align(&p, NULL, &n), p.n_gold);
  close_pair(&p);
}

/* Names place a sentence whose vector says nothing. */
static void test_names(void **state) {
  cq_align_document documents[2];
  static char texts[2][200] = {"Das ist Rigi 1931. Das Wetter. Es war Mürren.",
                               "On the 1931 Rigi. Weather is. We saw Mürren."};
  cq_sentence sentences[2][3] = {{{0, 18}, {19, 30}, {31, 46}}, {{0, 17}, {18, 29}, {30, 44}}};
  cq_align_side sides[2];
  cq_error error = {0};
  float *weights;
  (void)state;
  for (int side = 0; side < 2; side++) {
    documents[side] = (cq_align_document){.text = texts[side], .sentences = sentences[side], .n = 3};
    assert_int_equal(cq_align_side_new(&sides[side], 3, DIM, MAX, &error), CQ_OK);
  }
  const cq_align_document *const both[2] = {&documents[0], &documents[1]};
  assert_int_equal(cq_align_shared_words(&weights, sides, both, &error), CQ_OK);
  /* "rigi", "1931" and "mürren" are in one sentence of each, of nine pairs: the weight is 1. */
  const size_t n[3] = {2, 0, 1};
  for (int side = 0; side < 2; side++) {
    for (size_t i = 0; i < 3; i++) assert_int_equal(sides[side].word_starts[i + 1] - sides[side].word_starts[i], n[i]);
    for (size_t k = 0; k < 3; k++) {
      assert_int_equal(sides[0].words[k], sides[1].words[k]);
      assert_true(fabsf(weights[sides[side].words[k]] - 1) < 1e-6F);
    }
  }
  cq_free(weights);
  cq_align_side_free(&sides[0]), cq_align_side_free(&sides[1]);
}

static void check(cq_align_verdict *v, pair *p) {
  cq_error error = {0};
  size_t n;
  cq_bead *beads = find_path(p, NULL, &n);
  assert_int_equal(cq_align_check(v, p->sides, beads, n, NULL, &error), CQ_OK);
  cq_free(beads);
}

static void test_verdicts(void **state) {
  cq_random r = cq_random_seeded(7, 0);
  cq_align_verdict v;
  float meanings[200][DIM];
  pair p;
  (void)state;
  for (size_t i = 0; i < 200; i++) draw(meanings[i], &r);

  open_pair(&p, 200); /* in order */
  for (size_t i = 0; i < 200; i++) put(&p.sides[0], meanings[i], 50, &r), put(&p.sides[1], meanings[i], 50, &r);
  check(&v, &p);
  assert_int_equal(v.n_anchors, 200), assert_int_equal(v.n_in_order, 200);
  assert_false(v.is_unrelated), assert_false(v.is_too_short), assert_int_equal(v.n_moved, 0);
  cq_free(v.moved), close_pair(&p);

  open_pair(&p, 200); /* in random order */
  uint32_t order[200];
  for (uint32_t i = 0; i < 200; i++) order[i] = i;
  cq_random_shuffle(&r, order, 200);
  for (size_t i = 0; i < 200; i++) put(&p.sides[0], meanings[i], 50, &r), put(&p.sides[1], meanings[order[i]], 50, &r);
  check(&v, &p);
  assert_true(v.is_unrelated && v.n_in_order < 40);
  cq_free(v.moved), close_pair(&p);

  open_pair(&p, 200); /* the last 60 sentences stand first */
  for (size_t i = 0; i < 200; i++)
    put(&p.sides[0], meanings[i], 50, &r), put(&p.sides[1], meanings[(i + 140) % 200], 50, &r);
  check(&v, &p);
  assert_false(v.is_unrelated), assert_int_equal(v.n_moved, 1);
  assert_int_equal(v.moved[0].source, 140), assert_int_equal(v.moved[0].n_source, 60);
  assert_int_equal(v.moved[0].target, 0), assert_int_equal(v.moved[0].n_target, 60);
  cq_free(v.moved), close_pair(&p);

  open_pair(&p, 5); /* a few sentences cannot tell */
  for (size_t i = 0; i < 5; i++) put(&p.sides[0], meanings[i], 50, &r), put(&p.sides[1], meanings[i], 50, &r);
  check(&v, &p);
  assert_true(v.is_too_short && !v.is_unrelated);
  cq_free(v.moved), close_pair(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_few_sentences), cmocka_unit_test(test_levels),   cmocka_unit_test(test_one_against_many),
      cmocka_unit_test(test_wanted_groups), cmocka_unit_test(test_blocks),   cmocka_unit_test(test_groups_of_blocks),
      cmocka_unit_test(test_names),         cmocka_unit_test(test_verdicts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
