/* Students of every kind from a small made-up corpus, and the alignment that places new pieces. */
#include "support/files.h"

#include "base/file.h"
#include "base/memory.h"
#include "calque/calque.h"
#include "model/encoder.h"
#include "recipe/student/carry.h"
#include "recipe/student/focus.h"
#include "train/align.h"

#include <math.h>

/* --- the corpus: every sentence of a small grammar, English and German --- */

static const char *const who[][2] = {
    {"the dog", "der Hund"}, {"the cat", "die Katze"},      {"the child", "das Kind"},      {"a woman", "eine Frau"},
    {"a man", "ein Mann"},   {"my brother", "mein Bruder"}, {"our teacher", "unser Lehrer"}};
static const char *const does[][2] = {
    {"sees", "sieht"}, {"hears", "hört"}, {"finds", "findet"}, {"loves", "liebt"}, {"needs", "braucht"}};
static const char *const what[][2] = {
    {"the sun", "die Sonne"},    {"the river", "den Fluss"}, {"a house", "ein Haus"},     {"the music", "die Musik"},
    {"an apple", "einen Apfel"}, {"the bread", "das Brot"},  {"a garden", "einen Garten"}};
#define COUNT(list) (sizeof list / sizeof *list)

static const char *corpus(void) {
  static char path[400];
  snprintf(path, sizeof path, "%s", test_path("corpus.tsv"));
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  for (size_t w = 0; w < COUNT(who); w++)
    for (size_t d = 0; d < COUNT(does); d++)
      for (size_t o = 0; o < COUNT(what); o++)
        fprintf(f, "%s %s %s.\t%s %s %s.\n", who[w][0], does[d][0], what[o][0], who[w][1], does[d][1], what[o][1]);
  assert_int_equal(fclose(f), 0);
  return path;
}

static void keep_notices(void *context, const char *text) {
  char *all = context;
  snprintf(all + strlen(all), 2048 - strlen(all), "%s\n", text);
}

static char notices[2048];

static cq_student_options options_for(cq_student_kind kind) {
  static cq_training_data file;
  file.path = corpus();
  cq_student_options o = cq_student_default_options();
  o.keep_case = true;
  notices[0] = '\0';
  o.kind = kind;
  o.text = &file;
  o.n_text = 1;
  o.vocab_size = 80;
  o.character_coverage = 1;
  o.dim = 24, o.n_layers = 2, o.n_heads = 3, o.feed_forward_dim = 32, o.max_seq_length = 20;
  o.replace = true;
  o.notice = keep_notices;
  o.notice_context = notices;
  return o;
}

static cq_encoder *make(const cq_student_options *o) {
  cq_error error = {0};
  cq_encoder *encoder;
  if (cq_student_new(test_path("student"), o, NULL, &error)) fail_msg("%s", error.message);
  if (cq_encoder_open(&encoder, test_path("student"), NULL, &error)) fail_msg("%s", error.message);
  return encoder;
}

static double similarity(const cq_encoder *encoder, const char *a, const char *b) {
  const int dim = cq_encoder_dim(encoder);
  float vectors[2 * 512];
  const cq_slice slices[2] = {cq_slice_of(a), cq_slice_of(b)};
  assert_true(dim <= 512);
  assert_int_equal(cq_encoder_encode(vectors, NULL, encoder, slices, 2, NULL, NULL, NULL), CQ_OK);
  for (int i = 0; i < 2 * dim; i++) assert_true(isfinite(vectors[i]));
  return cq_cosine(vectors, vectors + dim, (size_t)dim);
}

static bool has_module(const cq_encoder *encoder, size_t index, const char *name) {
  return index < encoder->n_modules && strcmp(encoder->modules[index]->type->name, name) == 0;
}

/* --- fresh kinds --- */

static void fresh_kinds_open_again(void **state) {
  static const struct {
    cq_student_kind kind;
    const char *first;
    size_t n_modules;
  } kinds[] = {{CQ_STUDENT_TRANSFORMER, "Transformer", 4},
               {CQ_STUDENT_BILSTM, "WordEmbeddings", 5},
               {CQ_STUDENT_STATIC, "StaticEmbedding", 3}};
  (void)state;
  for (size_t i = 0; i < COUNT(kinds); i++) {
    cq_student_options o = options_for(kinds[i].kind);
    o.output_dim = 10;
    o.normalize = true;
    cq_encoder *encoder = make(&o);
    assert_int_equal(cq_encoder_dim(encoder), 10);
    assert_int_equal(encoder->n_modules, kinds[i].n_modules);
    assert_true(has_module(encoder, 0, kinds[i].first));
    assert_true(has_module(encoder, encoder->n_modules - 2, "Dense"));
    assert_true(has_module(encoder, encoder->n_modules - 1, "Normalize"));
    if (kinds[i].kind != CQ_STUDENT_STATIC) assert_int_equal(cq_encoder_max_seq_length(encoder), 20);
    similarity(encoder, "the dog sees the sun.", "a man loves the music.");
    similarity(encoder, "", "the sun");
    cq_encoder_free(encoder);
  }
}

