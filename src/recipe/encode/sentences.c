/* Reads a monolingual corpus: distinct sentences, and the lines of each. See sentences.h. */
#include "recipe/encode/sentences.h"

#include "base/error.h"
#include "base/memory.h"
#include "calque/lines.h"

#include <string.h>

/* Grows while a file is read. */
typedef struct reading {
  cq_sentences *corpus;
  cq_map known;      /* sentence -> its index */
  uint32_t *of_line; /* [n_lines] sentence of a line */
  size_t sentence_capacity, line_capacity, id_capacity;
  bool has_ids, started;
} reading;

static cq_status fail_corpus_memory(cq_error *error) {
  return cq_fail_memory(error, "a corpus");
}

static cq_status add_id(reading *r, cq_slice id, const char *path, uint64_t number, cq_error *error) {
  cq_sentences *c = r->corpus;
  if (id.n == 0) return cq_fail_line(error, CQ_ERR_FORMAT, path, number, "the id is empty");
  if (cq_map_get(&c->line_of, id) != CQ_MAP_NONE)
    return cq_fail_line(error, CQ_ERR_FORMAT, path, number, "the id '%.*s' stands in an earlier line, too", (int)id.n,
                        id.data);
  if (!cq_reserve((void **)&c->ids, &r->id_capacity, c->n_lines + 1, sizeof *c->ids)) return fail_corpus_memory(error);
  char *copy = cq_arena_strndup(&c->text, id.data, id.n);
  if (!copy) return fail_corpus_memory(error);
  c->ids[c->n_lines] = (cq_slice){copy, id.n};
  return cq_map_put_borrowed(&c->line_of, c->ids[c->n_lines], c->n_lines) ? CQ_OK : fail_corpus_memory(error);
}

static cq_status add_sentence(reading *r, cq_slice sentence, cq_error *error) {
  cq_sentences *c = r->corpus;
  uint64_t index = cq_map_get(&r->known, sentence);
  if (index == CQ_MAP_NONE) {
    index = c->n;
    if (!cq_reserve((void **)&c->sentences, &r->sentence_capacity, c->n + 1, sizeof *c->sentences))
      return fail_corpus_memory(error);
    char *copy = cq_arena_strndup(&c->text, sentence.data, sentence.n);
    if (!copy) return fail_corpus_memory(error);
    c->sentences[index] = (cq_slice){copy, sentence.n};
    if (!cq_map_put_borrowed(&r->known, c->sentences[index], index)) return fail_corpus_memory(error);
    c->n++;
  }
  if (c->n_lines >= UINT32_MAX || c->n >= UINT32_MAX) return cq_fail(error, CQ_ERR_LIMIT, "more than 2^32 lines");
  if (!cq_reserve((void **)&r->of_line, &r->line_capacity, c->n_lines + 1, sizeof *r->of_line))
    return fail_corpus_memory(error);
  r->of_line[c->n_lines++] = (uint32_t)index;
  return CQ_OK;
}

static cq_status add_sentence_line(reading *r, cq_slice line, const char *path, uint64_t number, cq_error *error) {
  const char *tab = line.n ? memchr(line.data, '\t', line.n) : NULL;
  cq_slice sentence = line;
  if (cq_slice_trimmed(line).n == 0) {
    r->corpus->n_blank++;
    return CQ_OK;
  }
  if (!r->started) r->has_ids = tab != NULL;
  r->started = true;
  if (tab && !r->has_ids)
    return cq_fail_line(error, CQ_ERR_FORMAT, path, number,
                        "a tab, but line 1 has none: expected an id and a tab in "
                        "all lines, or in none");
  if (r->has_ids) {
    if (!tab)
      return cq_fail_line(error, CQ_ERR_FORMAT, path, number, "no tab, expected an id and a sentence as in line 1");
    sentence = (cq_slice){tab + 1, line.n - (size_t)(tab + 1 - line.data)};
    if (cq_slice_trimmed(sentence).n == 0) {
      r->corpus->n_blank++;
      return CQ_OK;
    }
    cq_status status = add_id(r, (cq_slice){line.data, (size_t)(tab - line.data)}, path, number, error);
    if (status) return status;
  }
  return add_sentence(r, sentence, error);
}

static cq_status read_sentence_lines(reading *r, const char *path, bool skip_bad, cq_error *error) {
  cq_lines *lines;
  cq_status status = cq_lines_open(&lines, path, error);
  if (status) return status;
  for (;;) {
    cq_slice line;
    status = cq_lines_next(&line, lines, error);
    if (!status && !line.data) break;
    if (!status) status = add_sentence_line(r, line, cq_lines_path(lines), cq_lines_number(lines), error);
    if (!status) continue;
    if (!skip_bad || status != CQ_ERR_FORMAT || cq_lines_broken(lines)) break;
    r->corpus->n_skipped++;
  }
  cq_lines_close(lines);
  return status;
}

/* The lines of each sentence, side by side. */
static cq_status gather_lines(const reading *r, cq_error *error) {
  cq_sentences *c = r->corpus;
  c->starts = cq_alloc_array_zeroed(c->n + 1, sizeof *c->starts);
  c->lines = cq_alloc_array(c->n_lines, sizeof *c->lines);
  size_t *next = cq_alloc_array(c->n, sizeof *next);
  const bool ok = c->starts && c->lines && next && r->of_line;
  if (ok) {
    for (size_t i = 0; i < c->n_lines; i++) c->starts[r->of_line[i] + 1]++;
    for (size_t i = 0; i < c->n; i++) {
      next[i] = c->starts[i];
      c->starts[i + 1] += c->starts[i];
    }
    for (size_t i = 0; i < c->n_lines; i++) c->lines[next[r->of_line[i]]++] = (uint32_t)i;
  }
  cq_free(next);
  return ok ? CQ_OK : fail_corpus_memory(error);
}

cq_status cq_sentences_read(cq_sentences *out, const char *path, bool skip_bad, cq_error *error) {
  *out = (cq_sentences){0};
  reading r = {.corpus = out};
  cq_status status = read_sentence_lines(&r, path, skip_bad, error);
  if (!status && out->n == 0)
    status =
        cq_fail_file(error, CQ_ERR_ARGUMENT, path, "there is no sentence in it (%llu blank and %llu malformed lines)",
                     (unsigned long long)out->n_blank, (unsigned long long)out->n_skipped);
  if (!status) status = gather_lines(&r, error);
  cq_map_free(&r.known);
  cq_free(r.of_line);
  return status;
}

void cq_sentences_free(cq_sentences *corpus) {
  cq_map_free(&corpus->line_of);
  cq_arena_free(&corpus->text);
  cq_free(corpus->sentences);
  cq_free(corpus->lines);
  cq_free(corpus->starts);
  cq_free(corpus->ids);
  *corpus = (cq_sentences){0};
}

cq_slice cq_sentences_text(const cq_sentences *c, uint32_t sentence) {
  return c->sentences ? c->sentences[sentence] : (cq_slice){NULL, 0};
}

size_t cq_sentences_n_lines(const cq_sentences *c, uint32_t sentence) {
  return c->starts ? c->starts[sentence + 1] - c->starts[sentence] : 1;
}

cq_slice cq_sentences_id(const cq_sentences *c, uint32_t sentence, size_t i) {
  return c->ids ? c->ids[c->lines[c->starts[sentence] + i]] : (cq_slice){NULL, 0};
}
