/* A lexical index in a directory: its manifest, opening it, and searching it by texts. See lexical_index.h. */
#include "lexical/lexical_index.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/memory.h"
#include "format/json.h"
#include "lexical/set.h"

#include <limits.h>
#include <stdio.h>

enum { VERSION = 1 };

cq_status cq_lexical_segment_path(char *out, size_t out_size, const char *directory, size_t n, cq_error *error) {
  char name[32];
  snprintf(name, sizeof name, "segment-%zu", n);
  return cq_path_join(out, out_size, directory, name, error);
}

cq_status cq_lexical_write_manifest(const char *directory, const cq_analyzer *analyzer, size_t n_segments,
                                    cq_error *error) {
  const cq_intern *words = cq_analyzer_stop_words(analyzer);
  json_t *stop_words = json_array();
  for (uint32_t i = 0; i < words->n; i++)
    cq_json_push(&stop_words, json_stringn(words->items[i].data, words->items[i].n));
  if (!stop_words) return cq_fail_memory(error, "the manifest");
  json_t *manifest =
      json_pack("{s:i, s:I, s:s, s:b, s:o}", "lexical_index", VERSION, "segments", (json_int_t)n_segments, "language",
                cq_analyzer_language(analyzer), "stems", cq_analyzer_stems(analyzer), "stop_words", stop_words);
  return cq_json_save(manifest, directory, "manifest.json", error);
}

static cq_status read_manifest_stop_words(cq_slice **out, size_t *n, const json_t *manifest, const char *path,
                                          cq_error *error) {
  const json_t *words = json_object_get(manifest, "stop_words");
  *n = json_array_size(words);
  *out = cq_alloc_array(*n, sizeof **out);
  if (!*out) return cq_fail_memory(error, path);
  for (size_t i = 0; i < *n; i++) {
    const json_t *word = json_array_get(words, i);
    if (!json_is_string(word))
      return cq_fail_file(error, CQ_ERR_FORMAT, path, "\"stop_words\" has something that is not a string");
    (*out)[i] = (cq_slice){json_string_value(word), json_string_length(word)};
  }
  return CQ_OK;
}

static cq_status read_manifest(cq_lexical *x, size_t *n, const char *directory, cq_error *error) {
  char path[PATH_MAX];
  json_t *manifest = NULL;
  int64_t version = 0, n_segments = 0;
  const char *language = "";
  bool stems = false;
  cq_slice *stop_words = NULL;
  size_t n_stop_words = 0;
  cq_status status = cq_path_join(path, sizeof path, directory, "manifest.json", error);
  if (!status) status = cq_json_read(&manifest, path, error);
  if (!status) status = cq_json_get_int(&version, manifest, "lexical_index", 0, INT64_MAX, path, error);
  if (!status && version != VERSION)
    status = cq_fail_file(error, CQ_ERR_FORMAT, path, "not the manifest of a lexical index of version %d", VERSION);
  if (!status) status = cq_json_get_int(&n_segments, manifest, "segments", 0, CQ_MAX_SEGMENTS, path, error);
  if (!status) status = cq_json_get_string(&language, manifest, "language", path, error);
  if (!status) status = cq_json_get_bool(&stems, manifest, "stems", path, error);
  if (!status) status = read_manifest_stop_words(&stop_words, &n_stop_words, manifest, path, error);
  if (!status) status = cq_analyzer_open_with(&x->analyzer, language, stems, stop_words, n_stop_words, error);
  *n = (size_t)n_segments;
  cq_free(stop_words);
  json_decref(manifest);
  return status;
}

static cq_status open_segments(cq_lexical *x, size_t n, const char *directory, cq_error *error) {
  cq_arena arena = {0};
  const char **paths = cq_arena_array(&arena, n, sizeof *paths);
  cq_status status = paths ? CQ_OK : cq_fail_memory(error, directory);
  for (size_t i = 0; !status && i < n; i++) {
    char path[PATH_MAX];
    status = cq_lexical_segment_path(path, sizeof path, directory, i + 1, error);
    if (!status && !(paths[i] = cq_arena_strdup(&arena, path))) status = cq_fail_memory(error, directory);
  }
  if (!status) status = cq_lexical_set_open(&x->set, x->analyzer, paths, n, NULL, error);
  cq_arena_free(&arena);
  return status;
}

cq_status cq_lexical_open(cq_lexical **out, const char *directory, cq_error *error) {
  size_t n = 0;
  *out = NULL;
  cq_lexical *x = cq_alloc_zeroed(sizeof *x);
  if (!x) return cq_fail_memory(error, directory);
  cq_status status = read_manifest(x, &n, directory, error);
  if (!status) status = open_segments(x, n, directory, error);
  if (status) {
    cq_lexical_free(x);
    return status;
  }
  x->about = (cq_lexical_info){.n_documents = cq_lexical_set_n_documents(x->set),
                               .n_occurrences = x->set->n_occurrences,
                               .n_terms = x->set->n_terms,
                               .n_segments = n,
                               .language = cq_analyzer_language(x->analyzer),
                               .stems = cq_analyzer_stems(x->analyzer),
                               .n_stop_words = cq_analyzer_stop_words(x->analyzer)->n};
  *out = x;
  return status;
}

void cq_lexical_free(cq_lexical *x) {
  if (!x) return;
  cq_lexical_set_free(x->set);
  cq_analyzer_free(x->analyzer);
  cq_free(x);
}

const cq_lexical_info *cq_lexical_about(const cq_lexical *x) {
  return &x->about;
}

cq_slice cq_lexical_id(const cq_lexical *x, uint64_t document) {
  return cq_lexical_set_id(x->set, document);
}

void cq_lexical_count(uint64_t *n_documents, uint64_t *n_occurrences, const cq_lexical *x, cq_slice term) {
  cq_lexical_set_count(n_documents, n_occurrences, x->set, term);
}

cq_status cq_lexical_parse(cq_lexical_query *out, const cq_lexical *x, cq_slice text, cq_error *error) {
  cq_analysis *analysis;
  *out = (cq_lexical_query){0};
  cq_status status = cq_analysis_open(&analysis, x->analyzer, error);
  if (!status) status = cq_lexical_query_parse(out, analysis, text, error);
  cq_analysis_free(analysis);
  return status;
}

cq_status cq_lexical_search(cq_lexical_hit **out, const cq_lexical *x, const cq_lexical_query *queries,
                            size_t n_queries, const cq_lexical_options *options, cq_context *ctx, cq_error *error) {
  return cq_lexical_set_search(out, x->set, queries, n_queries, options, NULL, ctx, error);
}

cq_status cq_lexical_set_search_texts(cq_lexical_hit **out, const cq_lexical_set *set, const cq_slice *texts,
                                      size_t n_queries, const cq_lexical_options *options,
                                      const cq_lexical_filter *filter, cq_context *ctx, cq_error *error) {
  cq_analysis *analysis = NULL;
  *out = NULL;
  cq_lexical_query *queries = cq_alloc_array_zeroed(n_queries, sizeof *queries);
  cq_status status = queries ? CQ_OK : cq_fail_memory(error, "queries");
  if (!status) status = cq_analysis_open(&analysis, set->analyzer, error);
  for (size_t i = 0; !status && i < n_queries; i++)
    status = cq_lexical_query_parse(&queries[i], analysis, texts[i], error);
  if (!status) status = cq_lexical_set_search(out, set, queries, n_queries, options, filter, ctx, error);
  for (size_t i = 0; queries && i < n_queries; i++) cq_lexical_query_free(&queries[i]);
  cq_free(queries);
  cq_analysis_free(analysis);
  return status;
}