static void the_seed_decides(void **state) {
  char first[33], again[33], other[33];
  (void)state;
  cq_student_options o = options_for(CQ_STUDENT_BILSTM);
  cq_encoder *encoder = make(&o);
  assert_int_equal(cq_encoder_fingerprint(first, encoder, NULL), CQ_OK);
  cq_encoder_free(encoder);
  encoder = make(&o);
  assert_int_equal(cq_encoder_fingerprint(again, encoder, NULL), CQ_OK);
  cq_encoder_free(encoder);
  o.seed++;
  encoder = make(&o);
  assert_int_equal(cq_encoder_fingerprint(other, encoder, NULL), CQ_OK);
  cq_encoder_free(encoder);
  assert_string_equal(first, again);
  assert_string_not_equal(first, other);
}

/* --- from a model --- */

static void a_copy_is_the_same(void **state) {
  char one[33], two[33], model[1024];
  cq_encoder *original;
  (void)state;
  snprintf(model, sizeof model, "%s", tests_file("golden/models/bert-uncased"));
  cq_student_options o = options_for(CQ_STUDENT_COPY);
  o.from = model;
  o.max_seq_length = 0;
  cq_encoder *copy = make(&o);
  assert_int_equal(cq_encoder_open(&original, model, NULL, NULL), CQ_OK);
  assert_int_equal(cq_encoder_fingerprint(one, original, NULL), CQ_OK);
  assert_int_equal(cq_encoder_fingerprint(two, copy, NULL), CQ_OK);
  assert_string_equal(one, two);
  cq_encoder_free(original);
  cq_encoder_free(copy);
}

static void expect_refused(const cq_student_options *o, cq_status expected, const char *word) {
  cq_error error = {0};
  cq_status status = cq_student_new(test_path("refused"), o, NULL, &error);
  if (status != expected) fail_msg("status %d, expected %d: %s", status, expected, error.message);
  if (!strstr(error.message, word)) fail_msg("'%s' does not say '%s'", error.message, word);
  assert_int_equal(count_files("refused"), 0);
}

/* The row of an id in the word embeddings. */
static const float *row_of(const cq_encoder *encoder, int64_t id) {
  const cq_module *m = encoder->modules[0];
  for (size_t i = 0; i < m->n_params; i++)
    if (m->params[i].table) return m->params[i].value + id * m->params[i].cols;
  return NULL;
}

static int64_t id_of(const cq_encoder *encoder, const char *text, cq_piece_kind kind) {
  const cq_tokenizer *t = encoder->modules[0]->tokenizer;
  for (int32_t id = 0; id < cq_tokenizer_describe(t)->vocab_size; id++) {
    cq_slice piece;
    cq_piece_kind found;
    if (cq_tokenizer_piece(&piece, &found, t, id) && found == kind && cq_slice_equal(piece, cq_slice_of(text)))
      return id;
  }
  return -1;
}

static void rows_are_carried_over(void **state) {
  static const cq_carry_over ways[] = {CQ_CARRY_SHARED, CQ_CARRY_MEAN};
  char model[1024];
  cq_encoder *old;
  (void)state;
  snprintf(model, sizeof model, "%s", tests_file("golden/models/bert-uncased"));
  assert_int_equal(cq_encoder_open(&old, model, NULL, NULL), CQ_OK);
  for (size_t i = 0; i < 2; i++) {
    cq_student_options o = options_for(CQ_STUDENT_NEW_VOCABULARY);
    o.from = model;
    o.carry_over = ways[i];
    cq_encoder *student = make(&o);
    const cq_tokenizer_info *a = cq_tokenizer_describe(old->modules[0]->tokenizer),
                            *b = cq_tokenizer_describe(student->modules[0]->tokenizer);
    const size_t n_bytes = (size_t)cq_encoder_dim(old) * sizeof(float);
    assert_int_equal(b->vocab_size, 80);
    assert_non_null(strstr(notices, "folds case"));
    assert_memory_equal(row_of(student, b->cls_id), row_of(old, a->cls_id), n_bytes);
    assert_memory_equal(row_of(student, b->sep_id), row_of(old, a->sep_id), n_bytes);
    assert_memory_equal(row_of(student, b->pad_id), row_of(old, a->pad_id), n_bytes);
    assert_memory_equal(row_of(student, b->mask_id), row_of(old, a->mask_id), n_bytes);
    int n_shared = 0;
    for (int32_t id = 4; id < b->vocab_size; id++) {
      cq_slice text;
      cq_piece_kind kind;
      char word[64];
      assert_true(cq_tokenizer_piece(&text, &kind, student->modules[0]->tokenizer, id));
      if (kind != CQ_PIECE_START || text.n == 0) continue;
      snprintf(word, sizeof word, "%.*s", (int)text.n, text.data);
      const int64_t before = id_of(old, word, CQ_PIECE_START);
      if (before < 0) continue;
      assert_memory_equal(row_of(student, id), row_of(old, before), n_bytes);
      n_shared++;
    }
    assert_true(n_shared >= 5);
    cq_encoder_free(student);
  }
  cq_encoder_free(old);
}

/* Words of the old vocabulary that the text lacks are there as one piece, with their old rows; the text is split as without
 * them. */
