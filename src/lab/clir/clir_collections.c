/* Reads collections in several languages into one vocabulary. */
#include "lab/clir/clir_collections.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "calque/lab/lexical.h"
#include "text/analyzer.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* Texts as runs of words, under one analysis. */
typedef struct running {
  cq_analyzer *analyzer;
  cq_analysis *analysis;
  cq_intern *vocabulary;
  cq_u32_array *words, *joined; /* joined: NULL, or what side.joined is */
  size_t *ends;                 /* of the runs */
  size_t n, capacity;
} running;

#define O cq_clir_sources
static const cq_option option_rows[] = {
    {CQ_TEXTS(O, "languages", languages, n_languages, CHANGES, "CODES",
              "codes of the languages, separated by commas: en,hi"),
     .letter = 'l', .flags = CQ_OPTION_REQUIRED | CQ_OPTION_COMMAS},
    {CQ_TEXT(O, "docs", documents, CHANGES, "PATTERN",
             "each language's documents, a file or directory; % stands for its code: docs.%.trec"),
     .flags = CQ_OPTION_REQUIRED},
    {CQ_TEXT(O, "topics", topics, CHANGES, "PATTERN",
             "each language's topics; topics with the same number are translations"),
     .flags = CQ_OPTION_REQUIRED},
    {CQ_TEXT(O, "qrels", judgements, CHANGES, "PATTERN", "each language's relevance judgments"),
     .flags = CQ_OPTION_REQUIRED},
    {CQ_TEXT(O, "stop-words", stop_words, CHANGES, "PATTERN",
             "files of words to remove, separated by blanks or line breaks"),
     .otherwise = "none"},
    {CQ_FLAG(O, "no-stems", no_stems, CHANGES, "do not stem, even if a language has a stemmer")},
    {CQ_TEXT(O, "work", work, KEEPS, "DIR", "keep the lexical indexes in this new directory"),
     .otherwise = "a temporary one"},
};
#undef O
static cq_status check_sources(const void *options, cq_error *error) {
  const cq_clir_sources *s = options;
  for (size_t i = 0; i < s->n_languages; i++)
    for (size_t k = 0; k < i; k++)
      if (!strcmp(s->languages[i], s->languages[k]))
        return cq_fail(error, CQ_ERR_ARGUMENT, "languages has '%s' twice", s->languages[i]);
  return CQ_OK;
}

const cq_option_group cq_group_clir_sources = {
    .name = "clir-sources", CQ_ROWS(cq_clir_sources, option_rows), .check = check_sources};

/* One language's sources. */
typedef struct language {
  const char *code, *documents, *topics, *judgements, *stop_words;
  bool no_stems;
} language;

/* The pattern with each % replaced by the language's code; NULL: none, or out of memory. */
static const char *fill_pattern(cq_arena *arena, const char *pattern, const char *code) {
  size_t n = 1;
  for (const char *p = pattern; p && *p; p++) n += *p == '%' ? strlen(code) : 1;
  char *text = pattern ? cq_arena_alloc(arena, n) : NULL, *to = text;
  for (const char *p = pattern; to && *p; p++) {
    if (*p == '%')
      to = stpcpy(to, code);
    else
      *to++ = *p;
  }
  if (to) *to = '\0';
  return text;
}

static bool name_language(language *out, cq_arena *arena, const cq_clir_sources *s, const char *code) {
  *out = (language){.code = code,
                    .documents = fill_pattern(arena, s->documents, code),
                    .topics = fill_pattern(arena, s->topics, code),
                    .judgements = fill_pattern(arena, s->judgements, code),
                    .stop_words = fill_pattern(arena, s->stop_words, code),
                    .no_stems = s->no_stems};
  return out->documents && out->topics && out->judgements && (out->stop_words || !s->stop_words);
}

/* One language being read, with stems and without. */
typedef struct reading {
  cq_clir *clir;
  cq_clir_side *side;
  language from;
  running stems, plain;
  cq_topics topics;
} reading;

