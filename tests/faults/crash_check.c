/* Looks at what crash_states leaves in the directory `crashed`: a program that stays, since thousands of states are opened.
 *
 *   crash_check WRITER
 *   crash_check stop          distillation that is stopped after a while, as by a signal
 *
 * For each line of standard input, 0 or 1 (1: the command had ended), prints ok, or what is wrong. It runs where
 * test_crashes.sh has put the inputs, `old` (what there was before) and `new` (what an undisturbed command leaves).
 * Where the state is the old one, or a half of a longer run, the command is then given again and must lead to the new. */
#define _GNU_SOURCE
#include "calque/cache.h"
#include "calque/distill.h"
#include "calque/index.h"
#include "calque/lab/lexical.h"
#include "calque/lexical.h"
#include "calque/mine.h"
#include "calque/student.h"

#include <dirent.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT_BYTES = 1 << 20 };

typedef struct text {
  char bytes[TEXT_BYTES];
  size_t n;
} text;

static text found, old, new; /* what a reader sees, as text */
static char wrong[4096];
static const char *writer, *teacher;
static cq_context *ctx;
static cq_error error;

/* Notes what is wrong, for the answer; always false. */
__attribute__((format(printf, 1, 2))) static bool refuse(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(wrong, sizeof wrong, format, arguments);
  va_end(arguments);
  for (char *p = wrong; (p = strchr(p, '\n'));) *p = ' ';
  return false;
}

__attribute__((format(printf, 2, 3))) static void add(text *t, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  t->n += (size_t)vsnprintf(t->bytes + t->n, TEXT_BYTES - t->n, format, arguments);
  va_end(arguments);
  if (t->n >= TEXT_BYTES) abort();
}

static bool is_same(const text *a, const text *b) {
  return a->n == b->n && !memcmp(a->bytes, b->bytes, a->n);
}

static bool exists(const char *path) {
  struct stat info;
  return lstat(path, &info) == 0;
}

/* --- any directory: its files --- */

static int is_file(const struct dirent *e) { /* README.md and the log name times and places */
  return strcmp(e->d_name, ".") && strcmp(e->d_name, "..") && strcmp(e->d_name, "README.md") &&
         strcmp(e->d_name, "log.jsonl");
}

static void add_file(text *t, const char *path) {
  uint64_t hash = 0xcbf29ce484222325u;
  FILE *file = fopen(path, "rb");
  for (int c; file && (c = getc_unlocked(file)) != EOF;) hash = (hash ^ (uint64_t)c) * 0x100000001b3u;
  add(t, " %llx\n", (unsigned long long)hash);
  if (file) fclose(file);
}

static void add_tree(text *t, const char *path) {
  struct dirent **entries = NULL;
  char inside[PATH_MAX];
  const int n = scandir(path, &entries, is_file, alphasort);
  if (n < 0) add(t, "no directory\n");
  for (int i = 0; i < n; i++) {
    snprintf(inside, sizeof inside, "%s/%s", path, entries[i]->d_name);
    add(t, "%s", entries[i]->d_name);
    if (entries[i]->d_type == DT_DIR) {
      add(t, "/\n");
      add_tree(t, inside);
    } else {
      add_file(t, inside);
    }
    free(entries[i]);
  }
  free(entries);
}

static void look_at_tree(text *t, const char *path) {
  t->n = 0;
  add_tree(t, path);
}

/* --- an index --- */

static cq_index *open_index(const char *path, bool writing) {
  cq_index *index = NULL;
  cq_index_options o = cq_index_default_options();
  o.model = teacher, o.writing = writing;
  if (cq_index_open(&index, path, &o, &error)) refuse("%s", error.message);
  return index;
}

static bool look_at_index(text *t, const char *path) {
  static const char *const queries[] = {"an old baker", "ein grüner Zug"};
  cq_search_options o = cq_search_default_options();
  cq_hits *hits = NULL;
  size_t n;
  o.k = 100, o.ranking = CQ_RANK_DENSE; /* words count those of removed documents */
  t->n = 0;
  cq_index *index = open_index(path, false);
  if (!index) return false;
  cq_status status = cq_index_check(index, ctx, &error);
  o.csls = cq_index_n_hubness_queries(index) > 0;
  add(t, "%zu documents, %zu approximated, hubness by %zu\n", cq_index_size(index), cq_index_approximated(index),
      cq_index_n_hubness_queries(index));
  for (int q = 0; !status && q < 2; q++) {
    const cq_slice query = {queries[q], strlen(queries[q])};
    if ((status = cq_index_search(&hits, index, &query, 1, &o, ctx, &error))) break;
    const cq_hit *hit = cq_hits_of(hits, 0, &n);
    for (; n > 0; n--, hit++)
      add(t, "%.17g %.*s %.*s\n", hit->score, (int)hit->document.id.n, hit->document.id.data, (int)hit->document.text.n,
          hit->document.text.data);
    cq_hits_free(hits);
  }
  cq_index_free(index);
  return status ? refuse("%s", error.message) : true;
}

static cq_slice until(char **rest, char end) {
  cq_slice part = {*rest, strcspn(*rest, (char[]){end, '\0'})};
  *rest += part.n + 1;
  return part;
}

