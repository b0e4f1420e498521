/* The text of all languages, and the files made from it:
 *
 *   to ───────────────────────────────┬──held out──▶ train-N.tsv, dev-N.tsv ──▶ training
 *   model's text, sources of to ──▶ glosses ──┘
 *   dictionaries, those sentences ──▶ names-N.tsv, another dictionary: names in the language's letters
 *   dictionaries, text of their language ──▶ forms-N.tsv, another dictionary: inflected forms
 *   train-N.tsv, text, dictionaries ──weighted──▶ the vocabulary, and the meanings of its pieces
 *
 * A language's name is the label of its files; a file without a label is a language of its own. */
#include "recipe/extend/texts.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "calque/corpus.h"
#include "calque/lines.h"
#include "recipe/extend/held_out.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Text counts more than a dictionary, whose words are mostly rare. */
enum { TIMES_BESIDE_DICTIONARY = 4, MAX_TIMES = 16, MUCH_TEXT = 50000 };
/* With more translations, or a smaller dictionary, glosses would only displace translations. */
enum { FEW_TRANSLATIONS = 30000, LARGE_DICTIONARY = 10000 };
#define MIN_KNOWN     0.6    /* share of a glossed sentence's words */
#define MAX_SENTENCES 200000 /* that are glossed, drawn at random */
#define FEW_GLOSSES   0.1    /* share of the sentences with words in the dictionary, for it to be useful */
enum { MIN_GLOSSES = 20 };   /* for a language without translations: some glosses are held out */
#define GLOSS_SHARE 0.4      /* of a language's pairs, in addition to translations */

static bool is_same_label(const char *a, const char *b) {
  return a && b && strcmp(a, b) == 0;
}

/* --- the files --- */

#define NOT_COUNTED UINT64_MAX

static cq_status count_lines(uint64_t *n, const cq_training_data *data, bool skip_bad, cq_error *error) {
  cq_lines *lines;
  cq_slice line;
  cq_status status = cq_lines_open(&lines, data->path, error);
  *n = 0;
  while (!status) {
    status = cq_lines_next(&line, lines, error);
    if (!status && !line.data) break;
    if (!status) ++*n;
    if (status == CQ_ERR_FORMAT && skip_bad && !cq_lines_broken(lines)) status = CQ_OK;
  }
  cq_lines_close(lines);
  return status;
}

/* Adds the number of lines of a language's files; each file is read only once, then known [n_files]. label NULL: files
 * without a label. */
static cq_status add_lines_of(uint64_t *n, const cq_training_data *files, uint64_t *known, size_t n_files,
                              const char *label, bool skip_bad, cq_error *error) {
  for (size_t i = 0; i < n_files; i++) {
    if (label ? !is_same_label(files[i].label, label) : files[i].label != NULL) continue;
    uint64_t lines = known[i];
    const cq_status status = lines == NOT_COUNTED ? count_lines(&lines, &files[i], skip_bad, error) : CQ_OK;
    if (status) return status;
    *n += known[i] = lines;
  }
  return CQ_OK;
}

static cq_status add_lines_of_text(uint64_t *n, const cq_extend_texts *t, const char *label, cq_error *error) {
  return add_lines_of(n, t->o->text, t->n_lines, t->o->n_text, label, t->o->run->skip_bad, error);
}

static cq_status add_lines_of_translations(uint64_t *n, const cq_extend_texts *t, const char *label, cq_error *error) {
  return add_lines_of(n, t->o->to, t->n_lines + t->o->n_text, t->o->n_to, label, t->o->run->skip_bad, error);
}

static cq_status add_lines_of_dictionaries(uint64_t *n, const cq_extend_texts *t, const char *label, cq_error *error) {
  return add_lines_of(n, t->o->dictionaries, t->n_lines + t->o->n_text + t->o->n_to, t->o->n_dictionaries, label,
                      t->o->run->skip_bad, error);
}

/* Counts the lines of a language's text and translations. label NULL: of the model and of unnamed languages. */
static cq_status count_language(uint64_t *n, const cq_extend_texts *t, const char *label, cq_error *error) {
  *n = 0;
  const cq_status status = add_lines_of_text(n, t, label, error);
  return status ? status : add_lines_of_translations(n, t, label, error);
}

