/* Finds inflected forms of a dictionary's words in a text, by affixes that many words exchange:
 *
 *   dictionary ──▶ lemmas                                ház (house), kert (garden)
 *   text ──▶ words ──lemmas with a common core──▶ rules, and the number of words for each
 *                                                        ház becomes házban, város városban: 233 words have -ban
 *   a word that is not a lemma ──▶ the best lemma by the rule's frequency, the lemma's count and the core's length
 *
 * A rule replaces a beginning and an ending of a lemma by others. */
#include "base/error.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/multimap.h"
#include "base/utf8.h"
#include "corpus/word_counts.h"
#include "text/unicode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char no_lemma[] = "of no lemma";

#define O cq_corpus_inflect_options
static const cq_option option_rows[] = {
    CQ_CORPUS_INPUT_ROW(O),
    {CQ_TEXTS(O, "text", texts, n_texts, CHANGES, "FILE",
              "text of the language (each row's last column) to find words in"),
     .flags = CQ_OPTION_REQUIRED},
    {CQ_COUNT(O, "min-support", min_support, CHANGES, 10, 1, 0, "N",
              "use rules, such as \"-a becomes -ami\", that at least N of the text's words follow")},
    CQ_CORPUS_OUTPUT_ROWS(O),
};
#undef O
const cq_option_group cq_group_corpus_inflect = CQ_CORPUS_GROUP("corpus-inflect", cq_corpus_inflect_options, NULL);

/* In characters. The core is at least half of the word, and half of the lemma. */
enum { MIN_CORE = 3, MAX_ENDING = 5, MAX_BEGINNING = 3, MAX_WORD = 40 };
#define WORTH_OF_CHARACTER 0.5 /* of the core: worth exp(0.5) times as many words per rule */

typedef struct lemma {
  cq_slice text; /* folded */
  size_t n;      /* characters */
  double log_count;
} lemma;

/* A lemma without its first characters. */
typedef struct tail {
  cq_slice text;
  uint32_t lemma, n_before; /* characters */
} tail;

typedef struct inflector {
  const cq_corpus_inflect_options *o;
  cq_corpus_flow flow;
  cq_word_counts words;
  cq_multimap entries; /* of the dictionary, by lemma */
  cq_slice *sources;   /* [entries.n] */
  size_t capacities[3];
  cq_arena texts;
  lemma *lemmas; /* [n] */
  tail *tails;   /* [n_tails] sorted */
  size_t n, n_tails;
  cq_map supports; /* of rules */
  cq_builder rule; /* the lemma's beginning and ending, and the word's, separated by zeros */
} inflector;

/* --- words --- */

typedef struct spelled {
  cq_slice text;
  size_t n, at[MAX_WORD + 1]; /* where each character begins, and the end */
} spelled;

/* Splits a word into characters; false for words without affixes: numbers, ideographs, very long words. */
static bool spell(spelled *out, cq_slice word) {
  out->text = word, out->n = 0;
  for (size_t i = 0; i < word.n;) {
    uint32_t code;
    if (out->n == MAX_WORD) return false;
    out->at[out->n++] = i;
    i += cq_utf8_decode(&code, word.data + i, word.n - i);
    if (!cq_char_is_spelled(code)) return false;
  }
  out->at[out->n] = word.n;
  return out->n >= MIN_CORE;
}

/* --- the dictionary --- */

static bool add_tails(inflector *f, const spelled *s, const char *text) {
  for (size_t i = 0; i <= MAX_BEGINNING && i + MIN_CORE <= s->n; i++) {
    if (!cq_reserve((void **)&f->tails, &f->capacities[2], f->n_tails + 1, sizeof *f->tails)) return false;
    f->tails[f->n_tails++] = (tail){{text + s->at[i], s->text.n - s->at[i]}, (uint32_t)f->n, (uint32_t)i};
  }
  return true;
}

static bool add_lemma(inflector *f, cq_slice source, cq_slice translation) {
  spelled s;
  const cq_slice folded = cq_word_counts_fold(&f->words, translation);
  if (!folded.data) return false;
  if (source.n == 0 || !spell(&s, folded)) return true;
  const bool is_new = cq_multimap_first(&f->entries, folded) == CQ_MULTIMAP_NONE;
  const char *copy = cq_arena_strndup(&f->texts, source.data, source.n);
  const char *own = is_new ? cq_arena_strndup(&f->texts, folded.data, folded.n) : folded.data;
  const size_t row = f->entries.n;
  if (!copy || !own || !cq_reserve((void **)&f->sources, &f->capacities[0], row + 1, sizeof *f->sources) ||
      !cq_reserve((void **)&f->lemmas, &f->capacities[1], f->n + 1, sizeof *f->lemmas) ||
      !cq_multimap_add(&f->entries, folded))
    return false;
  f->sources[row] = (cq_slice){copy, source.n};
  if (!is_new) return true;
  if (!add_tails(f, &s, own)) return false;
  f->lemmas[f->n++] = (lemma){{own, folded.n}, s.n, 0};
  return true;
}