static void words_may_be_kept(void **state) {
  char model[1024];
  cq_encoder *old;
  (void)state;
  snprintf(model, sizeof model, "%s", tests_file("golden/models/bert-uncased"));
  assert_int_equal(cq_encoder_open(&old, model, NULL, NULL), CQ_OK);
  cq_student_options o = options_for(CQ_STUDENT_NEW_VOCABULARY);
  o.from = model, o.carry_over = CQ_CARRY_SHARED;
  cq_encoder *without = make(&o);
  o.keep_words = true;
  cq_encoder *with = make(&o);
  const cq_tokenizer *t = old->modules[0]->tokenizer;
  const size_t n_bytes = (size_t)cq_encoder_dim(old) * sizeof(float);
  int n_kept = 0;
  for (int32_t id = 0; id < cq_tokenizer_describe(t)->vocab_size; id++) {
    cq_slice text;
    cq_piece_kind kind;
    char word[64];
    assert_true(cq_tokenizer_piece(&text, &kind, t, id));
    if (kind != CQ_PIECE_START || text.n == 0 || text.n >= sizeof word) continue;
    snprintf(word, sizeof word, "%.*s", (int)text.n, text.data);
    const int64_t now = id_of(with, word, CQ_PIECE_START);
    assert_true(now >= 0);
    if (id_of(without, word, CQ_PIECE_START) >= 0) continue;
    assert_memory_equal(row_of(with, now), row_of(old, id), n_bytes);
    n_kept++;
  }
  assert_true(n_kept > 100);
  assert_int_equal(cq_tokenizer_describe(with->modules[0]->tokenizer)->vocab_size,
                   cq_tokenizer_describe(without->modules[0]->tokenizer)->vocab_size + n_kept);
  cq_encoder_free(with), cq_encoder_free(without), cq_encoder_free(old);
  /* byte-pair encoding would need merges of them */
  o.vocabulary = CQ_VOCABULARY_BPE;
  expect_refused(&o, CQ_ERR_ARGUMENT, "keep_words");
}

/* How much nearer a sentence is to its own translation than to another's, on the average. */
static double margin_of(const cq_encoder *encoder) {
  char source[64], target[64], other[64];
  double sum = 0;
  const size_t n = COUNT(who);
  for (size_t i = 0; i < n; i++) {
    const size_t d = i % COUNT(does), o = (i + 2) % COUNT(what), e = (d + 1) % COUNT(does);
    snprintf(source, sizeof source, "%s %s %s.", who[i][0], does[d][0], what[o][0]);
    snprintf(target, sizeof target, "%s %s %s.", who[i][1], does[d][1], what[o][1]);
    snprintf(other, sizeof other, "%s %s %s.", who[(i + 3) % n][1], does[e][1], what[(o + 3) % n][1]);
    sum += similarity(encoder, source, target) - similarity(encoder, source, other);
  }
  return sum / (double)n;
}

/* A static model whose pieces are the words of the English side. */
static const char *english_model(void) {
  static char model[400];
  char english[400];
  const cq_training_data file = {.path = english};
  snprintf(model, sizeof model, "%s", test_path("english"));
  snprintf(english, sizeof english, "%s", test_path("english.txt"));
  FILE *f = fopen(english, "w");
  assert_non_null(f);
  for (size_t w = 0; w < COUNT(who); w++)
    for (size_t d = 0; d < COUNT(does); d++)
      fprintf(f, "%s %s %s.\n", who[w][0], does[d][0], what[(w + d) % COUNT(what)][0]);
  assert_int_equal(fclose(f), 0);
  cq_student_options o = options_for(CQ_STUDENT_STATIC);
  o.text = &file;
  o.vocabulary = CQ_VOCABULARY_BPE;
  o.vocab_size = 110;
  assert_int_equal(cq_student_new(model, &o, NULL, NULL), CQ_OK);
  return model;
}

/* With the alignment, a sentence and its translation are near each other before any training. */
static void alignment_brings_translations_together(void **state) {
  double margin[2];
  const char *model = english_model();
  (void)state;
  for (int i = 0; i < 2; i++) {
    cq_student_options o = options_for(CQ_STUDENT_NEW_VOCABULARY);
    o.from = model;
    o.vocabulary = CQ_VOCABULARY_BPE;
    o.vocab_size = 170;
    o.max_seq_length = 0;
    o.carry_over = i == 0 ? CQ_CARRY_SHARED : CQ_CARRY_ALIGN;
    cq_encoder *student = make(&o);
    margin[i] = margin_of(student);
    cq_encoder_free(student);
  }
  assert_non_null(strstr(notices, "245 sentence pairs"));
  assert_true(margin[1] > 0.1);
  assert_true(margin[1] > margin[0] + 0.1);
}

