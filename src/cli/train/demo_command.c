/* calque demo: the whole workflow on the sample corpus, explained for newcomers.
 *
 *   sample/teacher ──▶ extended by sample/train ──▶ compared with the teacher ──▶ translations found
 *                                                                                       │
 *                                                     one question, six languages ◀─────┘
 *
 * Like every command, it uses only the public headers, so it is also an example of using the library. */
#include "cli/frame/command.h"
#include "cli/frame/report.h"
#include "cli/train/training_command.h"

#include "calque/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N_LANGUAGES = 5, PATH_BYTES = 4096 };

static const struct language {
  const char *code, *name;
} languages[N_LANGUAGES] = {
    {"de", "German"}, {"es", "Spanish"}, {"ru", "Russian"}, {"hi", "Hindi"}, {"ar", "Arabic"},
};

struct args {
  size_t size;
  const char *sample, *work;
  int threads;
  bool quick;
};

static const cq_option options[] = {
    {.name = "sample",
     .type = CQ_OPTION_TEXT,
     .argument = "DIR",
     .offset = offsetof(struct args, sample),
     .otherwise = "$CALQUE_SAMPLE, the source tree's, or the installed one",
     .help = "the sample corpus"},
    {.name = "work",
     .type = CQ_OPTION_TEXT,
     .argument = "DIR",
     .offset = offsetof(struct args, work),
     .otherwise = "a new directory in $TMPDIR or /tmp",
     .help = "directory for the models"},
    {.name = "quick",
     .type = CQ_OPTION_FLAG,
     .offset = offsetof(struct args, quick),
     .help = "learn from less text, for a test in seconds instead of a minute"},
    CLI_THREADS(struct args, threads),
};

/* The figures of one language. */
typedef struct figures {
  double accuracy, distance, sts, chance;
} figures;

typedef struct demo {
  const struct args *args;
  const char *program; /* as it was started */
  char sample[PATH_BYTES], work[PATH_BYTES];
  cq_context *ctx;
  cq_encoder *teacher, *student;
  double started_s;
  cli_progress line;
  figures teacher_knows[N_LANGUAGES], student_knows[N_LANGUAGES];
  cq_error error;
} demo;

/* ---- places ---- */

static bool path_join(char *out, const char *directory, const char *rest) {
  return snprintf(out, PATH_BYTES, "%s/%s", directory, rest) < PATH_BYTES;
}

static bool has_sample(const char *directory) {
  char path[PATH_BYTES];
  return path_join(path, directory, "teacher/modules.json") && access(path, R_OK) == 0;
}

/* Looks at the option, then the environment, then next to the program: build/X/calque in the source tree, bin/calque if
 * installed. */
static int find_sample(demo *d) {
  static const char *const beside[] = {"../../sample", "../sample", "../share/calque/sample"};
  const char *named = d->args->sample ? d->args->sample : getenv("CALQUE_SAMPLE");
  char program[PATH_BYTES];
  if (named) {
    if (!has_sample(named)) return cli_fail("%s: no sample corpus there (expected teacher/modules.json)", named);
    if (snprintf(d->sample, PATH_BYTES, "%s", named) >= PATH_BYTES)
      return cli_fail("the path of the sample is too long");
    return CLI_OK;
  }
  if (cq_process_path(program, sizeof program)) {
    char *slash = strrchr(program, '/');
    if (slash) *slash = '\0';
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
      char place[PATH_BYTES], *resolved;
      if (!path_join(place, program, beside[i]) || !has_sample(place)) continue;
      resolved = realpath(place, NULL);
      if (!resolved) continue;
      bool fits = snprintf(d->sample, PATH_BYTES, "%s", resolved) < PATH_BYTES;
      free(resolved);
      if (fits) return CLI_OK;
    }
  }
  if (has_sample("sample")) {
    snprintf(d->sample, PATH_BYTES, "sample");
    return CLI_OK;
  }
  return cli_fail("the sample corpus was not found; name it with --sample DIR or CALQUE_SAMPLE");
}

