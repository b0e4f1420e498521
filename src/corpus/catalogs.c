/* Finds catalogs by the languages in their paths, and joins their messages by document and key. See catalogs.h. */
#include "corpus/catalogs.h"

#include "base/error.h"
#include "base/file.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "base/walk.h"

#include <string.h>
#include <strings.h>

enum { MAX_CATALOG = 256 << 20, MAX_CANDIDATES = 32 };

/* --- languages in paths --- */

/* The parts of a path that may name its language, the likeliest first; returns their number. */
static size_t find_candidates(cq_slice out[MAX_CANDIDATES], const char *path) {
  const cq_slice name = cq_path_name(path);
  const char *messages = strstr(path, "/LC_MESSAGES/");
  size_t n = 0, stem = name.n - cq_compression_ending(path);
  const char *end = messages ? messages : name.data;
  if (!messages) {
    for (size_t i = stem; i-- > 1;)
      if (name.data[i] == '.') {
        stem = i;
        break;
      }
    out[n++] = (cq_slice){name.data, stem};
    for (size_t i = 1; i + 1 < stem && n < MAX_CANDIDATES / 2; i++)
      if (strchr("._-", name.data[i])) out[n++] = (cq_slice){name.data + i + 1, stem - i - 1};
  }
  while (end > path && n < MAX_CANDIDATES) {
    const char *last = end - (end[-1] == '/'), *begin = last;
    while (begin > path && begin[-1] != '/') begin--;
    if (begin < last) out[n++] = (cq_slice){begin, (size_t)(last - begin)};
    if (messages) break;
    end = begin;
  }
  return n;
}

/* The column whose language a path names; n_columns: none. *language: where, or what may be another language. A file
 * that the user names need not tell, if there is only one column that it can be. */
static size_t column_of(cq_slice *language, bool *is_exact, const cq_catalogs *c, const cq_walked *file) {
  cq_slice candidates[MAX_CANDIDATES];
  const size_t n = find_candidates(candidates, file->path);
  const bool is_sure = strstr(file->path, "/LC_MESSAGES/");
  size_t n_files = 0, last = 0;
  *language = (cq_slice){0};
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < c->n_columns; k++)
      if (k != c->source && cq_language_matches(is_exact, c->base.o->columns[k], candidates[i])) {
        *language = candidates[i];
        return k;
      }
  for (size_t i = n; i-- > 0;)
    if (is_sure || cq_is_code(candidates[i])) *language = candidates[i];
  for (size_t k = 0; k < c->n_columns; k++)
    if (k != c->source) last = k, n_files++;
  *is_exact = true;
  if (file->is_inside || n_files != 1 || is_sure || n == 0 || cq_is_code(candidates[0])) return c->n_columns;
  *language = (cq_slice){0};
  return last;
}

/* --- messages --- */

static cq_status fail_or_drop(cq_catalogs *c, const char *path, const char *what, cq_slice key, cq_error *error) {
  if (c->base.flow.skip_bad) return cq_catalogs_drop(c, "malformed", error);
  const size_t n = cq_min(cq_utf8_invalid_at(key.data, key.n), 80);
  return cq_fail_file(error, CQ_ERR_FORMAT, path, "message '%.*s' %s", (int)n, key.data, what);
}

cq_status cq_catalogs_drop(cq_catalogs *c, const char *reason, cq_error *error) {
  cq_corpus_drop(c->base.counts, reason);
  return cq_corpus_count_row(c->base.counts, &c->base.flow, error);
}

static bool keep_text(cq_catalogs *c, cq_slice *place, cq_slice text) {
  char *copy = cq_arena_strndup(&c->arena, text.data ? text.data : "", text.n);
  *place = (cq_slice){copy, text.n};
  return copy;
}