static cq_status add_documents(cq_index *index) {
  static char lines[65536];
  cq_document documents[256];
  size_t n = 0;
  FILE *file = fopen("second.tsv", "rb");
  if (!file) return CQ_ERR_IO;
  const size_t n_bytes = fread(lines, 1, sizeof lines - 1, file);
  fclose(file);
  for (char *at = lines; at < lines + n_bytes; n++)
    documents[n] = (cq_document){.id = until(&at, '\t'), .text = until(&at, '\n')};
  return cq_index_add(index, documents, n, ctx, &error);
}

static bool change_index(const char *path) {
  size_t n;
  cq_index *index = open_index(path, true);
  if (!index) return false;
  cq_status status = strcmp(writer, "index-remove") == 0
                         ? cq_index_remove(index, (cq_slice[]){{"d3", 2}, {"d7", 2}}, 2, &n, &error)
                     : strcmp(writer, "index-hubness") == 0 ? cq_index_hubness(index, NULL, 4096, 10, ctx, &error)
                     : strcmp(writer, "index-compact") == 0 ? cq_index_compact(index, ctx, &error)
                     : strcmp(writer, "approximate") == 0 ? cq_index_approximate(index, CQ_APPROXIMATE_IVF, ctx, &error)
                                                          : add_documents(index);
  if (!status) status = cq_index_commit(index, &error);
  cq_index_free(index);
  return status ? refuse("the next change: %s", error.message) : true;
}

static bool check_index(bool has_ended) {
  if (!look_at_index(&found, "crashed/index")) return false;
  if (!is_same(&found, &new) && (has_ended || !is_same(&found, &old)))
    return refuse("the index is neither the old one nor the new one: %.2000s", found.bytes);
  if (!change_index("crashed/index") || !look_at_index(&found, "crashed/index")) return false;
  return is_same(&found, &new) || refuse("after the next change it is not the new index: %.2000s", found.bytes);
}

static bool check_new_index(bool has_ended) {
  if (!has_ended && !exists("crashed/index")) {
    cq_index_options o = cq_index_default_options();
    o.model = teacher;
    if (cq_index_create("crashed/index", &o, &error)) return refuse("making it again: %s", error.message);
  }
  return look_at_index(&found, "crashed/index") && (is_same(&found, &new) || refuse("not an empty index"));
}

/* --- the cache --- */

static uint64_t n_cached, n_damaged;
static void count_part(void *context, const cq_cache_part *part) {
  (void)context;
  n_cached += part->n, n_damaged += part->n_damaged;
}

static void on_notice(void *context, const char *message) {
  (void)context;
  if (strstr(message, "damaged")) refuse("mining: %s", message);
}

static bool look_at_pairs(text *t, const char *cache) {
  cq_mine_options o = cq_mine_default_options();
  cq_mining *mining = NULL;
  size_t n;
  o.source = "en.txt", o.target = "de.txt", o.model = teacher, o.cache_directory = cache, o.notice = on_notice;
  t->n = 0;
  if (cq_mine(&mining, &o, ctx, &error)) return refuse("mining: %s", error.message);
  const cq_mined_pair *pair = cq_mining_pairs(&n, mining);
  for (; n > 0; n--, pair++) add(t, "%.17g %u %u\n", pair->score, (unsigned)pair->source, (unsigned)pair->target);
  cq_mining_free(mining);
  return !wrong[0];
}

static bool check_cache(bool has_ended) {
  n_cached = n_damaged = 0;
  if (cq_cache_check("new/cache", count_part, NULL, &error)) return refuse("%s", error.message);
  const uint64_t n_whole = n_cached;
  n_cached = 0;
  if (cq_cache_check("crashed/cache", count_part, NULL, &error)) return refuse("%s", error.message);
  if (n_damaged) return refuse("%llu cached vectors are damaged", (unsigned long long)n_damaged);
  if (has_ended && n_cached != n_whole) return refuse("the cache has lost what was in it");
  if (!look_at_pairs(&found, "crashed/cache")) return false;
  return is_same(&found, &new) || refuse("other pairs");
}

/* --- models, lexical indexes --- */

static bool make_again(const char *path) {
  if (!strcmp(writer, "lexical")) {
    cq_lexical_build_options o = cq_lexical_build_default_options();
    cq_analysis_options analysis = cq_analysis_default_options();
    analysis.language = "en", o.analysis = &analysis;
    return cq_lexical_build(path, (const char *const[]){"en.tsv"}, 1, &o, ctx, &error) == CQ_OK;
  }
  cq_student_options o = cq_student_default_options();
  o.kind = strcmp(writer, "model") ? CQ_STUDENT_COPY : CQ_STUDENT_NEW_VOCABULARY, o.from = teacher, o.replace = true;
  o.text = &(cq_training_data){.path = "pairs.tsv"}, o.n_text = strcmp(writer, "model") == 0, o.vocab_size = 60;
  return cq_student_new(path, &o, ctx, &error) == CQ_OK;
}