/* The dictionary is the first of its language. */
static bool is_first_dictionary(const cq_extend_options *o, size_t i) {
  size_t first = 0;
  while (!is_same_label(o->dictionaries[first].label, o->dictionaries[i].label)) first++;
  return first == i;
}

static cq_status path_in(char out[CQ_EXTEND_PATH], const cq_extend_texts *t, const char *format, size_t i,
                         cq_error *error) {
  char name[64];
  snprintf(name, sizeof name, format, i);
  return cq_path_join(out, CQ_EXTEND_PATH, t->work, name, error);
}

/* Sets the pointers of file i to its own paths. */
static void name_parts(cq_extend_texts *t, size_t i) {
  cq_extend_file *f = &t->files[i];
  if (f->is_gloss) f->given.path = f->train_path;
  t->train[i] = (cq_training_data){t->o->run->n_dev ? f->given.path : f->train_path, f->given.label, f->given.weight};
  t->dev[i] = (cq_training_data){f->dev_path, f->given.label, 1};
}

static cq_status add_file(cq_extend_texts *t, cq_training_data given, bool is_gloss, bool is_beside, cq_error *error) {
  cq_extend_file *f = &t->files[t->n];
  *f = (cq_extend_file){.given = given, .is_gloss = is_gloss, .is_beside = is_beside};
  cq_status status = path_in(f->train_path, t, is_gloss ? "glosses-%zu.tsv" : "train-%zu.tsv", t->n + 1, error);
  if (!status) status = path_in(f->dev_path, t, "dev-%zu.tsv", t->n + 1, error);
  name_parts(t, t->n++);
  return status;
}

/* Leaves out a file. */
static void drop_file(cq_extend_texts *t, size_t dropped) {
  t->n--;
  for (size_t i = dropped; i < t->n; i++) {
    t->files[i] = t->files[i + 1];
    name_parts(t, i);
  }
}

/* A language without translations is learned from glosses; one with few, from both if its dictionary is large. */
static cq_status add_glosses(cq_extend_texts *t, const char *language, cq_error *error) {
  const cq_extend_options *o = t->o;
  uint64_t n_pairs = 0, n_entries = 0;
  cq_status status = add_lines_of_translations(&n_pairs, t, language, error);
  if (!status) status = add_lines_of_dictionaries(&n_entries, t, language, error);
  const bool chosen = n_pairs < FEW_TRANSLATIONS && n_entries >= LARGE_DICTIONARY;
  if (status || (n_pairs > 0 && (o->gloss_share < 0 ? !chosen : o->gloss_share == 0))) return status;
  return add_file(t, (cq_training_data){NULL, language, 1}, true, n_pairs > 0, error);
}

bool cq_extend_has_file(const cq_training_data *files, size_t n_files, const char *label) {
  bool has = false;
  for (size_t i = 0; i < n_files; i++) has |= is_same_label(files[i].label, label);
  return has;
}

/* Adds another dictionary of a language, derived from its first one. */
static cq_status add_made(cq_extend_texts *t, const char *format, size_t first, cq_error *error) {
  char *path = t->made_paths[t->n_dictionaries - t->o->n_dictionaries];
  t->dictionaries[t->n_dictionaries++] = (cq_training_data){path, t->o->dictionaries[first].label, 1};
  return path_in(path, t, format, first + 1, error);
}

static bool is_glossed(const cq_extend_texts *t, const char *label) {
  bool is = false;
  for (size_t i = 0; i < t->n; i++) is |= t->files[i].is_gloss && is_same_label(t->files[i].given.label, label);
  return is;
}

/* Adds each language's dictionaries. If sentences are glossed, adds one for their names; with text but without
 * translations (which show the meaning of forms better), also one for inflected forms of the dictionary's words. */