/* A static student whose rows come from a teacher's vectors of pieces: the same, for its mean of rows. */
static void a_static_student_starts_from_its_teacher(void **state) {
  double margin[2];
  const char *model = english_model();
  (void)state;
  for (int i = 0; i < 2; i++) {
    cq_student_options o = options_for(CQ_STUDENT_STATIC);
    o.from = i == 0 ? NULL : model;
    o.vocabulary = CQ_VOCABULARY_BPE;
    o.vocab_size = 170;
    o.normalize = true;
    o.dim = 10; /* without a teacher */
    cq_encoder *student = make(&o);
    assert_int_equal(cq_encoder_dim(student), i == 0 ? 10 : 24);
    margin[i] = margin_of(student);
    cq_encoder_free(student);
  }
  assert_non_null(strstr(notices, "by word alignment of 245 sentence pairs"));
  assert_true(margin[1] > 0.2);
  assert_true(margin[1] > margin[0] + 0.2);
}

static double row_length_of(const cq_encoder *e, const char *word) {
  const int64_t id = id_of(e, word, CQ_PIECE_START), dim = cq_encoder_dim(e);
  double sum = 0;
  assert_true(id >= 0);
  for (int64_t j = 0; j < dim; j++) sum += (double)row_of(e, id)[j] * (double)row_of(e, id)[j];
  return sqrt(sum);
}

/* The mean length is that of fresh rows; with smoothing, what is frequent is shorter. */
static void static_rows_are_weighted_and_freed_of_components(void **state) {
  const char *model = english_model();
  (void)state;
  cq_student_options o = options_for(CQ_STUDENT_STATIC);
  o.from = model, o.vocabulary = CQ_VOCABULARY_WORDS, o.vocab_size = 170, o.n_components = 0, o.smoothing = 0;
  cq_encoder *plain = make(&o);
  o.smoothing = 1e-3;
  cq_encoder *weighted = make(&o);
  o.n_components = 3; /* an eighth of the dimensions */
  cq_encoder *freed = make(&o);
  o.n_components = 1000;
  cq_encoder *most = make(&o);
  const int64_t n = cq_tokenizer_describe(plain->modules[0]->tokenizer)->vocab_size, dim = cq_encoder_dim(plain);
  double squares = 0;
  for (int64_t i = 4 * dim; i < n * dim; i++)
    squares += (double)row_of(weighted, 0)[i] * (double)row_of(weighted, 0)[i];
  assert_true(fabs(squares / (double)(n - 4) - (double)dim) < 0.01 * (double)dim);
  for (int64_t i = 0; i < 4 * dim; i++) assert_true(row_of(weighted, 0)[i] == 0); /* special tokens */
  /* "the" stands in each second sentence, "apple" in each seventh. */
  const double before = row_length_of(plain, "the") / row_length_of(plain, "apple");
  const double after = row_length_of(weighted, "the") / row_length_of(weighted, "apple");
  assert_true(after < 0.6 * before);
  const size_t n_bytes = (size_t)(n * dim) * sizeof(float);
  assert_memory_not_equal(row_of(weighted, 0), row_of(freed, 0), n_bytes);
  assert_memory_equal(row_of(most, 0), row_of(freed, 0), n_bytes);
  /* The components are those of single words as often as they occur: along three directions nothing is left, so that three
   * of the rows' dimensions are gone. Their Gram determinant says so: any 22 rows of 24 dimensions depend linearly. */
  double basis[24][24];
  size_t rank = 0;
  for (int64_t id = 4; id < n; id++) {
    double row[24], length = 0, left = 0;
    for (int64_t j = 0; j < dim; j++) row[j] = (double)row_of(freed, id)[j], length += row[j] * row[j];
    for (int again = 0; again < 2; again++)
      for (size_t b = 0; b < rank; b++) {
        double along = 0;
        for (int64_t j = 0; j < dim; j++) along += row[j] * basis[b][j];
        for (int64_t j = 0; j < dim; j++) row[j] -= along * basis[b][j];
      }
    for (int64_t j = 0; j < dim; j++) left += row[j] * row[j];
    if (!(left > 1e-8 * length) || rank == 24) continue;
    for (int64_t j = 0; j < dim; j++) basis[rank][j] = row[j] / sqrt(left);
    rank++;
  }
  assert_int_equal(rank, 21);
  cq_encoder_free(plain), cq_encoder_free(weighted), cq_encoder_free(freed), cq_encoder_free(most);
}

/* The rows for a student's vocabulary, placed by what files say, whatever the number of threads. */
static float *rows_by(const cq_encoder *old, const cq_encoder *student, const cq_training_data *files, size_t n_files) {
  const cq_tokenizer *tokenizer = student->modules[0]->tokenizer, *old_tokenizer = old->modules[0]->tokenizer;
  const int64_t n = cq_tokenizer_describe(tokenizer)->vocab_size, dim = cq_encoder_dim(old),
                n_old = cq_tokenizer_describe(old_tokenizer)->vocab_size;
  cq_student_options o = cq_student_default_options();
  float *rows[2];
  unsigned char *origins = test_malloc((size_t)n);
  o.text = files, o.n_text = n_files;
  for (int i = 0; i < 2; i++) {
    cq_context *ctx;
    cq_random random = cq_random_seeded(1, 0);
    cq_carry_stats stats;
    assert_int_equal(cq_context_open(&ctx, i ? 3 : 1, NULL), CQ_OK);
    rows[i] = test_malloc((size_t)(n * dim) * sizeof **rows);
    assert_int_equal(cq_carry_over_rows(rows[i], origins, tokenizer, row_of(old, 0), n_old, dim, old_tokenizer, &o,
                                        &random, &stats, ctx, NULL),
                     CQ_OK);
    cq_context_free(ctx);
  }
  assert_memory_equal(rows[0], rows[1], (size_t)(n * dim) * sizeof **rows);
  test_free(origins);
  test_free(rows[1]);
  return rows[0];
}

