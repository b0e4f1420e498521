/* A run that was stopped is resumed under the same options only: each option of each kind of run is changed by itself.
 * Where its row says that it changes the result, resuming is refused and names it; where its row says that it does not, the
 * run ends with the bits of the model that an uninterrupted run with the first value gives. */
#include "support/files.h"

#include "calque/calque.h"
#include "calque/lab/autoencode.h"

enum { N_PAIRS = 24, N_KINDS = 4 };

/* What a kind of run begins with, and values that its options change to where the next number or choice will not do. */
typedef struct setting {
  const char *name, *value;
} setting;

typedef struct kind {
  const char *group;
  setting base[16], changed[16];
} kind;

#define MODELS      CQ_TESTS_DIR "/golden/models/"
#define TINY_MODEL  MODELS "bert-uncased"
#define OTHER_MODEL MODELS "bert-lower"

/* Paths are names in the test's directory. */
static const kind kinds[N_KINDS] = {
    {"distill",
     {{"teacher", TINY_MODEL},
      {"student", MODELS "bert-xlmr"}, /* a Unigram vocabulary, for piece dropout */
      {"train", "@pairs.tsv"},
      {"source-text", "@plain.txt"},
      {"contrast", "1"}, /* hard negatives are options of it */
      {"dev", "@dev.tsv"},
      {"steps", "8"},
      {"batch", "4"},
      {"evaluate-every", "1000"}},
     {{"teacher", OTHER_MODEL},
      {"student", OTHER_MODEL},
      {"train", "@more.tsv"},
      {"source-text", "@more.txt"},
      {"dev", "@more.tsv"},
      {"sts", "@scored.tsv"},
      {"best-by", "last"},
      {"max-length", "16"},
      {"dropout", "0.25"},
      {"clip", "1e-6"},
      {"log", "@other.jsonl"},
      {"matryoshka", "4"},
      {"cache", "@other-cache"}}},
    {"finetune",
     {{"model", TINY_MODEL}, {"pairs", "@pairs.tsv"}, {"dev", "@dev.tsv"}, {"steps", "8"}, {"batch", "4"}},
     {{"model", OTHER_MODEL},
      {"nli", "@scored.tsv"},
      {"scored", "@scored.tsv"},
      {"pairs", "@more.tsv"},
      {"dev", "@more.tsv"},
      {"sts", "@scored.tsv"},
      {"best-by", "last"},
      {"max-length", "16"},
      {"dropout", "0.25"},
      {"clip", "1e-6"},
      {"max-sentences", "20"},
      {"log", "@other.jsonl"}}},
    {"autoencode",
     {{"train", "xx,yy=@pairs.tsv"},
      {"dev", "xx,yy=@dev.tsv"},
      {"vocab-size", "12"},
      {"embedding", "6"},
      {"hidden", "8"},
      {"latent", "24"},
      {"batch", "4"},
      {"layers", "2"},
      {"together", "2"}},
     {{"train", "xx,yy=@more.tsv"},
      {"dev", "xx,yy=@more.tsv"},
      {"join", "@joined"},
      {"latent-as", "state"},
      {"teacher", TINY_MODEL},
      {"teacher-language", "yy"},
      {"cache", "@other-cache"},
      {"contrast", "pairs"}}},
    {"extend",
     {{"to", "xx=@pairs.tsv"},
      {"dictionary", "xx=@words.tsv"},
      {"text", "xx=@plain.txt"},
      {"dev", "xx=@dev.tsv"},
      {"vocab-size", "200"},
      {"keep-variants", "yes"}, /* no rules to compile */
      {"contrast", "1"},
      {"steps", "8"},
      {"batch", "4"}},
     {{"to", "xx=@more.tsv"},
      {"dictionary", "xx=@more.tsv"},
      {"text", "xx=@more.txt"},
      {"dev", "xx=@more.tsv"},
      {"source-text", "@more.txt"},
      {"sts", "@scored.tsv"},
      {"best-by", "last"},
      {"max-length", "16"},
      {"dropout", "0.25"},
      {"clip", "1e-6"},
      {"log", "@other.jsonl"},
      {"time", "30m"},
      {"coverage", "0.75"},
      {"matryoshka", "4"},
      {"cache", "@other-cache"}}},
};