static cq_status start_running(running *r, const language *from, bool stems, cq_intern *vocabulary, cq_u32_array *words,
                               cq_error *error) {
  const cq_analysis_options o = {sizeof o, from->code, from->stop_words, !stems};
  r->vocabulary = vocabulary, r->words = words;
  cq_status status = cq_analyzer_open(&r->analyzer, &o, error);
  return status ? status : cq_analysis_open(&r->analysis, r->analyzer, error);
}

static void end_running(running *r) {
  cq_analysis_free(r->analysis);
  cq_analyzer_free(r->analyzer);
  cq_free(r->ends);
}

/* Records the parts of a joined word that is new in the vocabulary with number `id`. */
static bool note_joined(running *r, uint32_t own, uint32_t id) {
  const cq_slice *terms = cq_analysis_terms(r->analysis)->items;
  uint32_t first, last;
  if (!cq_analysis_is_joined(r->analysis, own, &first, &last)) return true;
  const uint32_t row[3] = {id, cq_intern_put(r->vocabulary, terms[first]), cq_intern_put(r->vocabulary, terms[last])};
  return row[1] != CQ_INTERN_NONE && row[2] != CQ_INTERN_NONE && cq_u32_array_append(r->joined, row, 3);
}

static cq_status run_text(running *r, cq_slice text, cq_error *error) {
  const uint32_t *own;
  size_t n;
  cq_status status = cq_analysis_run(&own, &n, r->analysis, text, error);
  for (size_t i = 0; !status && i < n; i++) {
    const uint32_t before = r->vocabulary->n;
    const uint32_t id = cq_intern_put(r->vocabulary, cq_analysis_terms(r->analysis)->items[own[i]]);
    bool ok = id != CQ_INTERN_NONE && cq_u32_array_append(r->words, &id, 1);
    if (ok && r->joined && id == before) ok = note_joined(r, own[i], id);
    if (!ok) status = cq_fail_memory(error, "words");
  }
  if (!status && !cq_reserve((void **)&r->ends, &r->capacity, r->n + 1, sizeof *r->ends))
    status = cq_fail_memory(error, "words");
  if (!status) r->ends[r->n++] = r->words->n;
  return status;
}

static cq_status add_document_text(reading *r, cq_slice text, cq_error *error) {
  cq_status status = run_text(&r->stems, text, error);
  return status ? status : run_text(&r->plain, text, error);
}

/* The runs: of documents first, then of queries. */
static cq_status divide_runs(cq_word_run **documents, cq_word_run **queries, const running *r, size_t n_documents,
                             cq_error *error) {
  *documents = cq_alloc_array(n_documents, sizeof **documents);
  *queries = cq_alloc_array(r->n - n_documents, sizeof **queries);
  if (!*documents || !*queries) return cq_fail_memory(error, "words");
  for (size_t i = 0; i < r->n; i++) {
    const size_t first = i ? r->ends[i - 1] : 0;
    cq_word_run *run = i < n_documents ? *documents + i : *queries + (i - n_documents);
    *run = (cq_word_run){r->words->items + first, r->ends[i] - first};
  }
  return CQ_OK;
}

static cq_status read_side_documents(reading *r, cq_error *error) {
  cq_collection *collection;
  cq_raw_document raw;
  cq_builder room = {0};
  cq_status status = cq_collection_open(&collection, &r->from.documents, 1, error);
  while (!status && !(status = cq_collection_next(&raw, collection, error)) && raw.bytes.data) {
    cq_collection_document document;
    status = cq_document_read(&document, &raw, NULL, 0, &room, error);
    if (!status) status = add_document_text(r, document.text, error);
  }
  cq_builder_free(&room);
  cq_collection_close(collection);
  r->side->n_documents = r->stems.n;
  return status;
}