cq_status cq_catalogs_put(cq_catalogs *c, cq_slice key, cq_slice source, cq_slice text, const char *path,
                          cq_error *error) {
  const cq_slice both[] = {source, text};
  for (size_t i = 0; i < 2; i++) {
    if (both[i].n && memchr(both[i].data, '\0', both[i].n)) return fail_or_drop(c, path, "has a NUL", key, error);
    if (cq_utf8_invalid_at(both[i].data, both[i].n) < both[i].n)
      return fail_or_drop(c, path, "is not in the encoding that its header names, or UTF-8", key, error);
  }
  c->key.n = c->n_document;
  cq_builder_bytes(&c->key, key.data, key.n);
  cq_map_entry *entry = c->key.failed ? NULL : cq_map_at(&c->rows, (cq_slice){c->key.data, c->key.n});
  if (!entry) return cq_fail_memory(error, path);
  if (entry->value == CQ_MAP_NONE) {
    if (!cq_reserve((void **)&c->texts, &c->capacity, (c->n_rows + 1) * c->n_columns, sizeof *c->texts))
      return cq_fail_memory(error, path);
    for (size_t i = 0; i < c->n_columns; i++) c->texts[c->n_rows * c->n_columns + i] = (cq_slice){0};
    entry->value = c->n_rows++;
  }
  cq_slice *row = c->texts + entry->value * c->n_columns;
  if (row[c->column].data) return cq_catalogs_drop(c, "repeated", error);
  if (!keep_text(c, &row[c->column], text)) return cq_fail_memory(error, path);
  if (c->source != SIZE_MAX && !row[c->source].data && !keep_text(c, &row[c->source], source))
    return cq_fail_memory(error, path);
  return CQ_OK;
}

/* --- files --- */

static cq_status read_bytes(cq_builder *out, const char *path, cq_error *error) {
  cq_input *in;
  size_t got = 0;
  static const size_t step = 1 << 16;
  char *buffer = cq_alloc(step);
  if (!buffer) return cq_fail_memory(error, path);
  cq_status status = cq_input_open(&in, path, error);
  if (status) {
    cq_free(buffer);
    return status;
  }
  out->limit = MAX_CATALOG;
  while (!(status = cq_input_read(&got, in, buffer, step, error)) && got && !out->failed)
    cq_builder_bytes(out, buffer, got);
  cq_input_close(in);
  cq_free(buffer);
  if (!status && out->is_full) return cq_fail_file(error, CQ_ERR_LIMIT, path, "more than %d MiB", MAX_CATALOG >> 20);
  return !status && out->failed ? cq_fail_memory(error, path) : status;
}

static cq_status read_catalog(cq_catalogs *c, cq_catalog_read read, const char *path, cq_error *error) {
  cq_builder bytes = {0};
  cq_status status = cq_corpus_ask(c->base.counts, &c->base.flow, error);
  if (!status) status = read_bytes(&bytes, path, error);
  if (!status) status = read(c, (cq_slice){bytes.data ? bytes.data : "", bytes.n}, path, error);
  cq_builder_free(&bytes);
  if (status == CQ_ERR_FORMAT && c->base.flow.skip_bad) status = cq_catalogs_drop(c, "malformed", error);
  return status;
}

static void begin_document(cq_catalogs *c, cq_slice before, const char *after) {
  cq_builder_clear(&c->key);
  cq_builder_bytes(&c->key, before.data, before.n);
  cq_builder_char(&c->key, '\0');
  cq_builder_text(&c->key, after);
  cq_builder_char(&c->key, '\0');
  c->n_document = c->key.n;
}

/* Without languages: each file is a document with its source, or the files are the columns. */
static cq_status read_files(cq_catalogs *c, cq_catalog_read read, cq_error *error) {
  const cq_corpus_convert_options *o = c->base.o;
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < o->n_inputs; i++) {
    if (cq_is_directory(o->inputs[i]) || (c->source == SIZE_MAX && o->n_inputs != 2))
      return cq_fail_file(error, CQ_ERR_ARGUMENT, o->inputs[i], "which languages? --columns en,de");
    begin_document(c, (cq_slice){0}, c->source == SIZE_MAX ? "" : o->inputs[i]);
    c->column = c->source == SIZE_MAX ? i : 1;
    status = read_catalog(c, read, o->inputs[i], error);
  }
  return status;
}