/* The same English, said four times over in a language of its own letters. */
static const char *larger_corpus(void) {
  static char path[400];
  snprintf(path, sizeof path, "%s", test_path("larger.tsv"));
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  for (int again = 0; again < 4; again++)
    for (size_t w = 0; w < COUNT(who); w++)
      for (size_t d = 0; d < COUNT(does); d++)
        for (size_t o = 0; o < COUNT(what); o++)
          fprintf(f, "%s %s %s.\t%c%c %c%c %c%c\n", who[w][0], does[d][0], what[o][0], 'A' + (int)w, 'Q', 'H' + (int)d,
                  'X', 'M' + (int)o, 'Z');
  assert_int_equal(fclose(f), 0);
  return path;
}

/* --- pieces that no translation has --- */

/* Sentences of the German side with a word that it lacks in place of one that it has, which is so in all contexts. */
static void write_untranslated(const char *path, const char *word, const char *instead) {
  char text[120];
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  for (int again = 0; again < 3; again++)
    for (size_t w = 0; w < COUNT(who); w++)
      for (size_t d = 0; d < COUNT(does); d++)
        for (size_t o = 0; o < COUNT(what); o++) {
          snprintf(text, sizeof text, "%s %s %s.", who[w][1], does[d][1], what[o][1]);
          fprintf(f, "%s\n", text);
          const char *at = strstr(text, word);
          if (at) fprintf(f, "%.*s%s%s\n", (int)(at - text), text, instead, at + strlen(word));
        }
  assert_int_equal(fclose(f), 0);
}

static double likeness(const cq_encoder *e, const char *a, const char *b) {
  const int64_t x = id_of(e, a, CQ_PIECE_START), y = id_of(e, b, CQ_PIECE_START);
  assert_true(x >= 0 && y >= 0);
  return cq_cosine(row_of(e, x), row_of(e, y), (size_t)cq_encoder_dim(e));
}

/* A word that only untranslated text has comes to lie by the one that has its contexts, on any number of threads. */
static void neighbors_place_what_no_translation_has(void **state) {
  static const char *const known[] = {"sieht", "findet", "liebt", "braucht", "Hund", "Sonne", "Fluss", "Musik"};
  char untranslated[400];
  cq_context *ctx;
  (void)state;
  snprintf(untranslated, sizeof untranslated, "%s", test_path("untranslated.txt"));
  write_untranslated(untranslated, "Hund", "qqqq");
  const cq_training_data files[2] = {{.path = corpus(), .label = "de"}, {.path = untranslated, .label = "de"}};
  cq_student_options o = options_for(CQ_STUDENT_NEW_VOCABULARY);
  o.from = english_model();
  o.text = files, o.n_text = 2;
  o.vocabulary = CQ_VOCABULARY_WORDS, o.vocab_size = 200, o.max_seq_length = 0;
  o.carry_over = CQ_CARRY_ALIGN, notices[0] = '\0';
  cq_encoder *aligned = make(&o);
  assert_null(strstr(notices, "by neighbors"));
  o.carry_over = CQ_CARRY_FOCUS;
  cq_encoder *placed = make(&o);
  assert_non_null(strstr(notices, "\n1 of the others by neighbors\n"));
  assert_true(likeness(aligned, "qqqq", "Hund") < 0.6);
  const double right = likeness(placed, "qqqq", "Hund");
  assert_true(right > 0.75);
  for (size_t i = 0; i < COUNT(known); i++)
    if (strcmp(known[i], "Hund") != 0) assert_true(likeness(placed, "qqqq", known[i]) < right);
  /* What was known stays. */
  const size_t n_bytes = (size_t)cq_encoder_dim(placed) * sizeof(float);
  for (size_t i = 0; i < COUNT(known); i++)
    assert_memory_equal(row_of(aligned, id_of(aligned, known[i], CQ_PIECE_START)),
                        row_of(placed, id_of(placed, known[i], CQ_PIECE_START)), n_bytes);
  assert_int_equal(cq_context_open(&ctx, 3, NULL), CQ_OK);
  cq_encoder *again;
  assert_int_equal(cq_student_new(test_path("again"), &o, ctx, NULL), CQ_OK);
  assert_int_equal(cq_encoder_open(&again, test_path("again"), NULL, NULL), CQ_OK);
  assert_memory_equal(row_of(placed, id_of(placed, "qqqq", CQ_PIECE_START)),
                      row_of(again, id_of(again, "qqqq", CQ_PIECE_START)), n_bytes);
  cq_context_free(ctx);
  cq_encoder_free(aligned), cq_encoder_free(placed), cq_encoder_free(again);
}