static cq_status build_index(reading *r, const char *work, cq_context *ctx, cq_error *error) {
  char path[PATH_MAX], name[64];
  snprintf(name, sizeof name, "%s.lexical", r->from.code);
  const cq_analysis_options analysis = {sizeof analysis, r->from.code, r->from.stop_words, r->from.no_stems};
  const cq_lexical_build_options o = {.size = sizeof o, .analysis = &analysis};
  cq_status status = cq_path_join(path, sizeof path, work, name, error);
  if (!status) status = cq_lexical_build(path, &r->from.documents, 1, &o, ctx, error);
  return status ? status : cq_lexical_open(&r->side->index, path, error);
}

static cq_status open_side(reading *r, const char *work, cq_context *ctx, cq_error *error) {
  cq_clir_side *side = r->side;
  side->code = cq_strdup(r->from.code);
  if (!side->code) return cq_fail_memory(error, r->from.code);
  cq_status status = start_running(&r->stems, &r->from, !r->from.no_stems, &r->clir->words, &side->words, error);
  if (!status) status = start_running(&r->plain, &r->from, false, &side->plain_words, &side->plain, error);
  if (!status) cq_analysis_join(r->plain.analysis, CQ_CLIR_MAX_JOINED);
  r->plain.joined = &side->joined;
  if (!status) status = read_side_documents(r, error);
  if (!status) status = build_index(r, work, ctx, error);
  if (!status) status = cq_topics_read(&r->topics, r->from.topics, error);
  if (!status) status = cq_judgements_read(&r->side->judgements, r->from.judgements, error);
  return status;
}

/* Maps topics' numbers, which the map borrows, to their positions. */
static cq_status place_topics(cq_map *out, const cq_topics *topics, cq_error *error) {
  for (size_t i = 0; i < topics->n; i++)
    if (!cq_map_put_borrowed(out, topics->items[i].id, i)) return cq_fail_memory(error, "topics");
  return CQ_OK;
}

/* Reads topics in the order of the first language, which determines the topics used. Called after all languages'
 * documents, so that titles do not influence word numbers: otherwise, held-out topics would leak into the vectors. */
static cq_status read_topic_queries(reading *r, cq_error *error) {
  cq_clir_side *side = r->side;
  cq_map places = {0};
  cq_status status = place_topics(&places, &r->topics, error);
  for (size_t t = 0; !status && t < r->clir->n_topics; t++) {
    const uint64_t i = cq_map_get(&places, r->clir->topics[t]);
    status = add_document_text(r, i == CQ_MAP_NONE ? (cq_slice){"", 0} : r->topics.items[i].title, error);
  }
  cq_map_free(&places);
  if (!status) status = divide_runs(&side->documents, &side->queries, &r->stems, side->n_documents, error);
  if (!status) status = divide_runs(&side->plain_documents, &side->plain_queries, &r->plain, side->n_documents, error);
  return status;
}

/* Chooses topics that every language has, in the first language's order. */
static cq_status choose_topics(cq_clir *c, const reading *readings, size_t n, cq_error *error) {
  cq_topics first, other;
  cq_map places = {0};
  cq_status status = cq_topics_read(&first, readings[0].from.topics, error);
  if (status) return status;
  c->topics = cq_alloc_array(first.n, sizeof *c->topics);
  size_t *n_has = cq_alloc_array_zeroed(first.n, sizeof *n_has);
  status = c->topics && n_has ? place_topics(&places, &first, error) : cq_fail_memory(error, "topics");
  for (size_t i = 1; !status && i < n; i++) {
    status = cq_topics_read(&other, readings[i].from.topics, error);
    for (size_t k = 0; !status && k < other.n; k++) {
      const uint64_t t = cq_map_get(&places, other.items[k].id);
      if (t != CQ_MAP_NONE) n_has[t]++;
    }
    if (!status) cq_topics_free(&other);
  }
  for (size_t t = 0; !status && t < first.n; t++) {
    if (n_has[t] != n - 1) continue;
    const char *id = cq_arena_strndup(&c->text, first.items[t].id.data, first.items[t].id.n);
    if (!id) status = cq_fail_memory(error, "topics");
    c->topics[c->n_topics++] = (cq_slice){id, first.items[t].id.n};
  }
  if (!status && c->n_topics == 0)
    status = cq_fail(error, CQ_ERR_ARGUMENT, "the languages' topics have no number in common");
  cq_free(n_has);
  cq_map_free(&places);
  cq_topics_free(&first);
  return status;
}