static cq_status add_dictionaries(cq_extend_texts *t, cq_error *error) {
  const cq_extend_options *o = t->o;
  const size_t n = o->lemmas_only ? 0 : o->n_dictionaries;
  cq_status status = CQ_OK;
  for (size_t i = 0; i < o->n_dictionaries; i++) t->dictionaries[t->n_dictionaries++] = o->dictionaries[i];
  for (size_t i = 0; !status && i < n; i++)
    if (is_first_dictionary(o, i) && is_glossed(t, o->dictionaries[i].label))
      status = add_made(t, "names-%zu.tsv", i, error);
  t->first_of_forms = t->n_dictionaries;
  for (size_t i = 0; !status && i < n; i++) {
    const char *label = o->dictionaries[i].label;
    if (is_first_dictionary(o, i) && cq_extend_has_file(o->text, o->n_text, label) &&
        !cq_extend_has_file(o->to, o->n_to, label))
      status = add_made(t, "forms-%zu.tsv", i, error);
  }
  return status;
}

cq_status cq_extend_texts_open(cq_extend_texts *t, cq_error *error) {
  const cq_extend_options *o = t->o;
  const size_t max = o->n_to + o->n_dictionaries, n_given = max + o->n_text;
  t->files = cq_alloc_array_zeroed(max, sizeof *t->files);
  t->train = cq_alloc_array_zeroed(max, sizeof *t->train);
  t->dev = cq_alloc_array_zeroed(max + o->run->n_dev, sizeof *t->dev);
  t->pair_paths = cq_alloc_array(2 * max + o->run->n_dev, sizeof *t->pair_paths);
  t->n_lines = cq_alloc_array(n_given, sizeof *t->n_lines);
  t->dictionaries = cq_alloc_array(3 * o->n_dictionaries, sizeof *t->dictionaries);
  t->made_paths = cq_alloc_array(2 * o->n_dictionaries, sizeof *t->made_paths);
  cq_status status = t->files && t->train && t->dev && t->n_lines && t->dictionaries && t->made_paths && t->pair_paths
                         ? CQ_OK
                         : cq_fail_memory(error, "files");
  for (size_t i = 0; !status && i < n_given; i++) t->n_lines[i] = NOT_COUNTED;
  for (size_t i = 0; !status && i < o->n_to; i++) status = add_file(t, o->to[i], false, false, error);
  for (size_t i = 0; !status && i < o->n_dictionaries; i++)
    if (is_first_dictionary(o, i)) status = add_glosses(t, o->dictionaries[i].label, error);
  return status ? status : add_dictionaries(t, error);
}

void cq_extend_texts_close(cq_extend_texts *t) {
  cq_free(t->files);
  cq_free(t->train);
  cq_free(t->dev);
  cq_free(t->n_lines);
  cq_free(t->dictionaries);
  cq_free(t->made_paths);
  cq_free(t->pair_paths);
}

static bool is_same_language(const cq_extend_texts *t, size_t i, size_t j) {
  return i == j || is_same_label(t->files[i].given.label, t->files[j].given.label);
}

size_t cq_extend_languages(const cq_extend_texts *t) {
  size_t n = 0;
  for (size_t i = 0; i < t->n; i++) {
    size_t first = 0;
    while (!is_same_language(t, first, i)) first++;
    n += first == i;
  }
  return n;
}

/* --- completed dictionaries, and glosses --- */

static void add_path(const char **paths, size_t *n, const cq_training_data *data) {
  paths[(*n)++] = data->path;
}

/* Draws sentences in the model's language from its text and from the sources of translations. */
static cq_status draw_sentences(const cq_extend_texts *t, const char *path, const char **paths, cq_error *error) {
  const cq_extend_options *o = t->o;
  cq_corpus_sample_options s = cq_corpus_sample_default_options();
  cq_corpus_counts counts;
  for (size_t i = 0; i < o->n_text; i++)
    if (!o->text[i].label) add_path(paths, &s.n_inputs, &o->text[i]);
  for (size_t i = 0; i < o->n_to; i++) add_path(paths, &s.n_inputs, &o->to[i]);
  s.inputs = paths, s.n = MAX_SENTENCES, s.seed = o->run->seed, s.skip_bad = o->run->skip_bad, s.output = path;
  return cq_corpus_sample(&counts, &s, error);
}

/* The paths of a language's files among these. */
static void add_paths_of(const char **paths, size_t *n, const cq_training_data *files, size_t n_files,
                         const char *label) {
  for (size_t i = 0; i < n_files; i++)
    if (is_same_label(files[i].label, label)) add_path(paths, n, &files[i]);
}