/* Worked out by hand: the threshold of 0.9, 0.7, 0.2 is 0.3, which leaves the last out; what is equal weighs the same. */
static void sparsemax_is_the_nearest_point_of_the_simplex(void **state) {
  uint32_t at[4];
  float z[4] = {0.2f, 0.9f, -0.5f, 0.7f}, equal[4] = {0.3f, 0.3f, 0.3f, 0.3f}, alone[3] = {-1, 1, -0.5f};
  (void)state;
  assert_int_equal(cq_sparsemax(z, at, 4), 2);
  assert_int_equal(at[0], 1);
  assert_int_equal(at[1], 3);
  assert_float_equal(z[0], 0.6, 1e-6);
  assert_float_equal(z[1], 0.4, 1e-6);
  assert_int_equal(cq_sparsemax(equal, at, 4), 4);
  for (size_t i = 0; i < 4; i++) assert_float_equal(equal[i], 0.25, 1e-6);
  assert_int_equal(cq_sparsemax(alone, at, 3), 1);
  assert_int_equal(at[0], 1);
  assert_float_equal(alone[0], 1, 1e-6);
}

/* Memory that runs out, and text that ends early, are errors, and nothing leaks. */
static void neighbors_fail_cleanly(void **state) {
  char missing[400];
  cq_error error;
  cq_encoder *e;
  int64_t n;
  (void)state;
  cq_training_data file = {.path = corpus()};
  cq_student_options o = options_for(CQ_STUDENT_STATIC);
  o.vocabulary = CQ_VOCABULARY_WORDS, o.vocab_size = 60, o.text = &file, o.n_text = 1;
  e = make(&o);
  const cq_tokenizer *t = e->modules[0]->tokenizer;
  const int64_t vocab_size = cq_tokenizer_describe(t)->vocab_size, dim = cq_encoder_dim(e);
  float *rows = test_malloc((size_t)(vocab_size * dim) * sizeof *rows);
  unsigned char *origins = test_malloc((size_t)vocab_size);
  memcpy(rows, row_of(e, 0), (size_t)(vocab_size * dim) * sizeof *rows);
  for (int64_t id = 0; id < vocab_size; id++)
    origins[id] = id < 5 ? CQ_ROW_OTHER : id % 5 ? CQ_ROW_KNOWN : CQ_ROW_UNALIGNED;
  cq_status status;
  long at = 0;
  do {
    cq_alloc_fail_at(++at);
    status = cq_focus_rows(&n, rows, dim, origins, t, &o, NULL, &error);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    if (!failed) break;
    assert_int_equal(status, CQ_ERR_MEMORY);
    assert_int_equal(n, 0);
  } while (at < 100000);
  assert_int_equal(status, CQ_OK);
  assert_true(at > 50 && n > 3);
  snprintf(missing, sizeof missing, "%s", test_path("missing.tsv"));
  file.path = missing;
  assert_int_equal(cq_focus_rows(&n, rows, dim, origins, t, &o, NULL, &error), CQ_ERR_IO);
  assert_non_null(strstr(error.message, "missing.tsv"));
  /* Nothing is left, or nothing known: nothing to do. */
  file.path = corpus();
  for (int way = 0; way < 2; way++) {
    memset(origins, way ? CQ_ROW_KNOWN : CQ_ROW_UNALIGNED, (size_t)vocab_size);
    assert_int_equal(cq_focus_rows(&n, rows, dim, origins, t, &o, NULL, &error), CQ_OK);
    assert_int_equal(n, 0);
  }
  test_free(rows), test_free(origins);
  cq_encoder_free(e);
}

/* A language's pieces stand where its own file puts them, however much there is of another. */
static void each_file_is_aligned_by_itself(void **state) {
  static const char *words[] = {"Hund", "Katze", "Kind", "Frau", "sieht", "findet", "liebt", "Sonne", "Fluss", "Musik"};
  const cq_training_data files[2] = {{.path = corpus()}, {.path = larger_corpus()}};
  cq_encoder *old;
  (void)state;
  assert_int_equal(cq_encoder_open(&old, english_model(), NULL, NULL), CQ_OK);
  cq_student_options o = options_for(CQ_STUDENT_STATIC);
  o.text = files;
  o.n_text = 2;
  o.vocabulary = CQ_VOCABULARY_BPE;
  o.vocab_size = 260;
  cq_encoder *student = make(&o);
  float *alone = rows_by(old, student, files, 1), *beside = rows_by(old, student, files, 2);
  const int64_t dim = cq_encoder_dim(old);
  size_t n_moved = 0;
  for (size_t i = 0; i < COUNT(words); i++) {
    const int64_t id = id_of(student, words[i], CQ_PIECE_START);
    assert_true(id >= 0);
    assert_memory_equal(alone + id * dim, beside + id * dim, (size_t)dim * sizeof(float));
  }
  const int64_t own = id_of(student, "AQ", CQ_PIECE_START);
  assert_true(own >= 0);
  for (int64_t j = 0; j < dim; j++) n_moved += alone[own * dim + j] != beside[own * dim + j];
  assert_int_equal(n_moved, dim);
  test_free(alone), test_free(beside);
  cq_encoder_free(student);
  cq_encoder_free(old);
}

