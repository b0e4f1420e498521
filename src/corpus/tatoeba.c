/* Tatoeba's exports, for all or some languages:
 *
 *   sentences.csv   1276 <tab> eng <tab> Let's try something.
 *   links.csv       1276 <tab> 5350                                two sentences that are translations of each other
 *
 * The sentences of the two languages are held in memory. Tatoeba lists each link in both directions; only the one from
 * the first language is used. */
#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "base/memory.h"
#include "corpus/format.h"
#include "text/language_codes.h"

#include <string.h>

typedef struct tatoeba {
  cq_format_reader base;
  cq_row_reader links;
  cq_map places[2]; /* of a language: id -> which of texts */
  cq_slice *texts;
  size_t n, capacity;
  cq_arena arena;
} tatoeba;

static cq_status keep_sentence(tatoeba *t, int side, const cq_row *row, cq_error *error) {
  const cq_slice text = row->columns[2];
  char *copy = cq_arena_strndup(&t->arena, text.data, text.n);
  if (!copy || !cq_reserve((void **)&t->texts, &t->capacity, t->n + 1, sizeof *t->texts) ||
      !cq_map_put(&t->places[side], row->columns[0], t->n))
    return cq_fail_memory(error, "sentences");
  t->texts[t->n++] = (cq_slice){copy, text.n};
  return CQ_OK;
}

static cq_status read_sentences(tatoeba *t, cq_error *error) {
  const cq_corpus_convert_options *o = t->base.o;
  cq_corpus_counts uncounted = {0}; /* sentences are not rows */
  cq_row_reader rows = {.paths = o->inputs + 1,
                        .n_paths = o->n_inputs - 1,
                        .min_columns = 3,
                        .flow = &t->base.flow,
                        .counts = &uncounted};
  cq_row row;
  cq_status status = CQ_OK;
  /* Tatoeba's codes have three letters; the user's may have two. */
  char codes[2][CQ_LANGUAGE_CODES][CQ_LANGUAGE_LETTERS];
  size_t n[2], n_code;
  for (int side = 0; side < 2; side++)
    n[side] = cq_language_codes(codes[side], &n_code, o->columns[side], strlen(o->columns[side]));
  while (cq_row_reader_more(&status, &row, &rows, error))
    for (int side = 0; !status && side < 2; side++) {
      bool matches = cq_slice_equal(row.columns[1], cq_slice_of(o->columns[side]));
      for (size_t i = 0; i < n[side]; i++) matches |= cq_slice_equal(row.columns[1], cq_slice_of(codes[side][i]));
      if (matches) status = keep_sentence(t, side, &row, error);
    }
  cq_row_reader_close(&rows);
  cq_corpus_add_dropped(t->base.counts, &uncounted);
  for (size_t i = 0; !status && i < 2; i++)
    if (t->places[i].n == 0) status = cq_fail(error, CQ_ERR_ARGUMENT, "no sentence is of language '%s'", o->columns[i]);
  return status;
}

static cq_status open_tatoeba(cq_format_reader *reader, cq_error *error) {
  tatoeba *t = (tatoeba *)reader;
  if (reader->o->n_columns != 2)
    return cq_fail(error, CQ_ERR_ARGUMENT, "tatoeba: %zu languages, expected 2", reader->o->n_columns);
  t->links = (cq_row_reader){
      .paths = reader->o->inputs, .n_paths = 1, .min_columns = 2, .flow = &reader->flow, .counts = reader->counts};
  return read_sentences(t, error);
}

static cq_status next_tatoeba_row(cq_row *out, cq_format_reader *reader, cq_error *error) {
  tatoeba *t = (tatoeba *)reader;
  for (;;) {
    cq_status status = cq_row_reader_next(out, &t->links, error);
    if (status || out->n == 0) return status;
    uint64_t places[2];
    for (size_t i = 0; i < 2; i++) places[i] = cq_map_get(&t->places[i], out->columns[i]);
    if (places[0] != CQ_MAP_NONE && places[1] != CQ_MAP_NONE) {
      for (size_t i = 0; i < 2; i++) out->columns[i] = t->texts[places[i]];
      out->n = 2;
      return CQ_OK;
    }
    cq_corpus_drop(reader->counts, "other languages, or the other direction");
  }
}

static void close_tatoeba(cq_format_reader *reader) {
  tatoeba *t = (tatoeba *)reader;
  cq_row_reader_close(&t->links);
  for (size_t i = 0; i < 2; i++) cq_map_free(&t->places[i]);
  cq_free(t->texts);
  cq_arena_free(&t->arena);
}

const cq_format cq_format_tatoeba = CQ_FORMAT(
    "tatoeba", "LINKS SENTENCES...", 2, CQ_MANY_FILES, .has_columns = true, tatoeba, open_tatoeba, next_tatoeba_row,
    close_tatoeba, "Tatoeba's exports links.csv and sentences.csv, or those of single languages; --columns eng,fra");