/* Glosses them with a language's dictionaries. */
static cq_status gloss_language(const cq_extend_texts *t, const cq_extend_file *f, const char *sentences,
                                const char **paths, cq_error *error) {
  const cq_extend_options *o = t->o;
  cq_corpus_gloss_options g = cq_corpus_gloss_default_options();
  cq_corpus_counts counts;
  g.texts = paths, g.dictionaries = paths + o->n_text;
  add_paths_of(paths, &g.n_texts, o->text, o->n_text, f->given.label);
  add_paths_of(paths + o->n_text, &g.n_dictionaries, t->dictionaries, t->n_dictionaries, f->given.label);
  g.inputs = &sentences, g.n_inputs = 1;
  g.min_known = MIN_KNOWN, g.seed = o->run->seed, g.skip_bad = o->run->skip_bad, g.output = f->given.path;
  const cq_status status = cq_corpus_gloss(&counts, &g, error);
  if (status) return status;
  const bool few = (double)counts.n_written < FEW_GLOSSES * (double)counts.n_read;
  cq_extend_choose(
      t->news, "glossed for %s: %llu of %llu sentences, those with %.0f %% of their words in the dictionary%s",
      f->given.label, (unsigned long long)counts.n_written, (unsigned long long)counts.n_read, 100 * MIN_KNOWN,
      few ? ": few. Is it small, of other words, or are its columns swapped (--dictionary)?" : "");
  if (counts.n_written >= MIN_GLOSSES || f->is_beside) return CQ_OK;
  return cq_fail(
      error, CQ_ERR_FORMAT,
      "%s: %llu of %llu sentences have %.0f %% of their words in the dictionary, expected %d or more, as there "
      "are no translations: are its columns swapped, or the languages of the texts?",
      f->given.label, (unsigned long long)counts.n_written, (unsigned long long)counts.n_read, 100 * MIN_KNOWN,
      MIN_GLOSSES);
}

static cq_status transliterate_language(const cq_extend_texts *t, const cq_training_data *names, const char *sentences,
                                        const char **paths, cq_error *error) {
  const cq_extend_options *o = t->o;
  cq_corpus_transliterate_options n = cq_corpus_transliterate_default_options();
  cq_corpus_counts counts;
  n.inputs = paths, n.texts = &sentences, n.n_texts = 1;
  add_paths_of(paths, &n.n_inputs, o->dictionaries, o->n_dictionaries, names->label);
  n.skip_bad = o->run->skip_bad, n.output = names->path;
  const cq_status status = cq_corpus_transliterate(&counts, &n, error);
  if (!status && counts.n_written)
    cq_extend_choose(t->news, "dictionary of %s: %llu entries more, names in its letters (--lemmas-only)", names->label,
                     (unsigned long long)counts.n_written);
  return status;
}

static cq_status inflect_language(const cq_extend_texts *t, const cq_training_data *forms, const char **paths,
                                  cq_error *error) {
  const cq_extend_options *o = t->o;
  cq_corpus_inflect_options f = cq_corpus_inflect_default_options();
  cq_corpus_counts counts;
  f.texts = paths, f.inputs = paths + o->n_text;
  add_paths_of(paths, &f.n_texts, o->text, o->n_text, forms->label);
  add_paths_of(paths + o->n_text, &f.n_inputs, t->dictionaries, t->first_of_forms, forms->label);
  f.skip_bad = o->run->skip_bad, f.output = forms->path;
  const cq_status status = cq_corpus_inflect(&counts, &f, error);
  if (!status)
    cq_extend_choose(t->news, "dictionary of %s: %llu entries more, inflected forms in its text (--lemmas-only)",
                     forms->label, (unsigned long long)counts.n_written);
  return status;
}

