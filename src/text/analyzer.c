/* Text to terms. The terms of each chunk between blanks are cached, since most chunks occur again. See analyzer.h. */
#include "text/analyzer.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/u32_array.h"
#include "calque/lines.h"
#include "text/language_rules.h"
#include "text/places.h"
#include "text/script.h"
#include "text/splitter.h"
#include "text/word_forms.h"

#include <libstemmer.h>

enum {
  MAX_KEPT_BYTES = 64, /* longer chunks (a sentence of Chinese) rarely occur again */
  MAX_KEPT = 4 << 20,  /* chunks */
  MAX_WORDS = 16,      /* of one stop word */
};

static bool stems_words(cq_language language) {
  return language.stemmer || (language.rules & CQ_STEM_BY_SCRIPT);
}

bool cq_has_stemmer(const char *text) {
  char code[CQ_LANGUAGE_CODE];
  return text && cq_language_code(code, text) && stems_words(cq_language_of(code));
}

/* Takes the next run of bytes between ASCII blanks off the text; false: none is left. */
static bool next_chunk(cq_slice *out, cq_slice *text) {
  while (text->n && cq_is_blank(*text->data)) text->data++, text->n--;
  *out = (cq_slice){text->data, 0};
  while (out->n < text->n && !cq_is_blank(out->data[out->n])) out->n++;
  if (out->n == 0) return false; /* an empty text's data may be NULL */
  text->data += out->n, text->n -= out->n;
  return true;
}

/* --- analyzer --- */

/* out = n words joined by blanks, which no word contains: the key of a stop phrase. */
static cq_slice joined_words(cq_builder *out, const cq_slice *words, size_t n) {
  cq_builder_clear(out);
  for (size_t i = 0; i < n; i++) {
    if (i) cq_builder_char(out, ' ');
    cq_builder_bytes(out, words[i].data, words[i].n);
  }
  return (cq_slice){out->data, out->n};
}

struct cq_analyzer {
  char code[CQ_LANGUAGE_CODE];
  cq_language language;
  bool stems, has_forms;
  cq_intern stop_words;
  size_t max_words; /* of a stop word */
};

static bool put_stop_word(cq_analyzer *a, cq_slice name) {
  size_t n = 1;
  for (size_t i = 0; i < name.n; i++) n += name.data[i] == ' ';
  if (n > a->max_words) a->max_words = cq_min(n, MAX_WORDS);
  return cq_intern_put(&a->stop_words, name) != CQ_INTERN_NONE;
}

typedef struct stop_reader {
  cq_lines *lines;
  cq_splitter words;
  cq_builder normal, scratch;
} stop_reader;

static cq_status add_stop_word(cq_analyzer *a, stop_reader *r, cq_slice chunk, cq_error *error) {
  cq_language_normal_form(&r->normal, &r->scratch, chunk, a->language.rules);
  bool ok = !r->normal.failed && cq_splitter_run(&r->words, (cq_slice){r->normal.data, r->normal.n});
  if (ok && r->words.n > MAX_WORDS)
    return cq_fail_line(error, CQ_ERR_FORMAT, cq_lines_path(r->lines), cq_lines_number(r->lines),
                        "a stop word of %zu words, expected at most %d", r->words.n, MAX_WORDS);
  if (ok && r->words.n) {
    const cq_slice name = joined_words(&r->scratch, r->words.items, r->words.n);
    ok = !r->scratch.failed && put_stop_word(a, name);
  }
  return ok ? CQ_OK : cq_fail_memory(error, "stop words");
}

static cq_status read_stop_words(cq_analyzer *a, const char *path, cq_error *error) {
  stop_reader r = {0};
  cq_slice line, chunk;
  cq_status status = cq_lines_open(&r.lines, path, error);
  if (!status) status = cq_splitter_open(&r.words, CQ_SPLIT_WORDS, error);
  while (!status && !(status = cq_lines_next(&line, r.lines, error)) && line.data)
    while (!status && next_chunk(&chunk, &line) && *chunk.data != '#' && *chunk.data != '|')
      status = add_stop_word(a, &r, chunk, error);
  cq_lines_close(r.lines);
  cq_splitter_close(&r.words);
  cq_builder_free(&r.normal);
  cq_builder_free(&r.scratch);
  return status;
}