static const char *changed_value(const kind *k, const char *name) {
  for (const setting *s = k->changed; s < k->changed + 16 && s->name; s++)
    if (!strcmp(s->name, name)) return s->value;
  return NULL;
}

/* With '@' as the test's directory. */
static const char *in_place(char out[1024], const char *value) {
  const char *at = strchr(value, '@');
  if (!at) return value;
  snprintf(out, 1024, "%.*s%s/%s", (int)(at - value), value, test_directory, at + 1);
  return out;
}

static void set(cq_options *o, const char *name, const char *value) {
  char place[1024];
  cq_error error = {0};
  if (cq_options_set(o, name, in_place(place, value), &error)) fail_msg("%s", error.message);
}

static const cq_option_group *group_of(const kind *k) {
  return strcmp(k->group, "autoencode") ? cq_option_group_find(k->group) : &cq_group_autoencode;
}

static cq_options *options_of(const kind *k, const char *name, const char *but) {
  cq_options *o;
  assert_int_equal(cq_options_new(&o, group_of(k), NULL), CQ_OK);
  for (const setting *s = k->base; s < k->base + 16 && s->name; s++)
    if (!but || strcmp(s->name, but) != 0) set(o, s->name, s->value);
  char output[64];
  snprintf(output, sizeof output, "@%s-%s", k->group, name);
  set(o, "output", output);
  if (strcmp(k->group, "finetune") != 0) set(o, "cache", "@cache");
  return o;
}

/* --- runs that stop at their third step --- */

enum { STOPS_AT = 3, NEVER = 1000000 };

typedef struct watch {
  int n_steps, stops_at;
} watch;

static bool stop_training(void *context, const cq_training_progress *p) {
  watch *w = context;
  return strcmp(p->phase, "train") != 0 || p->text || ++w->n_steps < w->stops_at;
}

static bool stop_autoencoding(void *context, const cq_autoencode_progress *p) {
  watch *w = context;
  return !strcmp(p->phase, "data") || p->text || ++w->n_steps < w->stops_at;
}

static cq_status run(const kind *k, cq_options *options, int stops_at, cq_error *error) {
  watch w = {0, stops_at};
  if (!strcmp(k->group, "autoencode")) {
    cq_autoencode_options *o = cq_options_struct(options);
    o->progress = stop_autoencoding, o->progress_context = &w;
    return cq_autoencode(NULL, o, NULL, error);
  }
  if (!strcmp(k->group, "extend")) {
    cq_extend_options *o = cq_options_struct(options);
    if (!o->model) o->model = TINY_MODEL;
    cq_training_options *of_run = (cq_training_options *)(uintptr_t)o->run;
    of_run->progress = stop_training, of_run->progress_context = &w;
    return cq_extend(NULL, o, NULL, error);
  }
  const bool distills = !strcmp(k->group, "distill");
  void *options_of_kind = cq_options_struct(options);
  const cq_training_options *shared =
      distills ? ((cq_distill_options *)options_of_kind)->run : ((cq_finetune_options *)options_of_kind)->run;
  cq_training_options *own = (cq_training_options *)(uintptr_t)shared;
  own->progress = stop_training, own->progress_context = &w;
  return distills ? cq_distill(NULL, options_of_kind, NULL, error) : cq_finetune(NULL, options_of_kind, NULL, error);
}

/* --- one option changed --- */

/* Sets an option to another value than it has; false: there is nothing to change it to. */
static bool change(cq_options *o, const kind *k, const cq_option *row) {
  const char *other = changed_value(k, row->name);
  char *now, text[64];
  assert_int_equal(cq_options_get(&now, o, row->name, 0, NULL), CQ_OK);
  if (other) {
    set(o, row->name, other);
  } else if (row->type == CQ_OPTION_FLAG || row->type == CQ_OPTION_YES_NO) {
    set(o, row->name, strcmp(now, "yes") ? "yes" : "no");
  } else if (row->type == CQ_OPTION_CHOICE) {
    set(o, row->name, row->choices[strcmp(now, row->choices[0]) ? 0 : 1]);
  } else if (row->type >= CQ_OPTION_INT && row->type <= CQ_OPTION_COUNT) {
    snprintf(text, sizeof text, "%ld", atol(now) + 1);
    set(o, row->name, text);
  } else if (row->type == CQ_OPTION_NUMBER) {
    const double x = atof(now);
    snprintf(text, sizeof text, "%g", x > 0 ? x / 2 : 0.5);
    set(o, row->name, text);
  }
  cq_free(now);
  return cq_options_is_set(o, row->name) || other;
}