static cq_status mark_words(cq_clir *c, cq_clir_side *s, cq_error *error) {
  s->has = cq_alloc_array_zeroed(c->words.n, sizeof *s->has);
  if (!s->has) return cq_fail_memory(error, s->code);
  for (size_t d = 0; d < s->n_documents; d++)
    for (size_t i = 0; i < s->documents[d].n; i++) s->has[s->documents[d].words[i]] = true;
  return CQ_OK;
}

/* Finds each topic's judgments, and its relevant documents by number. */
static cq_status find_relevant(cq_clir *c, cq_clir_side *s, cq_error *error) {
  cq_map documents = {0}, firsts = {0}; /* a topic's first judgement */
  const cq_judgement *j = s->judgements.items;
  bool ok = true;
  for (size_t d = 0; ok && d < s->n_documents; d++) ok = cq_map_put_borrowed(&documents, cq_lexical_id(s->index, d), d);
  for (size_t i = 0; ok && i < s->judgements.n; i++)
    if (i == 0 || !cq_slice_equal(j[i].topic, j[i - 1].topic)) ok = cq_map_put_borrowed(&firsts, j[i].topic, i);
  s->first_judgement = cq_alloc_array_zeroed(c->n_topics, sizeof *s->first_judgement);
  s->n_judgements = cq_alloc_array_zeroed(c->n_topics, sizeof *s->n_judgements);
  s->relevant = cq_alloc_array_zeroed(c->n_topics, sizeof *s->relevant);
  s->n_relevant = cq_alloc_array_zeroed(c->n_topics, sizeof *s->n_relevant);
  ok = ok && s->first_judgement && s->n_judgements && s->relevant && s->n_relevant;
  for (size_t t = 0; ok && t < c->n_topics; t++) {
    const size_t first = cq_min(cq_map_get(&firsts, c->topics[t]), s->judgements.n);
    size_t end;
    for (end = first; end < s->judgements.n && cq_slice_equal(j[end].topic, c->topics[t]);) end++;
    s->first_judgement[t] = first, s->n_judgements[t] = end - first;
    s->relevant[t] = cq_alloc_array(end - first, sizeof **s->relevant);
    ok = s->relevant[t] != NULL;
    for (size_t i = first; ok && i < end; i++) {
      const uint64_t d = cq_map_get(&documents, j[i].document);
      c->about.n_unknown += d == CQ_MAP_NONE;
      if (d != CQ_MAP_NONE && j[i].relevance >= 1) s->relevant[t][s->n_relevant[t]++] = (uint32_t)d;
    }
  }
  cq_map_free(&documents);
  cq_map_free(&firsts);
  return ok ? CQ_OK : cq_fail_memory(error, s->code);
}