static bool add_lemmas(void *context, const cq_row *row) {
  for (size_t c = 1; c < row->n; c++)
    if (!add_lemma(context, cq_slice_trimmed(row->columns[0]), cq_slice_trimmed(row->columns[c]))) return false;
  return true;
}

static int by_text(const void *a, const void *b) {
  const tail *x = a, *y = b;
  const int order = cq_slice_compare(x->text, y->text);
  return order ? order : (x->lemma > y->lemma) - (x->lemma < y->lemma);
}

static void sort_lemmas(inflector *f) {
  for (size_t i = 0; i < f->n; i++)
    f->lemmas[i].log_count = log(1 + (double)cq_word_counts_of(&f->words, f->lemmas[i].text));
  if (f->n_tails) qsort(f->tails, f->n_tails, sizeof *f->tails, by_text);
}

/* --- a word's lemmas --- */

/* The first tail that is not before the text. */
static size_t first_tail(const inflector *f, cq_slice text) {
  size_t low = 0, high = f->n_tails;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (cq_slice_compare(f->tails[middle].text, text) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Whether two endings begin, or two beginnings end, with the same character, which then belongs to the core. */
static bool have_first_in_common(cq_slice a, cq_slice b) {
  uint32_t first, other;
  if (a.n == 0 || b.n == 0) return false;
  cq_utf8_decode(&first, a.data, a.n);
  cq_utf8_decode(&other, b.data, b.n);
  return first == other;
}
static bool have_last_in_common(cq_slice a, cq_slice b) {
  for (size_t i = 1; i <= a.n && i <= b.n; i++) {
    const char x = a.data[a.n - i], y = b.data[b.n - i];
    if (x != y) return false;
    if (((unsigned char)x & 0xC0) != 0x80) return true; /* the character's first byte */
  }
  return false;
}

/* Called with a word's core, in characters, and a lemma with the same core; f->rule turns the lemma into the word. */
typedef bool (*lemma_fn)(inflector *f, const lemma *l, size_t core, void *context);

typedef struct affixes {
  cq_slice beginning, ending;
} affixes;

static void set_rule(inflector *f, affixes of_lemma, affixes of_word) {
  cq_builder *b = &f->rule;
  cq_builder_clear(b);
  cq_builder_bytes(b, of_lemma.beginning.data, of_lemma.beginning.n);
  cq_builder_char(b, '\0');
  cq_builder_bytes(b, of_lemma.ending.data, of_lemma.ending.n);
  cq_builder_char(b, '\0');
  cq_builder_bytes(b, of_word.beginning.data, of_word.beginning.n);
  cq_builder_char(b, '\0');
  cq_builder_bytes(b, of_word.ending.data, of_word.ending.n);
}

/* Visits lemmas with a word's characters from..from + core, but with a different beginning and ending. */
static bool visit_core(inflector *f, const spelled *word, size_t from, size_t core, lemma_fn visit, void *context) {
  const size_t begin = word->at[from], end = word->at[from + core];
  const char *text = word->text.data;
  const cq_slice shared = {text + begin, end - begin};
  const affixes of_word = {{text, begin}, {text + end, word->text.n - end}};
  for (size_t i = first_tail(f, shared); i < f->n_tails && cq_slice_begins(f->tails[i].text, shared); i++) {
    const tail *t = &f->tails[i];
    const lemma *l = &f->lemmas[t->lemma];
    const affixes of_lemma = {{l->text.data, (size_t)(t->text.data - l->text.data)},
                              {t->text.data + shared.n, t->text.n - shared.n}};
    if (l->n > t->n_before + core + MAX_ENDING || l->n > 2 * core ||
        have_first_in_common(of_word.ending, of_lemma.ending) ||
        have_last_in_common(of_word.beginning, of_lemma.beginning) || cq_slice_equal(l->text, word->text))
      continue;
    set_rule(f, of_lemma, of_word);
    if (f->rule.failed || !visit(f, l, core, context)) return false;
  }
  return true;
}

/* False when out of memory. */
static bool visit_lemmas(inflector *f, const spelled *word, lemma_fn visit, void *context) {
  for (size_t from = 0; from <= MAX_BEGINNING && from + MIN_CORE <= word->n; from++) {
    const size_t rest = word->n - from;
    for (size_t core = MIN_CORE; core <= rest; core++)
      if (2 * core >= word->n && core + MAX_ENDING >= rest && !visit_core(f, word, from, core, visit, context))
        return false;
  }
  return true;
}

/* --- rules --- */

static bool count_rule(inflector *f, const lemma *l, size_t core, void *context) {
  (void)l, (void)core, (void)context;
  cq_map_entry *rule = cq_map_at(&f->supports, (cq_slice){f->rule.data, f->rule.n});
  if (rule) rule->value = rule->value == CQ_MAP_NONE ? 1 : rule->value + 1;
  return rule != NULL;
}

static cq_status learn_rules(inflector *f, const cq_corpus_counts *counts, cq_error *error) {
  spelled word;
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < f->words.n; i++) {
    if (spell(&word, f->words.items[i].folded) && !visit_lemmas(f, &word, count_rule, NULL))
      return cq_fail_memory(error, "rules of inflection");
    if (i % CQ_CORPUS_EVERY == 0) status = cq_corpus_ask(counts, &f->flow, error);
  }
  return status;
}

typedef struct choice {
  const lemma *lemma; /* NULL: none */
  double score;
} choice;

/* A lemma's score: log of the rule's number of words, log of its count in text, and a share of the core's length. */
static bool choose_lemma(inflector *f, const lemma *l, size_t core, void *context) {
  choice *best = context;
  const uint64_t support = cq_map_get(&f->supports, (cq_slice){f->rule.data, f->rule.n});
  if (support < f->o->min_support) return true;
  const double score = log((double)support) + l->log_count + WORTH_OF_CHARACTER * (double)core;
  if (!best->lemma || score > best->score) *best = (choice){l, score};
  return true;
}

/* --- rows --- */

static cq_status put_forms(inflector *f, cq_row_writer *w, const lemma *l, cq_slice form, cq_error *error) {
  cq_status status = CQ_OK;
  for (uint32_t i = cq_multimap_first(&f->entries, l->text); !status && i != CQ_MULTIMAP_NONE;
       i = cq_multimap_next(&f->entries, i)) {
    const cq_row row = {.columns = {f->sources[i], form}, .n = 2};
    status = cq_row_writer_put(w, &row, error);
  }
  return status;
}

static cq_status inflect_words(inflector *f, cq_row_writer *w, cq_error *error) {
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < f->words.n; i++) {
    const cq_word *word = &f->words.items[i];
    spelled s;
    choice best = {0};
    if (!spell(&s, word->folded) || cq_multimap_first(&f->entries, word->folded) != CQ_MULTIMAP_NONE) continue;
    status = cq_corpus_count_row(w->counts, &f->flow, error);
    if (status) break;
    if (!visit_lemmas(f, &s, choose_lemma, &best)) return cq_fail_memory(error, "rules of inflection");
    if (best.lemma)
      status = put_forms(f, w, best.lemma, word->text, error);
    else
      cq_corpus_drop(w->counts, no_lemma);
  }
  return status;
}