/* What a refusal of files says is which text is another, or how many there are. */
static bool names(const char *message, const cq_option *row) {
  char sought[80];
  const bool is_file = row->type >= CQ_OPTION_ITEMS;
  snprintf(sought, sizeof sought, "the run under way has %s ", row->name);
  return strstr(message, sought) || (is_file && (strstr(message, "another text in") || strstr(message, " files ") ||
                                                 strstr(message, "the run under way has")));
}

static void run_or_fail(const kind *k, cq_options *o, int stops_at, const char *why) {
  cq_error error = {0};
  const cq_status status = run(k, o, stops_at, &error);
  if (status != (stops_at == NEVER ? CQ_OK : CQ_ERR_STOPPED))
    fail_msg("%s: %s: %s: %s", k->group, why, cq_status_name(status), error.message);
}

static bool shell(const kind *k, const char *command) {
  char whole[1200];
  snprintf(whole, sizeof whole, "cd '%s' && kind=%s && %s", test_directory, k->group, command);
  return !system(whole);
}

/* The run that was stopped, resumed with another value to the end: the same model as of one piece. */
static void check_same_model(const kind *k, const cq_option *row) {
  cq_options *then = options_of(k, "stopped", NULL);
  if (!change(then, k, row)) fail_msg("%s: nothing to change %s to", k->group, row->name);
  set(then, "resume", "yes");
  run_or_fail(k, then, NEVER, row->name);
  if (!shell(k, "diff -r -x log.jsonl -x README.md $kind-whole $kind-stopped"))
    fail_msg("%s: the row of %s says that it keeps the result: it does not", k->group, row->name);
  assert_true(shell(k, "rm -rf $kind-stopped* && cp -r kept/. .")); /* stopped as before */
  cq_options_free(then);
}

static void check_refused(const kind *k, const cq_option *row) {
  cq_error error = {0};
  cq_options *o = options_of(k, "stopped", row->type >= CQ_OPTION_TEXTS ? row->name : NULL);
  if (!change(o, k, row)) fail_msg("%s: nothing to change %s to", k->group, row->name);
  if (!strcmp(row->name, "teacher") && !strcmp(k->group, "autoencode")) set(o, "teacher-language", "xx");
  set(o, "resume", "yes");
  const cq_status status = run(k, o, STOPS_AT, &error);
  if (status != CQ_ERR_ARGUMENT || !names(error.message, row))
    fail_msg("%s: %s changes the result, and resuming with another gives %s: %s", k->group, row->name,
             cq_status_name(status), error.message);
  cq_options_free(o);
}

static bool is_of_the_run(const char *name) {
  return strcmp(name, "output") != 0 && strcmp(name, "resume") != 0 && strcmp(name, "replace") != 0;
}

static void check_kind(const kind *k) {
  int n_refused = 0, n_taken = 0;
  cq_options *whole = options_of(k, "whole", NULL), *stopped = options_of(k, "stopped", NULL);
  run_or_fail(k, whole, NEVER, "an uninterrupted run");
  run_or_fail(k, stopped, STOPS_AT, "a run that is stopped");
  assert_true(shell(k, "rm -rf kept && mkdir kept && cp -r $kind-stopped.* kept"));
  const cq_option *row;
  for (size_t i = 0; (row = cq_options_row(whole, i)); i++) {
    if (!is_of_the_run(row->name)) continue;
    const bool changes = row->effect == CQ_CHANGES_RESULT;
    *(changes ? &n_refused : &n_taken) += 1;
    if (changes)
      check_refused(k, row);
    else
      check_same_model(k, row);
  }
  cq_options_free(whole);
  cq_options_free(stopped);
  assert_true(n_refused >= 25 && n_taken >= (!strcmp(k->group, "extend") ? 2 : 3));
}

/* --- what they read --- */

static void write_pairs(const char *name, int first, int n, bool scored) {
  char text[8000] = "";
  for (int i = first; i < first + n; i++)
    snprintf(text + strlen(text), sizeof text - strlen(text), "%c%c %c\t%c %c%s\n", 'a' + i % 3, 'a' + i % 4,
             'd' + i % 2, 'p' + i % 4, 'p' + i % 3, scored ? i % 2 ? "\t1" : "\t4" : "");
  write_text(test_path(name), text);
}