static cq_status make_dictionaries_and_glosses(cq_extend_texts *t, cq_error *error) {
  const cq_extend_options *o = t->o;
  char sentences[CQ_EXTEND_PATH];
  size_t n_glossed = 0;
  for (size_t i = 0; i < t->n; i++) n_glossed += t->files[i].is_gloss;
  const char **paths = cq_alloc_array(o->n_to + o->n_text + t->n_dictionaries, sizeof *paths);
  cq_status status = paths ? CQ_OK : cq_fail_memory(error, "names of files");
  if (!status) status = cq_path_join(sentences, sizeof sentences, t->work, "sentences.tsv", error);
  if (!status && n_glossed) status = draw_sentences(t, sentences, paths, error);
  for (size_t i = o->n_dictionaries; !status && i < t->first_of_forms; i++)
    status = transliterate_language(t, &t->dictionaries[i], sentences, paths, error);
  for (size_t i = t->first_of_forms; !status && i < t->n_dictionaries; i++)
    status = inflect_language(t, &t->dictionaries[i], paths, error);
  for (size_t i = 0; !status && i < t->n; i++)
    if (t->files[i].is_gloss) status = gloss_language(t, &t->files[i], sentences, paths, error);
  cq_free(paths);
  return status;
}

/* --- parts and weights --- */

static cq_status read_files(cq_parallel *data, const cq_extend_texts *t, cq_error *error) {
  const cq_parallel_options options = {.skip_bad = t->o->run->skip_bad, .max_characters = t->o->run->max_characters};
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < t->n; i++) {
    const cq_training_data *given = &t->files[i].given;
    char text[CQ_PARALLEL_SUMMARY];
    status = cq_parallel_add(data, given->path, given->label, given->weight, &options, error);
    if (status) break;
    cq_parallel_summary(text, &data->sets[data->n_sets - 1]);
    if (!cq_extend_tell(t->news, text)) status = cq_fail(error, CQ_ERR_STOPPED, "stopped while reading");
  }
  return status;
}

/* Languages are drawn equally often; within a language, files by their number of pairs, and glosses by their share. */
static void weigh_files(cq_extend_texts *t, const cq_parallel *data) {
  const double gloss_share = t->o->gloss_share < 0 ? GLOSS_SHARE : t->o->gloss_share;
  for (size_t i = 0; i < t->n; i++) {
    double of_kind = 0;
    bool has_glosses = false;
    for (size_t j = 0; j < t->n; j++) {
      if (!is_same_language(t, i, j)) continue;
      has_glosses |= t->files[j].is_beside;
      if (t->files[i].is_beside == t->files[j].is_beside) of_kind += data->sets[j].n_pairs;
    }
    const double share = t->files[i].is_beside ? gloss_share : has_glosses ? 1 - gloss_share : 1;
    t->train[i].weight = t->files[i].given.weight * share * data->sets[i].n_pairs / of_kind;
    if (t->files[i].is_beside)
      cq_extend_choose(t->news, "glosses in addition to translations of %s: %g of the pairs drawn (--gloss-share)",
                       t->files[i].given.label, gloss_share);
  }
}

static cq_status hold_out(cq_extend_texts *t, const cq_parallel *data, cq_error *error) {
  cq_held_out held = {0};
  cq_status status = cq_hold_out(&held, data, error);
  for (size_t i = 0; !status && i < t->n; i++) {
    const cq_extend_file *f = &t->files[i];
    size_t n_train = 0, n_dev = 0;
    status = cq_held_out_write(f->train_path, f->dev_path, &n_train, &n_dev, data, i, &held, error);
    if (f->is_beside) continue;
    t->n_measured += n_dev;
    if (!status)
      cq_extend_choose(t->news, "held out of %s: %zu of %u sources (--dev)", data->sets[i].label, n_dev,
                       data->sets[i].n_entries);
  }
  cq_held_out_free(&held);
  return status;
}

void cq_extend_texts_drop_empty(cq_extend_texts *t) {
  for (size_t i = t->n; i-- > 0;) {
    struct stat info;
    const cq_extend_file *f = &t->files[i];
    if (f->is_beside && stat(f->given.path, &info) == 0 && info.st_size == 0) drop_file(t, i);
  }
}

cq_status cq_extend_texts_make(cq_extend_texts *t, cq_error *error) {
  cq_parallel data = {0};
  cq_status status = make_dictionaries_and_glosses(t, error);
  if (!status) cq_extend_texts_drop_empty(t);
  if (!status) status = read_files(&data, t, error);
  if (!status) status = cq_extend_check_texts(t, &data, error);
  if (!status && t->o->run->n_dev == 0) status = hold_out(t, &data, error);
  if (!status) weigh_files(t, &data);
  t->n_pairs = cq_parallel_pairs(&data), t->n_sources = data.n_sources;
  cq_parallel_free(&data);
  return status;
}