static void inflector_free(inflector *f) {
  cq_word_counts_close(&f->words);
  cq_multimap_free(&f->entries);
  cq_free(f->sources);
  cq_arena_free(&f->texts);
  cq_free(f->lemmas);
  cq_free(f->tails);
  cq_map_free(&f->supports);
  cq_builder_free(&f->rule);
}

cq_status cq_corpus_inflect(cq_corpus_counts *counts, const cq_corpus_inflect_options *options, cq_error *error) {
  cq_corpus_inflect_options o;
  *counts = (cq_corpus_counts){0};
  cq_status status = cq_options_take(&o, &cq_group_corpus_inflect, options, error);
  if (status) return status;
  inflector f = {.o = &o, .flow = CQ_CORPUS_FLOW(&o)};
  cq_row_writer writer;
  status = cq_corpus_check_inputs(o.inputs, o.n_inputs, o.texts, o.n_texts, error);
  if (!status) status = cq_word_counts_open(&f.words, error);
  if (!status)
    status = cq_corpus_visit_rows(o.inputs, o.n_inputs, 2, add_lemmas, &f, "a dictionary", &f.flow, counts, error);
  if (!status) status = cq_word_counts_read(&f.words, o.texts, o.n_texts, CQ_LAST_COLUMN, &f.flow, counts, error);
  if (!status) sort_lemmas(&f);
  if (!status) status = learn_rules(&f, counts, error);
  if (!status && !(status = cq_row_writer_open(&writer, &f.flow, counts, error)))
    status = cq_row_writer_finish(&writer, inflect_words(&f, &writer, error), error);
  inflector_free(&f);
  return status;
}