static cq_status start_analyzer(cq_analyzer **out, const char *code, bool stems, cq_error *error) {
  *out = NULL;
  cq_analyzer *a = cq_alloc_zeroed(sizeof *a);
  if (!a) return cq_fail_memory(error, "an analyzer");
  if (!cq_language_code(a->code, code ? code : "")) {
    cq_free(a);
    return cq_fail(
        error, CQ_ERR_ARGUMENT,
        "the language is '%s', expected a code of 2 or 3 letters, as en or hi, and perhaps a region, as pt-BR", code);
  }
  a->language = cq_language_of(a->code);
  a->stems = stems && stems_words(a->language);
  *out = a;
  return CQ_OK;
}

#define O cq_analysis_options
static const cq_option option_rows[] = {
    {CQ_TEXT(O, "language", language, CHANGES, "CODE",
             "the language, for its stemmer and spelling rules: a code such as en, de, hi or ar; mul for several "
             "languages"),
     .letter = 'l', .otherwise = "none"},
    {CQ_TEXT(O, "stop-words", stop_words, CHANGES, "FILE",
             "file of words to remove, separated by blanks or line breaks"),
     .otherwise = "none"},
    {CQ_FLAG(O, "no-stems", no_stems, CHANGES, "do not stem, even if the language has a stemmer")},
};
#undef O

const cq_option_group cq_group_analysis = {.name = "analysis", CQ_ROWS(cq_analysis_options, option_rows)};

cq_status cq_analyzer_open(cq_analyzer **out, const cq_analysis_options *options, cq_error *error) {
  cq_analysis_options o;
  *out = NULL;
  cq_status status = cq_options_take(&o, &cq_group_analysis, options, error);
  if (!status) status = start_analyzer(out, o.language, !o.no_stems, error);
  if (!status && o.stop_words) status = read_stop_words(*out, o.stop_words, error);
  if (status) cq_analyzer_free(*out), *out = NULL;
  return status;
}

cq_status cq_analyzer_open_with(cq_analyzer **out, const char *code, bool stems, const cq_slice *stop_words,
                                size_t n_stop_words, cq_error *error) {
  cq_status status = start_analyzer(out, code, stems, error);
  for (size_t i = 0; !status && i < n_stop_words; i++)
    if (!put_stop_word(*out, stop_words[i])) status = cq_fail_memory(error, "stop words");
  if (status) cq_analyzer_free(*out), *out = NULL;
  return status;
}

cq_status cq_analyzer_open_forms(cq_analyzer **out, cq_error *error) {
  const cq_status status = start_analyzer(out, "mul", false, error);
  if (!status) (*out)->has_forms = true;
  return status;
}

void cq_analyzer_free(cq_analyzer *a) {
  if (!a) return;
  cq_intern_free(&a->stop_words);
  cq_free(a);
}

const char *cq_analyzer_language(const cq_analyzer *a) {
  return a->code;
}

bool cq_analyzer_stems(const cq_analyzer *a) {
  return a->stems;
}

const cq_intern *cq_analyzer_stop_words(const cq_analyzer *a) {
  return &a->stop_words;
}

/* --- analysis --- */

struct cq_analysis {
  const cq_analyzer *analyzer;
  struct sb_stemmer *stemmers[CQ_N_SCRIPTS]; /* by script; of most languages the first alone */
  cq_intern terms;
  cq_word_forms *forms; /* NULL: a word is one term */
  int language;         /* of the texts, for forms */
  cq_map
      seen[CQ_N_WORD_LANGUAGES]; /* by language: chunk ──▶ where kept has its number of words and its terms; how many */
  cq_u32_array kept, text;
  size_t n_words; /* of the text */
  bool is_query;
  cq_query_form *query; /* its terms, [text.n] */
  size_t query_capacity;
  cq_builder normal, scratch;
  cq_splitter words; /* of a chunk */
  size_t max_joined;
  cq_places places; /* where the current normal form comes from, while spans are requested */
  cq_span *spans;
  size_t n_spans, spans_capacity;
  cq_u32_array ends; /* [terms, 2] the first and last word of a joined word, or CQ_INTERN_NONE */
};

static cq_status open_stemmers(cq_analysis *a, cq_error *error) {
  const cq_language language = a->analyzer->language;
  for (int script = 0; script < (language.rules & CQ_STEM_BY_SCRIPT ? CQ_N_SCRIPTS : 1); script++) {
    const char *name = cq_language_stemmer(language, script);
    if (name && !(a->stemmers[script] = sb_stemmer_new(name, NULL)))
      return cq_fail(error, CQ_ERR_UNSUPPORTED, "this libstemmer has no stemmer for %s", name);
  }
  return CQ_OK;
}