cq_status cq_clir_open(cq_clir **out, const cq_clir_sources *sources, cq_context *ctx, cq_error *error) {
  cq_clir_sources s;
  *out = NULL;
  cq_status status = cq_options_take(&s, &cq_group_clir_sources, sources, error);
  if (status) return status;
  const char *const work = s.work;
  const size_t n = s.n_languages;
  cq_clir *c = cq_alloc_zeroed(sizeof *c);
  reading *readings = cq_alloc_array_zeroed(n, sizeof *readings);
  status = c && readings ? CQ_OK : cq_fail_memory(error, "collections");
  for (size_t i = 0; !status && i < n; i++) {
    readings[i] = (reading){.clir = c};
    if (!name_language(&readings[i].from, &c->text, &s, s.languages[i])) status = cq_fail_memory(error, "collections");
  }
  if (!status && !(c->sides = cq_alloc_array_zeroed(n, sizeof *c->sides)))
    status = cq_fail_memory(error, "collections");
  cq_directory_writer temporary = {0};
  if (!status && !work) status = cq_directory_writer_temporary(&temporary, "calque-clir", error);
  if (!status && work && cq_file_exists(work)) status = cq_fail_file(error, CQ_ERR_ARGUMENT, work, "already exists");
  const bool is_kept = !status && work;
  if (is_kept) status = cq_directory_make(work, error);
  if (!status) status = choose_topics(c, readings, n, error);
  for (size_t i = 0; !status && i < n; i++) {
    readings[i].side = &c->sides[i];
    c->n = i + 1;
    status = open_side(&readings[i], work ? work : temporary.temporary, ctx, error);
    if (!status) status = find_relevant(c, &c->sides[i], error);
  }
  for (size_t i = 0; !status && i < n; i++) status = read_topic_queries(&readings[i], error);
  for (size_t i = 0; !status && i < n; i++) status = mark_words(c, &c->sides[i], error);
  for (size_t i = 0; !status && i < n; i++) status = cq_clir_spell(c, &c->sides[i], error);
  for (size_t i = 0; readings && i < n; i++) {
    cq_topics_free(&readings[i].topics);
    end_running(&readings[i].stems);
    end_running(&readings[i].plain);
  }
  cq_free(readings);
  cq_directory_writer_abort(&temporary); /* what is open stays mapped */
  if (is_kept && status) cq_directory_remove(work);
  if (status) {
    cq_clir_free(c);
    return status;
  }
  c->about.n_languages = c->n, c->about.n_topics = c->n_topics;
  *out = c;
  return CQ_OK;
}

void cq_clir_free(cq_clir *c) {
  if (!c) return;
  for (size_t i = 0; i < c->n; i++) {
    cq_clir_side *s = &c->sides[i];
    for (size_t t = 0; s->relevant && t < c->n_topics; t++) cq_free(s->relevant[t]);
    cq_free(s->relevant);
    cq_free(s->n_relevant);
    cq_free(s->first_judgement);
    cq_free(s->n_judgements);
    cq_free(s->documents);
    cq_free(s->queries);
    cq_free(s->has);
    cq_u32_array_free(&s->words);
    cq_intern_free(&s->plain_words);
    cq_u32_array_free(&s->plain);
    cq_free(s->spellings);
    cq_u32_array_free(&s->joined);
    cq_free(s->plain_documents);
    cq_free(s->plain_queries);
    cq_judgements_free(&s->judgements);
    cq_lexical_free(s->index);
    cq_free(s->code);
  }
  cq_free(c->sides);
  cq_free(c->topics);
  cq_intern_free(&c->words);
  cq_arena_free(&c->text);
  cq_free(c);
}

const cq_clir_info *cq_clir_about(const cq_clir *c) {
  return &c->about;
}

cq_slice cq_clir_topic(const cq_clir *c, size_t topic) {
  return c->topics[topic];
}

cq_status cq_clir_side_of(const cq_clir_side **out, const cq_clir *c, const char *code, cq_error *error) {
  for (size_t i = 0; i < c->n; i++)
    if (!strcasecmp(c->sides[i].code, code)) return *out = &c->sides[i], CQ_OK;
  return cq_fail(error, CQ_ERR_ARGUMENT, "there is no language '%s' among the collections", code);
}

cq_lexical_hit *cq_clir_hits(const cq_clir *c, size_t k) {
  size_t n;
  if (!cq_checked_mul(&n, c->n_topics, k) || !cq_checked_add(&n, n, 1)) return NULL;
  return cq_alloc_array_zeroed(n, sizeof(cq_lexical_hit));
}

bool cq_clir_own_query(cq_lexical_query *out, const cq_clir *c, const cq_clir_side *s, size_t topic) {
  const cq_word_run *q = &s->queries[topic];
  *out = (cq_lexical_query){cq_alloc_array(q->n + 1, sizeof *out->terms), q->n};
  for (size_t i = 0; out->terms && i < q->n; i++)
    out->terms[i] = (cq_lexical_term){.term = c->words.items[q->words[i]], .weight = 1};
  return out->terms != NULL;
}