/* Files of one label are one text: a dictionary decides what two sentences leave open. A weight counts as so many copies,
 * and one below 0 is aligned without shaping the vocabulary. */
static void files_of_one_language_are_aligned_as_one(void **state) {
  cq_training_data files[2] = {{.path = corpus(), .label = "de", .weight = 1}};
  char dictionary[400];
  cq_encoder *old;
  (void)state;
  snprintf(dictionary, sizeof dictionary, "%s", test_path("words.tsv"));
  write_text(dictionary, "dog\tHund\nsun\tSonne\nzebra\tZyklotron\n");
  files[1] = (cq_training_data){.path = dictionary, .label = "de", .weight = -1};
  assert_int_equal(cq_encoder_open(&old, english_model(), NULL, NULL), CQ_OK);
  cq_student_options o = options_for(CQ_STUDENT_STATIC);
  o.text = files, o.n_text = 1, o.vocabulary = CQ_VOCABULARY_BPE, o.vocab_size = 200;
  cq_encoder *student = make(&o);
  o.n_text = 2;
  cq_encoder *with = make(&o);
  const cq_tokenizer *one = student->modules[0]->tokenizer, *other = with->modules[0]->tokenizer;
  for (int32_t id = 0; id < cq_tokenizer_describe(one)->vocab_size; id++) {
    cq_slice texts[2];
    cq_piece_kind kinds[2];
    assert_int_equal(cq_tokenizer_piece(&texts[0], &kinds[0], one, id),
                     cq_tokenizer_piece(&texts[1], &kinds[1], other, id));
    assert_true(cq_slice_equal(texts[0], texts[1]));
  }
  const size_t n_bytes = (size_t)cq_tokenizer_describe(one)->vocab_size * (size_t)cq_encoder_dim(old) * sizeof(float);
  float *both = rows_by(old, student, files, 2), *alone = rows_by(old, student, files, 1);
  assert_memory_not_equal(both, alone, n_bytes);
  files[1].label = "fr";
  float *apart = rows_by(old, student, files, 2);
  assert_memory_not_equal(both, apart, n_bytes);
  files[1] = files[0]; /* the same text twice, and with a weight of 2 */
  float *twice = rows_by(old, student, files, 2);
  files[0].weight = 2;
  float *weighted = rows_by(old, student, files, 1);
  for (size_t i = 0; i < n_bytes / sizeof(float); i++) assert_float_equal(twice[i], weighted[i], 1e-4);
  test_free(both), test_free(alone), test_free(apart), test_free(twice), test_free(weighted);
  cq_encoder_free(student), cq_encoder_free(with), cq_encoder_free(old);
}

/* A text too small for the vocabulary asked for gives the largest that it has, and says so. */
static void a_vocabulary_is_as_large_as_the_text_allows(void **state) {
  static const cq_student_vocabulary kinds[] = {CQ_VOCABULARY_UNIGRAM, CQ_VOCABULARY_BPE};
  (void)state;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    for (int lowercase = 0; lowercase < 2; lowercase++) {
      cq_student_options o = options_for(CQ_STUDENT_STATIC);
      cq_encoder *e;
      cq_error error = {0};
      o.vocab_size = 100000, o.vocabulary = kinds[i], o.keep_case = !lowercase, o.replace = true;
      notices[0] = '\0';
      if (cq_student_new(test_path("largest"), &o, NULL, &error)) fail_msg("%s", error.message);
      assert_non_null(strstr(notices, "the text makes a vocabulary of"));
      assert_non_null(strstr(notices, "pieces, not 100000"));
      if (cq_encoder_open(&e, test_path("largest"), NULL, &error)) fail_msg("%s", error.message);
      const int64_t n = cq_tokenizer_describe(cq_encoder_text_module(e)->tokenizer)->vocab_size;
      assert_true(n > 20 && n < 1000);
      cq_encoder_free(e);
    }
}

/* --- what cannot be made --- */

static void refusals(void **state) {
  static const char *none = "no-such-file.tsv", *bad;
  cq_student_options o = options_for(CQ_STUDENT_TRANSFORMER);
  (void)state;
  o.n_heads = 5;
  expect_refused(&o, CQ_ERR_ARGUMENT, "5 heads");
  o = options_for(CQ_STUDENT_BILSTM);
  o.dim = 25;
  expect_refused(&o, CQ_ERR_ARGUMENT, "dim is 25, a BiLSTM's is even");
  o = options_for(CQ_STUDENT_STATIC);
  o.n_text = 0;
  expect_refused(&o, CQ_ERR_ARGUMENT, "text");
  o = options_for(CQ_STUDENT_STATIC);
  o.text = &(cq_training_data){.path = none};
  expect_refused(&o, CQ_ERR_IO, none);
  o = options_for(CQ_STUDENT_STATIC);
  bad = test_path("bad.tsv");
  write_text(bad, "fine\tgut\nnot \xff utf-8\tx\n");
  o.text = &(cq_training_data){.path = bad};
  cq_error error = {0};
  assert_int_equal(cq_student_new(test_path("refused"), &o, NULL, &error), CQ_ERR_FORMAT);
  assert_int_equal(error.line, 2);
  assert_non_null(strstr(error.file, "bad.tsv"));
  o = options_for(CQ_STUDENT_COPY);
  expect_refused(&o, CQ_ERR_ARGUMENT, "kind copy needs 'from', a model to start with");
  o.from = "no/such-model";
  expect_refused(&o, CQ_ERR_IO, "no/such-model");
  o = options_for(CQ_STUDENT_STATIC);
  o.replace = false;
  write_text(test_path("there"), "x");
  assert_int_equal(cq_student_new(test_path("there"), &o, NULL, &error), CQ_ERR_ARGUMENT);
}