static int make_work(demo *d) {
  if (d->args->work) {
    char model[PATH_BYTES];
    struct stat found;
    if (mkdir(d->args->work, 0777) != 0 && (errno != EEXIST || stat(d->args->work, &found) || !S_ISDIR(found.st_mode)))
      return cli_fail("%s: cannot make the directory: %s", d->args->work, strerror(errno));
    if (!path_join(model, d->args->work, "multilingual")) return cli_fail("--work is too long");
    if (access(model, F_OK) == 0) return cli_fail("%s exists already; name another --work", model);
    snprintf(d->work, PATH_BYTES, "%s", d->args->work);
    return CLI_OK;
  }
  const char *tmp = getenv("TMPDIR");
  if (!path_join(d->work, tmp && *tmp ? tmp : "/tmp", "calque-demo-XXXXXX")) return cli_fail("TMPDIR is too long");
  return mkdtemp(d->work) ? CLI_OK : cli_fail("%s: cannot make the directory: %s", d->work, strerror(errno));
}

/* "SAMPLE/split/en-de.tsv.gz"; the caller frees it; NULL: out of memory. */
static char *sample_file(const demo *d, const char *split, const char *code) {
  size_t n = strlen(d->sample) + 64;
  char *path = malloc(n);
  if (path) snprintf(path, n, "%s/%s/en-%s.tsv%s", d->sample, split, code, strcmp(split, "sts") ? ".gz" : "");
  return path;
}

/* ---- telling ---- */

static void print_heading(demo *d, const char *text) {
  char time[24];
  cli_progress_clear(&d->line);
  cli_duration(time, cli_now_s() - d->started_s);
  printf("\n%s  [%s]\n", text, time);
  fflush(stdout);
}

static int demo_failed(demo *d) {
  cli_progress_clear(&d->line);
  return cli_fail_error(&d->error);
}

/* Prints the choices, but not the training's tables: the demo prints its own, for test sentences. */
static bool watch_demo_training(void *context, const cq_training_progress *p) {
  demo *d = context;
  char remark[80];
  if (p->text && strcmp(p->phase, "choice") == 0) {
    cli_progress_clear(&d->line);
    printf("  %s\n", p->text);
  }
  if (p->text || strcmp(p->phase, "train") != 0) return true;
  snprintf(remark, sizeof remark, "loss %.5f  %.0f sentences/s", p->loss, p->sentences_per_second);
  cli_progress_draw(&d->line, "step", p->step, p->n_steps, remark, false);
  return true;
}

/* ---- chapters ---- */

static int meet_teacher(demo *d) {
  static const char *const pairs[][2] = {
      {"The film lasted three hours.", "The film took three hours."},
      {"The film lasted three hours.", "The cat is under the table."},
      {"The film lasted three hours.", "Фильм длился три часа."},
  };
  enum { N = sizeof pairs / sizeof *pairs };
  char path[PATH_BYTES];
  cq_slice sentences[2 * N];
  if (!path_join(path, d->sample, "teacher")) return cli_fail("the path of the sample is too long");
  if (cq_encoder_open(&d->teacher, path, NULL, &d->error)) return demo_failed(d);
  size_t dim = (size_t)cq_encoder_dim(d->teacher);
  float *vectors = malloc(2 * N * dim * sizeof *vectors);
  if (!vectors) return cli_fail("out of memory");
  for (size_t i = 0; i < 2 * N; i++) sentences[i] = (cq_slice){pairs[i / 2][i % 2], strlen(pairs[i / 2][i % 2])};
  cq_status status = cq_encoder_encode(vectors, NULL, d->teacher, sentences, 2 * N, NULL, d->ctx, &d->error);
  if (status == CQ_OK) {
    printf("A small English model: %lld parameters, vectors of %zu dimensions. The cosine of two vectors says how "
           "similar\n"
           "two sentences are. It knows English only:\n",
           (long long)cq_encoder_n_parameters(d->teacher), dim);
    for (size_t i = 0; i < N; i++) {
      const float *a = vectors + 2 * i * dim;
      printf("  %5.2f  %s | %s\n", cq_cosine(a, a + dim, dim), pairs[i][0], pairs[i][1]);
    }
  }
  free(vectors);
  return status ? demo_failed(d) : CLI_OK;
}