cq_status cq_analysis_open(cq_analysis **out, const cq_analyzer *analyzer, cq_error *error) {
  *out = NULL;
  cq_analysis *a = cq_alloc_zeroed(sizeof *a);
  if (!a) return cq_fail_memory(error, "an analysis");
  a->analyzer = analyzer;
  cq_status status = cq_splitter_open(&a->words, CQ_SPLIT_WORDS, error);
  if (!status && analyzer->stems) status = open_stemmers(a, error);
  if (!status && analyzer->has_forms && !(a->forms = cq_word_forms_open()))
    status = cq_fail_memory(error, "an analysis");
  if (status) cq_analysis_free(a);
  *out = status ? NULL : a;
  return status;
}

void cq_analysis_free(cq_analysis *a) {
  if (!a) return;
  for (int i = 0; i < CQ_N_SCRIPTS; i++)
    if (a->stemmers[i]) sb_stemmer_delete(a->stemmers[i]);
  cq_intern_free(&a->terms);
  cq_word_forms_free(a->forms);
  for (int i = 0; i < CQ_N_WORD_LANGUAGES; i++) cq_map_free(&a->seen[i]);
  cq_free(a->query);
  cq_u32_array_free(&a->kept);
  cq_u32_array_free(&a->text);
  cq_u32_array_free(&a->ends);
  cq_builder_free(&a->normal);
  cq_builder_free(&a->scratch);
  cq_splitter_close(&a->words);
  cq_places_free(&a->places);
  cq_free(a->spans);
  cq_free(a);
}

const cq_intern *cq_analysis_terms(const cq_analysis *a) {
  return &a->terms;
}

/* *n: the number of a chunk's words, from the i-th on, that form the longest matching stop word; 0: none matches. */
static bool find_stopped(size_t *n, cq_analysis *a, size_t i) {
  for (*n = cq_min(a->analyzer->max_words, a->words.n - i); *n > 0; --*n) {
    const cq_slice name = *n == 1 ? a->words.items[i] : joined_words(&a->scratch, a->words.items + i, *n);
    if (*n > 1 && a->scratch.failed) return false;
    if (cq_intern_find(&a->analyzer->stop_words, name) != CQ_INTERN_NONE) return true;
  }
  return true;
}

static struct sb_stemmer *stemmer_of(const cq_analysis *a, cq_slice word) {
  return a->stemmers[a->analyzer->language.rules & CQ_STEM_BY_SCRIPT ? cq_script_of(word) : 0];
}

static bool add_term(cq_analysis *a, cq_slice term, double share) {
  const uint32_t id = cq_intern_put(&a->terms, term);
  if (id == CQ_INTERN_NONE || !cq_u32_array_append(&a->text, &id, 1)) return false;
  if (!a->is_query) return true;
  if (!cq_reserve((void **)&a->query, &a->query_capacity, a->text.n, sizeof *a->query)) return false;
  a->query[a->text.n - 1] = (cq_query_form){id, (uint32_t)a->n_words, share};
  return true;
}

/* Takes a word in normal form and appends the numbers of its stem, or of its forms, to the text's terms. */
static bool add_analyzed_word(cq_analysis *a, cq_slice word) {
  if (a->forms) {
    const cq_word_form *forms;
    size_t n;
    bool ok = cq_word_forms_of(&forms, &n, a->forms, word, a->language);
    a->n_words += n > 0;
    for (size_t i = 0; ok && i < n; i++) ok = add_term(a, forms[i].term, forms[i].share);
    return ok;
  }
  struct sb_stemmer *const stemmer = stemmer_of(a, word);
  if (stemmer) {
    const sb_symbol *stem = sb_stemmer_stem(stemmer, (const sb_symbol *)word.data, (int)word.n);
    if (!stem) return false;
    word = (cq_slice){(const char *)stem, (size_t)sb_stemmer_length(stemmer)};
    if (word.n == 0) return true;
  }
  a->n_words++;
  return add_term(a, word, 1);
}

static bool put_ends(cq_analysis *a, uint32_t first, uint32_t last) {
  const uint32_t id = a->text.items[a->text.n - 1], none = CQ_INTERN_NONE;
  bool ok = true;
  while (ok && a->ends.n <= 2 * (size_t)id) {
    const uint32_t pair[2] = {a->ends.n == 2 * (size_t)id ? first : none, a->ends.n == 2 * (size_t)id ? last : none};
    ok = cq_u32_array_append(&a->ends, pair, 2);
  }
  return ok;
}