/* --- the aligner by itself --- */

/* Source word i is target word 100 - i; one source word and one target word stand in every sentence. */
static void the_aligner_finds_the_dictionary(void **state) {
  cq_aligner *a;
  cq_link links[4];
  (void)state;
  assert_int_equal(cq_aligner_new(&a, 101, 101, NULL), CQ_OK);
  for (int i = 1; i < 50; i++)
    for (int j = 1; j < 50; j++) {
      const int32_t source[] = {0, i, j}, target[] = {100 - j, 0, 100 - i};
      assert_int_equal(cq_aligner_add(a, source, 3, target, 3, 1, NULL), CQ_OK);
    }
  assert_int_equal(cq_aligner_run(a, 5, NULL), CQ_OK);
  for (int i = 1; i < 50; i++) {
    assert_true(cq_aligner_links(a, 100 - i, links, 4) >= 1);
    assert_int_equal(links[0].source, i);
    assert_true(links[0].weight > 0.9f);
    assert_int_equal(cq_aligner_count(a, 100 - i), 98);
  }
  assert_int_equal(cq_aligner_links(a, 0, links, 1), 1);
  assert_int_equal(links[0].source, 0);
  assert_int_equal(cq_aligner_links(a, 50, links, 4), 0);
  cq_aligner_free(a);
}

/* --- out of memory --- */

static void allocations_of_kind_may_fail(cq_student_kind kind, cq_student_vocabulary vocabulary) {
  char model[1024];
  long n = 1;
  snprintf(model, sizeof model, "%s", tests_file("golden/models/static-mean"));
  cq_student_options o = options_for(kind);
  o.from = model;
  o.vocabulary = vocabulary;
  o.max_seq_length = 0;
  cq_directory_remove(test_path("refused"));
  for (;; n += 1 + n / 6) { /* every one at first, then further and further apart: each costs a vocabulary's training */
    cq_error error = {0};
    notices[0] = '\0';
    cq_alloc_fail_at(n);
    cq_status status = cq_student_new(test_path("refused"), &o, NULL, &error);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    if (!failed) {
      assert_int_equal(status, CQ_OK);
      break;
    }
    if (status != CQ_ERR_MEMORY) fail_msg("allocation %ld: status %d: %s", n, status, error.message);
    assert_int_equal(count_files("refused"), 0);
  }
  assert_true(n > 50);
}

static void allocations_may_fail(void **state) {
  (void)state;
  allocations_of_kind_may_fail(CQ_STUDENT_NEW_VOCABULARY, CQ_VOCABULARY_UNIGRAM);
}

static void allocations_for_a_static_student_may_fail(void **state) {
  (void)state;
  allocations_of_kind_may_fail(CQ_STUDENT_STATIC, CQ_VOCABULARY_WORDS);
}

static void the_aligner_may_run_out(void **state) {
  (void)state;
  for (long n = 1;; n++) {
    cq_aligner *a = NULL;
    cq_status status;
    const int32_t source[] = {0, 1, 2}, target[] = {2, 1, 0};
    cq_alloc_fail_at(n);
    status = cq_aligner_new(&a, 3, 3, NULL);
    for (int i = 0; !status && i < 3; i++) status = cq_aligner_add(a, source, 3, target, 3, 1, NULL);
    if (!status) status = cq_aligner_run(a, 2, NULL);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    cq_aligner_free(a);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    if (!failed) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fresh_kinds_open_again),
      cmocka_unit_test(the_seed_decides),
      cmocka_unit_test(a_copy_is_the_same),
      cmocka_unit_test(rows_are_carried_over),
      cmocka_unit_test(words_may_be_kept),
      cmocka_unit_test(alignment_brings_translations_together),
      cmocka_unit_test(a_static_student_starts_from_its_teacher),
      cmocka_unit_test(static_rows_are_weighted_and_freed_of_components),
      cmocka_unit_test(neighbors_place_what_no_translation_has),
      cmocka_unit_test(sparsemax_is_the_nearest_point_of_the_simplex),
      cmocka_unit_test(neighbors_fail_cleanly),
      cmocka_unit_test(each_file_is_aligned_by_itself),
      cmocka_unit_test(files_of_one_language_are_aligned_as_one),
      cmocka_unit_test(a_vocabulary_is_as_large_as_the_text_allows),
      cmocka_unit_test(refusals),
      cmocka_unit_test(the_aligner_finds_the_dictionary),
      cmocka_unit_test(allocations_for_a_static_student_may_fail),
      cmocka_unit_test(allocations_may_fail),
      cmocka_unit_test(the_aligner_may_run_out),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