static int extend_teacher(demo *d, char *files[N_LANGUAGES]) {
  char teacher[PATH_BYTES], output[PATH_BYTES], cache[PATH_BYTES];
  cq_training_data to[N_LANGUAGES];
  cq_training_result result;
  cq_extend_options o = cq_extend_default_options();
  cq_distill_options distill = cq_distill_default_options();
  cq_training_options run = cq_training_default_options();
  if (!path_join(teacher, d->sample, "teacher") || !path_join(output, d->work, "multilingual") ||
      !path_join(cache, d->work, "cache"))
    return cli_fail("--work is too long");
  for (size_t i = 0; i < N_LANGUAGES; i++)
    to[i] = (cq_training_data){.path = files[i], .label = languages[i].code, .weight = 1};
  o.model = teacher, o.to = to, o.n_to = N_LANGUAGES, o.distill = &distill, o.run = &run;
  cq_extend_recipe(&o, NULL, &distill, &run);
  distill.cache_directory = cache;
  run.output = output, run.steps = d->args->quick ? 120 : 600;
  run.progress = watch_demo_training, run.progress_context = d;
  printf("The teacher's layers get a new vocabulary. The embedding of a new piece starts from the English pieces that\n"
         "it translates, by word alignment. Then training (knowledge distillation) moves the vectors of an English\n"
         "sentence and of its translation towards the teacher's vector of the English sentence:\n");
  fflush(stdout);
  const double start_s = cli_now_s();
  if (cq_extend(&result, &o, d->ctx, &d->error)) return demo_failed(d);
  cli_progress_clear(&d->line);
  printf("%llu steps of %d pairs: %.0f s in all.\n", (unsigned long long)result.steps, run.batch_pairs,
         cli_now_s() - start_s);
  const int code = cli_training_verdict(&result);
  if (code) return code;
  return cq_encoder_open(&d->student, output, NULL, &d->error) ? demo_failed(d) : CLI_OK;
}

/* Evaluates a model on the held-out test split of each language. */
static int measure_languages(figures out[N_LANGUAGES], demo *d, const cq_encoder *model) {
  for (size_t i = 0; i < N_LANGUAGES; i++) {
    char *test = sample_file(d, "test", languages[i].code), *sts = sample_file(d, "sts", languages[i].code);
    cq_translation_result translation;
    cq_mse_result mse;
    cq_sts_result similarity;
    cq_status status = CQ_ERR_MEMORY;
    if (test && sts) {
      status = cq_eval_translation(&translation, model, test, NULL, d->ctx, &d->error);
      if (!status) status = cq_eval_mse(&mse, d->teacher, model, test, NULL, d->ctx, &d->error);
      if (!status) status = cq_eval_sts(&similarity, model, sts, NULL, d->ctx, &d->error);
    }
    free(test);
    free(sts);
    if (!test || !sts) return cli_fail("out of memory");
    if (status) return demo_failed(d);
    out[i] = (figures){100 * translation.mean, 100 * mse.target / mse.teacher_variance, 100 * similarity.spearman,
                       100.0 / (double)translation.n};
  }
  return CLI_OK;
}

static void print_figures(const demo *d) {
  cli_table t = {.n_columns = 8};
  static const char *const names[] = {"English with", "chance %",   "accuracy %",   "extended %",
                                      "distance %",   "extended %", "similarity %", "extended %"};
  for (size_t i = 0; i < t.n_columns; i++) cli_table_cell(&t, "%s", names[i]);
  for (size_t i = 0; i < N_LANGUAGES; i++) {
    const figures *before = &d->teacher_knows[i], *after = &d->student_knows[i];
    cli_table_cell(&t, "%s", languages[i].name);
    cli_table_cell(&t, "%.1f", after->chance);
    cli_table_cell(&t, "%.1f", before->accuracy);
    cli_table_cell(&t, "%.1f", after->accuracy);
    cli_table_cell(&t, "%.0f", before->distance);
    cli_table_cell(&t, "%.0f", after->distance);
    cli_table_cell(&t, "%.1f", before->sts);
    cli_table_cell(&t, "%.1f", after->sts);
  }
  cli_table_print(&t, stdout, CLI_TABLE_TEXT);
  cli_table_free(&t);
}