/* Adds the i-th word joined with the words that follow it without a gap: two words, three, up to max_joined. */
static bool add_joined_words(cq_analysis *a, size_t i) {
  const cq_slice *w = a->words.items;
  const uint32_t first = cq_intern_find(&a->terms, w[i]);
  cq_slice joined = w[i];
  bool ok = true;
  for (size_t k = i + 1; ok && k < cq_min(i + a->max_joined, a->words.n); k++) {
    const int script = cq_script_of(w[k]);
    if (w[k].data != joined.data + joined.n || script != cq_script_of(w[i]) || !cq_script_has_no_spaces(script)) break;
    joined.n += w[k].n;
    const uint32_t last = cq_intern_put(&a->terms, w[k]);
    ok = last != CQ_INTERN_NONE && add_analyzed_word(a, joined) && put_ends(a, first, last);
  }
  return ok;
}

bool cq_analysis_is_joined(const cq_analysis *a, uint32_t id, uint32_t *first, uint32_t *last) {
  if (2 * (size_t)id >= a->ends.n || a->ends.items[2 * (size_t)id] == CQ_INTERN_NONE) return false;
  *first = a->ends.items[2 * (size_t)id], *last = a->ends.items[2 * (size_t)id + 1];
  return true;
}

/* The slow part: a chunk that has not been seen. */
static bool add_analyzed_words(cq_analysis *a, cq_slice chunk) {
  cq_language_normal_form(&a->normal, &a->scratch, chunk, a->analyzer->language.rules);
  bool ok = !a->normal.failed && cq_splitter_run(&a->words, (cq_slice){a->normal.data, a->normal.n});
  for (size_t i = 0, n; ok && i < a->words.n; i += n ? n : 1)
    ok = find_stopped(&n, a, i) && (n || add_analyzed_word(a, a->words.items[i])) &&
         (n || a->max_joined < 2 || add_joined_words(a, i));
  return ok;
}

void cq_analysis_join(cq_analysis *a, size_t max_words) {
  a->max_joined = max_words;
}

static bool add_analyzed_chunk(cq_analysis *a, cq_slice chunk) {
  cq_map *map = &a->seen[a->language];
  const uint64_t seen = chunk.n <= MAX_KEPT_BYTES && !a->is_query ? cq_map_get(map, chunk) : CQ_MAP_NONE;
  if (seen != CQ_MAP_NONE) {
    if ((seen & 0xff) == 0) return true;
    const uint32_t *kept = a->kept.items + (seen >> 8);
    a->n_words += *kept;
    return cq_u32_array_append(&a->text, kept + 1, seen & 0xff);
  }
  const size_t before = a->text.n, at = a->kept.n, words_before = a->n_words;
  if (!add_analyzed_words(a, chunk)) return false;
  const size_t n = a->text.n - before;
  const uint32_t n_words = (uint32_t)(a->n_words - words_before);
  if (chunk.n > MAX_KEPT_BYTES || n > 0xff || map->n >= MAX_KEPT || a->is_query) return true;
  if (n && (!cq_u32_array_append(&a->kept, &n_words, 1) || !cq_u32_array_append(&a->kept, a->text.items + before, n)))
    return false;
  return cq_map_put(map, chunk, (uint64_t)at << 8 | n);
}

void cq_analysis_set_language(cq_analysis *a, cq_slice code) {
  if (a->forms) a->language = cq_word_language(code);
}

cq_status cq_analysis_run(const uint32_t **ids, size_t *n, cq_analysis *a, cq_slice text, cq_error *error) {
  bool ok = true;
  a->text.n = a->n_words = 0;
  for (cq_slice chunk; ok && next_chunk(&chunk, &text);) ok = add_analyzed_chunk(a, chunk);
  *ids = a->text.items;
  *n = a->text.n;
  return ok ? CQ_OK : cq_fail_memory(error, "the terms of a text");
}

size_t cq_analysis_n_words(const cq_analysis *a) {
  return a->n_words;
}

cq_status cq_analysis_run_query(const cq_query_form **forms, size_t *n, cq_analysis *a, cq_slice text,
                                cq_error *error) {
  const uint32_t *ids;
  a->is_query = true;
  const cq_status status = cq_analysis_run(&ids, n, a, text, error);
  a->is_query = false;
  *forms = a->query;
  return status;
}

