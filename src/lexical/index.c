#include "lexical/index.h"

#include "base/error.h"
#include "base/memory.h"
#include "format/json.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

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
  bool ok = stop_words != NULL;
  for (uint32_t i = 0; ok && i < words->n; i++)
    ok = json_array_append_new(stop_words, json_stringn(words->items[i].data, words->items[i].n)) == 0;
  if (!ok) {
    json_decref(stop_words);
    return cq_fail_memory(error, "the manifest");
  }
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
      return cq_fail_file(error, CQ_ERR_FORMAT, path, "\"stop_words\" has something that is no string");
    (*out)[i] = (cq_slice){json_string_value(word), json_string_length(word)};
  }
  return CQ_OK;
}

static cq_status read_manifest(cq_lexical *x, const char *directory, cq_error *error) {
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
  x->n_segments = (size_t)n_segments;
  cq_free(stop_words);
  json_decref(manifest);
  return status;
}

cq_status cq_lexical_open(cq_lexical **out, const char *directory, cq_error *error) {
  *out = NULL;
  cq_lexical *x = cq_alloc_zeroed(sizeof *x);
  if (!x) return cq_fail_memory(error, directory);
  cq_status status = read_manifest(x, directory, error);
  const size_t n = status ? 0 : x->n_segments;
  x->n_segments = 0;
  if (!status) {
    x->segments = cq_alloc_array_zeroed(n, sizeof *x->segments);
    x->first = cq_alloc_array_zeroed(n + 1, sizeof *x->first);
    if (!x->segments || !x->first) status = cq_fail_memory(error, directory);
  }
  for (; !status && x->n_segments < n; x->n_segments++) {
    char path[PATH_MAX];
    cq_segment *s = &x->segments[x->n_segments];
    status = cq_lexical_segment_path(path, sizeof path, directory, x->n_segments + 1, error);
    if (!status) status = cq_segment_open(s, path, error);
    if (status) break;
    x->first[x->n_segments + 1] = x->first[x->n_segments] + s->n_documents;
    x->about.n_occurrences += s->n_occurrences;
    x->about.n_terms += s->n_terms;
    for (uint32_t d = 0; d < s->n_documents; d++)
      if (s->lengths[d] > x->max_length) x->max_length = s->lengths[d];
  }
  if (status) {
    cq_lexical_free(x);
    return status;
  }
  x->about.n_documents = x->first[n], x->about.n_segments = n;
  x->about.language = cq_analyzer_language(x->analyzer), x->about.stems = cq_analyzer_stems(x->analyzer);
  x->about.n_stop_words = cq_analyzer_stop_words(x->analyzer)->n;
  *out = x;
  return status;
}

void cq_lexical_free(cq_lexical *x) {
  if (!x) return;
  for (size_t i = 0; x->segments && i < x->n_segments; i++) cq_segment_close(&x->segments[i]);
  cq_analyzer_free(x->analyzer);
  cq_free(x->segments);
  cq_free(x->first);
  cq_free(x);
}

const cq_lexical_info *cq_lexical_about(const cq_lexical *x) {
  return &x->about;
}

cq_slice cq_lexical_id(const cq_lexical *x, uint64_t document) {
  size_t s = 0;
  while (document >= x->first[s + 1]) s++;
  return cq_segment_id(&x->segments[s], (uint32_t)(document - x->first[s]));
}

void cq_lexical_count(uint64_t *n_documents, uint64_t *n_occurrences, const cq_lexical *x, cq_slice term) {
  *n_documents = *n_occurrences = 0;
  for (size_t s = 0; s < x->n_segments; s++) {
    const uint32_t t = cq_segment_find(&x->segments[s], term);
    if (t == CQ_NO_TERM) continue;
    *n_documents += x->segments[s].records[t].n_documents;
    *n_occurrences += x->segments[s].records[t].n_occurrences;
  }
}

cq_status cq_lexical_parse(cq_lexical_query *out, const cq_lexical *x, cq_slice text, cq_error *error) {
  *out = (cq_lexical_query){0};
  cq_analysis *analysis;
  const uint32_t *ids;
  size_t n = 0, n_bytes = 0;
  cq_status status = cq_analysis_open(&analysis, x->analyzer, error);
  if (!status) status = cq_analysis_run(&ids, &n, analysis, text, error);
  if (!status) {
    const cq_slice *terms = cq_analysis_terms(analysis)->items;
    for (size_t i = 0; i < n; i++) n_bytes += terms[ids[i]].n;
    out->terms = cq_alloc(n * sizeof *out->terms + n_bytes + 1);
    if (!out->terms) status = cq_fail_memory(error, "a query");
    char *bytes = status ? NULL : (char *)(out->terms + n);
    for (; !status && out->n < n; out->n++) {
      const cq_slice term = terms[ids[out->n]];
      memcpy(bytes, term.data, term.n);
      out->terms[out->n] = (cq_lexical_term){{bytes, term.n}, 1};
      bytes += term.n;
    }
  }
  cq_analysis_free(analysis);
  return status;
}

void cq_lexical_query_free(cq_lexical_query *query) {
  cq_free(query->terms);
  *query = (cq_lexical_query){0};
}