static int compare_models(demo *d) {
  cq_sts_result english;
  char *sts = sample_file(d, "sts", "en");
  if (!sts) return cli_fail("out of memory");
  const cq_status status = cq_eval_sts(&english, d->teacher, sts, NULL, d->ctx, &d->error);
  free(sts);
  if (status) return demo_failed(d);
  int code = measure_languages(d->teacher_knows, d, d->teacher);
  if (code == CLI_OK) code = measure_languages(d->student_knows, d, d->student);
  if (code) return code;
  print_figures(d);
  printf(
      "accuracy: how often the nearest test sentence is the translation.\n"
      "distance: mean squared distance of a translation's vector from the teacher's vector of the English sentence;\n"
      "          100 is a model that gives every sentence the same vector.\n"
      "similarity: Spearman's correlation with human scores of %zu pairs (STS); the teacher has %.1f in English.\n",
      english.n, 100 * english.spearman);
  return CLI_OK;
}

/* ---- looking for neighbors ---- */

/* Sentences of the test split, with the language of each, and their vectors. */
typedef struct pool_of_text {
  char **text;
  const char **language;
  cq_slice *slices;
  float *vectors;
  size_t n, capacity;
} pool_of_text;

static void pool_free(pool_of_text *p) {
  for (size_t i = 0; i < p->n; i++) free(p->text[i]);
  free(p->text);
  free(p->language);
  free(p->slices);
  free(p->vectors);
  *p = (pool_of_text){0};
}

static bool pool_add(pool_of_text *p, const char *language, cq_slice sentence) {
  if (p->n == p->capacity) {
    size_t capacity = p->capacity ? 2 * p->capacity : 512;
    char **text = realloc(p->text, capacity * sizeof *text);
    if (!text) return false;
    p->text = text;
    const char **names = realloc(p->language, capacity * sizeof *names);
    if (!names) return false;
    p->language = names, p->capacity = capacity;
  }
  char *copy = malloc(sentence.n + 1);
  if (!copy) return false;
  memcpy(copy, sentence.data, sentence.n), copy[sentence.n] = '\0';
  p->text[p->n] = copy, p->language[p->n] = language, p->n++;
  return true;
}

/* Reads English once, then each other language, in file order. */
static int read_test(demo *d, pool_of_text *p) {
  for (size_t i = 0; i <= N_LANGUAGES; i++) {
    size_t column = i > 0;
    char *path = sample_file(d, "test", languages[i > 0 ? i - 1 : 0].code);
    cq_lines *lines = NULL;
    cq_slice line, columns[2];
    cq_status status = path ? cq_lines_open(&lines, path, &d->error) : CQ_OK;
    bool memory = path != NULL;
    while (memory && !status && !(status = cq_lines_next(&line, lines, &d->error)) && line.data)
      memory = cq_tsv_split(columns, 2, line) < 2 || pool_add(p, i ? languages[i - 1].code : "en", columns[column]);
    cq_lines_close(lines);
    free(path);
    if (status) return demo_failed(d);
    if (!memory) return cli_fail("out of memory");
  }
  size_t dim = (size_t)cq_encoder_dim(d->student);
  p->slices = malloc((p->n + 1) * sizeof *p->slices);
  p->vectors = malloc((p->n + 1) * dim * sizeof *p->vectors);
  if (!p->slices || !p->vectors) return cli_fail("out of memory");
  for (size_t i = 0; i < p->n; i++) p->slices[i] = (cq_slice){p->text[i], strlen(p->text[i])};
  if (cq_encoder_encode(p->vectors, NULL, d->student, p->slices, p->n, NULL, d->ctx, &d->error)) return demo_failed(d);
  return CLI_OK;
}

/* For three English sentences, finds the nearest sentence in each language. */
static void find_translations(demo *d, const pool_of_text *p) {
  size_t dim = (size_t)cq_encoder_dim(d->student), n = p->n / (N_LANGUAGES + 1);
  for (size_t k = 0; k < 3; k++) {
    size_t source = (2 * k + 1) * n / 6;
    printf("  %s\n", p->text[source]);
    for (size_t language = 1; language <= N_LANGUAGES; language++) {
      size_t best = language * n;
      double best_score = -2;
      for (size_t i = language * n; i < (language + 1) * n; i++) {
        double score = cq_cosine(p->vectors + source * dim, p->vectors + i * dim, dim);
        if (score > best_score) best = i, best_score = score;
      }
      printf("    %.3f  %s  %s%s\n", best_score, p->language[best], p->text[best],
             best - language * n == source ? "" : "   (not its translation)");
    }
  }
}

typedef struct hit {
  double score;
  size_t index;
} hit;

static int hit_by_score(const void *a, const void *b) {
  const hit *x = a, *y = b;
  if (x->score != y->score) return x->score < y->score ? 1 : -1;
  return x->index < y->index ? -1 : 1;
}