/* The spans of the terms from a word of a chunk. */
static bool add_spans(cq_analysis *a, cq_slice word, size_t chunk_begin) {
  if (!cq_reserve((void **)&a->spans, &a->spans_capacity, a->text.n, sizeof *a->spans)) return false;
  const size_t begin = (size_t)(word.data - a->normal.data);
  cq_span span = cq_places_find(&a->places, begin, begin + word.n);
  span.begin += chunk_begin, span.end += chunk_begin;
  while (a->n_spans < a->text.n) a->spans[a->n_spans++] = span;
  return true;
}

static bool add_words_with_spans(cq_analysis *a, cq_slice chunk, size_t chunk_begin) {
  const unsigned rules = a->analyzer->language.rules;
  cq_language_normal_form(&a->normal, &a->scratch, chunk, rules);
  bool ok = !a->normal.failed && cq_places_set(&a->places, chunk, (cq_slice){a->normal.data, a->normal.n}, rules) &&
            cq_splitter_run(&a->words, (cq_slice){a->normal.data, a->normal.n});
  for (size_t i = 0, n; ok && i < a->words.n; i += n ? n : 1)
    ok = find_stopped(&n, a, i) &&
         (n || (add_analyzed_word(a, a->words.items[i]) && add_spans(a, a->words.items[i], chunk_begin)));
  return ok;
}

cq_status cq_analysis_run_spans(const uint32_t **ids, const cq_span **spans, size_t *n, cq_analysis *a, cq_slice text,
                                cq_error *error) {
  const char *begin = text.data;
  bool ok = true;
  a->text.n = 0, a->n_spans = 0;
  for (cq_slice chunk; ok && next_chunk(&chunk, &text);)
    ok = add_words_with_spans(a, chunk, (size_t)(chunk.data - begin));
  *ids = a->text.items, *spans = a->spans;
  *n = a->text.n;
  return ok ? CQ_OK : cq_fail_memory(error, "the terms of a text");
}

struct cq_terms {
  cq_analyzer *analyzer;
  cq_analysis *analysis;
  cq_slice *items;
  size_t capacity;
};

cq_status cq_terms_open(cq_terms **out, const cq_analysis_options *options, cq_error *error) {
  *out = NULL;
  cq_terms *t = cq_alloc_zeroed(sizeof *t);
  if (!t) return cq_fail_memory(error, "an analysis");
  cq_status status = cq_analyzer_open(&t->analyzer, options, error);
  if (!status) status = cq_analysis_open(&t->analysis, t->analyzer, error);
  if (status) cq_terms_free(t);
  *out = status ? NULL : t;
  return status;
}

void cq_terms_free(cq_terms *t) {
  if (!t) return;
  cq_analysis_free(t->analysis);
  cq_analyzer_free(t->analyzer);
  cq_free(t->items);
  cq_free(t);
}

cq_status cq_terms_of(const cq_slice **out, size_t *n, cq_terms *t, cq_slice text, cq_error *error) {
  const uint32_t *ids;
  cq_status status = cq_analysis_run(&ids, n, t->analysis, text, error);
  if (!status && !cq_reserve((void **)&t->items, &t->capacity, *n, sizeof *t->items))
    status = cq_fail_memory(error, "the terms of a text");
  for (size_t i = 0; !status && i < *n; i++) t->items[i] = t->analysis->terms.items[ids[i]];
  *out = t->items;
  return status;
}

cq_status cq_analyze(cq_slice **out, size_t *n, cq_slice text, const cq_analysis_options *options, cq_error *error) {
  cq_terms *t;
  const cq_slice *terms;
  size_t n_terms = 0, n_bytes = 0;
  *out = NULL, *n = 0;
  cq_status status = cq_terms_open(&t, options, error);
  if (!status) status = cq_terms_of(&terms, &n_terms, t, text, error);
  for (size_t i = 0; !status && i < n_terms; i++) n_bytes += terms[i].n;
  if (!status && !(*out = cq_alloc(n_terms * sizeof **out + n_bytes))) /* one block: the slices, then their bytes */
    status = cq_fail_memory(error, "the terms of a text");
  char *bytes = status ? NULL : (char *)(*out + n_terms);
  for (; !status && *n < n_terms; bytes += terms[(*n)++].n) {
    memcpy(bytes, terms[*n].data, terms[*n].n);
    (*out)[*n] = (cq_slice){bytes, terms[*n].n};
  }
  cq_terms_free(t);
  return status;
}