static bool check_made(bool has_ended) {
  const bool is_there = exists("crashed/out");
  look_at_tree(&found, "crashed/out");
  if ((is_there || has_ended) && !is_same(&found, &new) && (has_ended || !is_same(&found, &old)))
    return refuse("neither the old state nor the new one: %.2000s", found.bytes);
  if (is_there && is_same(&found, &new)) return true;
  if (is_there != exists("old/out")) return refuse("what was there is gone");
  if (!make_again("crashed/out")) return refuse("making it again: %s", error.message);
  look_at_tree(&found, "crashed/out");
  return is_same(&found, &new) || refuse("made again it is another: %.2000s", found.bytes);
}

static bool check_file(bool has_ended) {
  const char *path = strcmp(writer, "encode") ? "crashed/out.jsonl" : "crashed/out.npy";
  found.n = 0;
  if (!has_ended && !exists(path)) return true;
  add_file(&found, path);
  return is_same(&found, &new) || refuse("a part of the file");
}

/* --- training --- */

static bool go_on(void *context, const cq_training_progress *progress) {
  const uint64_t *last = context;
  return !last || strcmp(progress->phase, "train") != 0 || progress->step < *last;
}

static cq_status distill(const char *output, uint64_t *last) {
  const cq_training_data pairs = {.path = "pairs.tsv", .weight = 1};
  cq_training_options run = cq_training_default_options();
  cq_distill_options o = cq_distill_default_options();
  run.output = output, run.dev = &pairs, run.n_dev = 1, run.steps = 9, run.batch_pairs = 4, run.learning_rate = 1e-3;
  run.evaluate_every = 4, run.checkpoint_every = 3, run.resume = true, run.progress = go_on,
  run.progress_context = last;
  o.teacher = teacher, o.student = getenv("STUDENT"), o.train = &pairs, o.n_train = 1, o.dim_match = CQ_DIM_PROJECT;
  o.cache_directory = "cache", o.run = &run;
  return cq_distill(NULL, &o, ctx, &error);
}

static void look_at_model(text *t, const char *path) {
  char log[PATH_MAX], line[4096];
  look_at_tree(t, path);
  snprintf(log, sizeof log, "%s/log.jsonl", path);
  FILE *file = fopen(log, "r");
  while (file && fgets(line, sizeof line, file)) {
    char *from = strstr(line, "\"seconds\":"), *to = from ? from + strcspn(from, ",}") : NULL;
    if (from) memmove(from, to, strlen(to) + 1);
    add(t, "%s", line);
  }
  if (file) fclose(file);
}

/* A run whose work directory is gone has ended; any other resumes and ends with the same model. */
static bool check_training(bool has_ended) {
  const bool is_stopped = strcmp(writer, "stopped") == 0;
  if (has_ended && is_stopped && !exists("crashed/model.work/checkpoint")) return refuse("the checkpoint is lost");
  if ((!has_ended || is_stopped) && (!exists("crashed/model") || exists("crashed/model.work")) &&
      distill("crashed/model", NULL))
    return refuse("%s", error.message);
  look_at_model(&found, "crashed/model");
  return is_same(&found, &new) || refuse("not the model of an undisturbed run: %.3000s", found.bytes);
}

int main(int argc, char **argv) {
  static const struct {
    const char *writer;
    bool (*check)(bool has_ended);
  } checks[] = {{"index-new", check_new_index}, {"index-add", check_index},     {"index-add-tail", check_index},
                {"index-remove", check_index},  {"index-hubness", check_index}, {"index-compact", check_index},
                {"approximate", check_index},   {"cache", check_cache},         {"cache-grow", check_cache},
                {"checkpoint", check_training}, {"stopped", check_training},    {"model", check_made},
                {"model-replace", check_made},  {"lexical", check_made},        {"encode", check_file},
                {"encode-lines", check_file}};
  char line[16];
  size_t i = 0;
  if (argc != 2) return 2;
  writer = argv[1], teacher = getenv("TEACHER");
  if (!strcmp(writer, "stop")) {
    uint64_t last = 1;
    return distill("state/model", &last) != CQ_ERR_STOPPED;
  }
  while (i < sizeof checks / sizeof *checks && strcmp(checks[i].writer, writer) != 0) i++;
  if (i == sizeof checks / sizeof *checks || cq_context_open(&ctx, 1, &error)) return 2;
  if (checks[i].check == check_index && (!look_at_index(&old, "old/index") || !look_at_index(&new, "new/index")))
    return 2;
  if (checks[i].check == check_new_index && !look_at_index(&new, "new/index")) return 2;
  if (checks[i].check == check_cache && !look_at_pairs(&new, "new/cache")) return 2;
  if (checks[i].check == check_made) look_at_tree(&old, "old/out"), look_at_tree(&new, "new/out");
  if (checks[i].check == check_training) look_at_model(&new, "new/model");
  if (checks[i].check == check_file) add_file(&new, strcmp(writer, "encode") ? "new/out.jsonl" : "new/out.npy");
  while (fgets(line, sizeof line, stdin)) {
    wrong[0] = '\0';
    puts(checks[i].check(line[0] == '1') ? "ok" : wrong);
    fflush(stdout);
  }
  cq_context_free(ctx);
  return 0;
}