static void make_files(void) {
  write_pairs("pairs.tsv", 0, N_PAIRS, false);
  write_pairs("more.tsv", 1, N_PAIRS + 7, false);
  write_pairs("dev.tsv", 3, 6, false);
  write_text(test_path("words.tsv"), "a\tp\nb\tq\nc\tr\nd\ts\n");
  write_pairs("scored.tsv", 0, N_PAIRS, true);
  write_text(test_path("plain.txt"), "a b\nb a d\nc b e\n");
  write_text(test_path("more.txt"), "a b\nb a d\nc b d\n");
}

/* A model whose language others can join. */
static void make_joined(void) {
  cq_error error = {0};
  cq_autoencode_options o = cq_autoencode_translating();
  const char *const output = test_path("joined");
  const cq_autoencode_text text = {test_path("pairs.tsv"), {"uu", "vv"}};
  o.output = output, o.train = &text, o.n_train = 1;
  o.vocab_size = 12, o.embedding_dim = 4, o.hidden_dim = 4, o.latent_dim = 24, o.together_epochs = 1;
  if (cq_autoencode(NULL, &o, NULL, &error)) fail_msg("%s", error.message);
}

static void distillation(void **state) {
  (void)state;
  make_files();
  check_kind(&kinds[0]);
}

static void fine_tuning(void **state) {
  (void)state;
  make_files();
  check_kind(&kinds[1]);
}

static void autoencoders(void **state) {
  (void)state;
  make_files();
  make_joined();
  check_kind(&kinds[2]);
}

static void extending(void **state) {
  (void)state;
  make_files();
  check_kind(&kinds[3]);
  cq_error error = {0}; /* the model is no option by name */
  cq_options *o = options_of(&kinds[3], "stopped", NULL);
  set(o, "resume", "yes");
  ((cq_extend_options *)cq_options_struct(o))->model = OTHER_MODEL;
  assert_int_equal(run(&kinds[3], o, STOPS_AT, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "the run under way has another model"));
  cq_options_free(o);
}

static cq_error refusal;

/* The steps of an extension by the clock; 0: it was stopped or refused. time NULL: none is given. */
static uint64_t timed_steps(const char *name, int stops_at, const char *time, bool resumes) {
  cq_error error = {0};
  cq_training_result result = {0};
  watch w = {0, stops_at};
  cq_options *options = options_of(&kinds[3], name, "steps");
  set(options, "epochs", "10");
  if (time) set(options, "time", time);
  set(options, "resume", resumes ? "yes" : "no");
  cq_extend_options *o = cq_options_struct(options);
  cq_training_options *of_run = (cq_training_options *)(uintptr_t)o->run;
  o->model = TINY_MODEL, of_run->progress = stop_training, of_run->progress_context = &w;
  const cq_status status = cq_extend(&result, o, NULL, &error);
  cq_options_free(options);
  refusal = error;
  return status ? 0 : result.steps;
}

/* A resumed run whose number of steps follows the clock has the time that it is given then. */
static void another_time(void **state) {
  (void)state;
  make_files();
  const uint64_t most = timed_steps("enough", NEVER, "1h", false);
  assert_int_equal(most, 30); /* ten epochs of 12 pairs; the fewest that are planned are 20 */
  assert_int_equal(timed_steps("more", 1, "0.01s", false), 0);
  assert_int_equal(timed_steps("more", NEVER, "1h", true), most);
  assert_int_equal(timed_steps("less", 1, "1h", false), 0);
  assert_int_equal(timed_steps("less", NEVER, NULL, true), 0); /* the time counts, where it was given */
  assert_non_null(strstr(refusal.message, "the run under way has time 1h, not nothing"));
  assert_int_equal(timed_steps("less", NEVER, "0.01s", true), 1);
  assert_int_equal(timed_steps("twice", 1, NULL, false), 0);
  assert_int_equal(timed_steps("twice", 1, "0.01s", true), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(distillation), cmocka_unit_test(fine_tuning),  cmocka_unit_test(autoencoders),
      cmocka_unit_test(extending),    cmocka_unit_test(another_time),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