static cq_status fail_no_catalog(const cq_catalogs *c, const cq_walk *walk, cq_error *error) {
  cq_intern seen = {0};
  cq_slice language;
  bool is_exact;
  for (size_t i = 0; i < walk->n; i++) {
    (void)column_of(&language, &is_exact, c, &walk->files[i]);
    if (language.data) (void)cq_intern_put(&seen, language); /* out of memory, the list is shorter */
  }
  const cq_status status = cq_fail_language(c->base.o->inputs[0], c->base.o->columns[c->column], &seen, error);
  cq_intern_free(&seen);
  return status;
}

/* Each language's files, those of its exact name first. */
static cq_status read_languages(cq_catalogs *c, cq_catalog_read read, const cq_walk *walk, cq_error *error) {
  cq_status status = CQ_OK;
  for (c->column = 0; c->column < c->n_columns; c->column++) {
    size_t n = 0;
    for (int pass = 0; c->column != c->source && pass < 2; pass++)
      for (size_t i = 0; i < walk->n; i++) {
        const char *path = walk->files[i].path;
        cq_slice language;
        bool is_exact = false;
        if (column_of(&language, &is_exact, c, &walk->files[i]) != c->column || is_exact != (pass == 0)) continue;
        begin_document(c, (cq_slice){path, language.data ? (size_t)(language.data - path) : 0},
                       language.data ? language.data + language.n : path);
        status = read_catalog(c, read, path, error);
        if (status) return status;
        n++;
      }
    if (n == 0 && c->column != c->source) return fail_no_catalog(c, walk, error);
  }
  return CQ_OK;
}

cq_status cq_catalogs_open(cq_catalogs *c, cq_catalog_read read, bool has_source, cq_error *error) {
  const cq_corpus_convert_options *o = c->base.o;
  cq_walk walk = {0};
  cq_status status = CQ_OK;
  c->n_columns = o->n_columns ? o->n_columns : 2;
  c->source = has_source && o->n_columns == 0 ? 0 : SIZE_MAX;
  for (size_t i = 0; has_source && i < o->n_columns; i++)
    if (!strcasecmp(o->columns[i], "en")) c->source = i;
  if (o->n_columns == 0) return read_files(c, read, error);
  for (size_t i = 0; !status && i < o->n_inputs; i++) status = cq_walk_add(&walk, o->inputs[i], error);
  size_t n = 0;
  for (size_t i = 0; i < walk.n; i++) { /* of a directory, only the files of the format */
    const cq_walked file = walk.files[i];
    const bool is_kept = !file.is_inside || cq_format_ends(c->base.format, file.path);
    if (is_kept)
      walk.files[n++] = file;
    else
      cq_free(file.path);
  }
  walk.n = n;
  if (!status) status = read_languages(c, read, &walk, error);
  cq_walk_free(&walk);
  return status;
}

cq_status cq_catalogs_next(cq_row *out, cq_format_reader *reader, cq_error *error) {
  cq_catalogs *c = (cq_catalogs *)reader;
  for (out->n = 0; c->next < c->n_rows; c->next++) {
    const cq_slice *texts = c->texts + c->next * c->n_columns;
    bool complete = true;
    const cq_status status = cq_corpus_count_row(reader->counts, &reader->flow, error);
    if (status) return status;
    for (size_t i = 0; i < c->n_columns; i++) {
      complete &= texts[i].data != NULL;
      out->columns[i] = texts[i];
    }
    if (complete) {
      out->n = c->n_columns, c->next++;
      return CQ_OK;
    }
    cq_corpus_drop(reader->counts, "without a translation");
  }
  return CQ_OK;
}

void cq_catalogs_close(cq_format_reader *reader) {
  cq_catalogs *c = (cq_catalogs *)reader;
  cq_map_free(&c->rows);
  cq_free(c->texts);
  cq_builder_free(&c->key);
  cq_arena_free(&c->arena);
}