/* Files too small for a hold-out have no dev set. Glosses are not evaluated if there are translations, which are a
 * better test. */
void cq_extend_texts_find_dev(cq_extend_texts *t) {
  for (size_t i = 0; t->o->run->n_dev == 0 && i < t->n; i++) {
    struct stat info;
    if (!t->files[i].is_beside && stat(t->dev[i].path, &info) == 0 && info.st_size > 0) t->dev[t->n_dev++] = t->dev[i];
  }
}

/* --- the vocabulary's text --- */

/* Adds a file to the vocabulary's text. Text of smaller languages is repeated (up to 16 times), so that no language
 * dominates the vocabulary. */
static cq_status add_student_text(cq_training_data *out, size_t *n, const cq_extend_texts *t, cq_training_data data,
                                  uint64_t most, cq_error *error) {
  uint64_t lines;
  const cq_status status = count_language(&lines, t, data.label, error);
  double times = lines && most > lines ? pow((double)most / (double)lines, t->o->vocab_balance) : 1;
  if (cq_extend_has_file(t->o->dictionaries, t->o->n_dictionaries, data.label) && lines < MUCH_TEXT)
    times = fmax(times, TIMES_BESIDE_DICTIONARY);
  out[(*n)++] = (cq_training_data){data.path, data.label, fmin(times, MAX_TIMES)};
  return status;
}

/* With enough text, its words are sufficient for the vocabulary, and the dictionary only translates them. */
static cq_status add_dictionary(cq_training_data *out, size_t *n, const cq_extend_texts *t, cq_training_data data,
                                cq_error *error) {
  uint64_t lines;
  const cq_status status = count_language(&lines, t, data.label, error);
  out[(*n)++] = (cq_training_data){data.path, data.label, lines < MUCH_TEXT ? 1 : -1};
  return status;
}

static cq_status most_lines(uint64_t *most, const cq_extend_texts *t, cq_error *error) {
  const cq_extend_options *o = t->o;
  cq_status status = CQ_OK;
  *most = 0;
  for (size_t i = 0; !status && i < o->n_text + o->n_to; i++) {
    uint64_t lines;
    status = count_language(&lines, t, i < o->n_text ? o->text[i].label : o->to[i - o->n_text].label, error);
    if (!status && lines > *most) *most = lines;
  }
  return status;
}

/* Prints a line for each language whose text is repeated or whose dictionary is left out. */
static void tell_student_text(const cq_extend_texts *t, const cq_training_data *text, size_t n) {
  for (size_t i = 0; i < n; i++) {
    size_t first = 0, dictionary = 0;
    while (!is_same_label(text[first].label, text[i].label) && first < i) first++;
    if (first < i) continue;
    for (size_t j = i; j < n; j++)
      if (is_same_label(text[j].label, text[i].label) && text[j].weight < 0) dictionary = j;
    if (text[i].weight > 1 || dictionary)
      cq_extend_choose(t->news, "the vocabulary's text of %s: counts %.3g times%s",
                       text[i].label ? text[i].label : "the model's language", fmax(text[i].weight, 1),
                       dictionary ? "; the dictionary only says what its pieces mean" : "");
  }
}

cq_status cq_extend_student_text(cq_training_data **out, size_t *n, const cq_extend_texts *t, cq_error *error) {
  const cq_extend_options *o = t->o;
  uint64_t most = 0;
  *n = 0;
  *out = cq_alloc_array(t->n + o->n_text + t->n_dictionaries, sizeof **out);
  cq_status status = *out ? most_lines(&most, t, error) : cq_fail_memory(error, "files");
  for (size_t i = 0; !status && i < t->n; i++)
    if (!t->files[i].is_gloss) status = add_student_text(*out, n, t, t->train[i], most, error);
  for (size_t i = 0; !status && i < o->n_text; i++) status = add_student_text(*out, n, t, o->text[i], most, error);
  for (size_t i = 0; !status && i < t->n_dictionaries; i++)
    status = add_dictionary(*out, n, t, t->dictionaries[i], error);
  if (!status) tell_student_text(t, *out, *n);
  return status;
}