static int ask_nearest(demo *d, const pool_of_text *p, const char *question, const char *gloss) {
  size_t dim = (size_t)cq_encoder_dim(d->student);
  cq_slice slice = {question, strlen(question)};
  hit *hits = malloc((p->n + 1) * sizeof *hits);
  float *vector = malloc(dim * sizeof *vector);
  int code = CLI_OK;
  if (!hits || !vector) {
    code = cli_fail("out of memory");
  } else if (cq_encoder_encode(vector, NULL, d->student, &slice, 1, NULL, d->ctx, &d->error)) {
    code = demo_failed(d);
  } else {
    for (size_t i = 0; i < p->n; i++) hits[i] = (hit){cq_cosine(vector, p->vectors + i * dim, dim), i};
    qsort(hits, p->n, sizeof *hits, hit_by_score);
    printf("  %s%s\n", question, gloss);
    for (size_t i = 0; i < 5 && i < p->n; i++)
      printf("    %.3f  %s  %s\n", hits[i].score, p->language[hits[i].index], p->text[hits[i].index]);
  }
  free(hits);
  free(vector);
  return code;
}

/* ---- the story ---- */

static int tell_story(demo *d, char *files[N_LANGUAGES]) {
  pool_of_text text = {0};
  int code;
  print_heading(d, "1. The teacher");
  if ((code = meet_teacher(d))) return code;
  print_heading(d, "2. Five more languages");
  if ((code = extend_teacher(d, files))) return code;
  print_heading(d, "3. The teacher and the extended model, on sentences that neither has seen");
  if ((code = compare_models(d))) return code;
  print_heading(d, "4. Finding translations");
  if (!(code = read_test(d, &text))) {
    find_translations(d, &text);
    print_heading(d, "5. Semantic search: one question, answers in every language");
    code = ask_nearest(d, &text, "Who is afraid of dogs?", "");
    if (!code)
      code = ask_nearest(d, &text, "¿A qué hora sale el tren a París?", "   (When does the train to Paris leave?)");
  }
  pool_free(&text);
  if (code) return code;
  print_heading(d, "Done");
  printf("The multilingual model is in %s/multilingual. Try it:\n"
         "  %s similarity --model %s/multilingual \"The train is late.\" \"Поезда часто опаздывают.\"\n\n"
         "A search page for 48 documents in eleven languages, with the small model that calque ships:\n"
         "  %s serve %s/documents\n"
         "It prints the address to open in a browser.\n",
         d->work, d->program, d->work, d->program, d->sample);
  return CLI_OK;
}

static int run_demo(const cli_call *call) {
  demo *d = calloc(1, sizeof *d);
  char *files[N_LANGUAGES] = {0};
  int code = CLI_FAILED;
  if (!d) return cli_fail("out of memory");
  d->program = call->argv[0];
  d->args = call->options, d->started_s = cli_now_s(), d->line = cli_progress_start();
  if ((code = find_sample(d)) || (code = make_work(d))) goto done;
  for (size_t i = 0; i < N_LANGUAGES; i++)
    if (!(files[i] = sample_file(d, "train", languages[i].code))) {
      code = cli_fail("out of memory");
      goto done;
    }
  if (cq_context_open(&d->ctx, d->args->threads, &d->error)) {
    code = demo_failed(d);
    goto done;
  }
  printf("An English model learns German, Spanish, Russian, Hindi and Arabic.\n"
         "Sample corpus: %s. Threads: %d, kernels: %s.\n",
         d->sample, cq_context_n_threads(d->ctx), cq_simd_level());
  code = tell_story(d, files);
done:
  for (size_t i = 0; i < N_LANGUAGES; i++) free(files[i]);
  cq_encoder_free(d->student);
  cq_encoder_free(d->teacher);
  cq_context_free(d->ctx);
  free(d);
  return code;
}

const cli_command cli_demo = {
    .name = "demo",
    .summary = "extend an English model to five languages, in about a minute",
    .description =
        "Extends the sample corpus's small English model to five languages, as 'calque extend' does, measures "
        "both on held-out sentences, finds translations, and answers a question in every language at once.",
    .example = "calque demo\ncalque demo --quick --work story",
    CLI_OPTIONS(struct args, options),
    .run = run_demo,
};
