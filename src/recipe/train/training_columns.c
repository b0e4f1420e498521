/* Warns about columns that look swapped or have the wrong language: a teacher's tokenizer splits its own language into
 * longer pieces, and language identification votes over the sentences. */
#include "recipe/train/columns.h"

#include "base/memory.h"
#include "base/number.h"
#include "base/utf8.h"
#include "calque/language.h"
#include "text/identify.h"

#include <stdio.h>
#include <string.h>

enum { N_LOOKED_AT = 500, N_LANGUAGES = 64, MIN_SENTENCES = 20 };
/* A teacher splits the languages it knows into 20 to 30 pieces per 100 characters. */
#define MAX_PIECES_PER_CHARACTER 0.30

/* Statistics of a column: how the teacher's tokenizer splits it, and the number of sentences per language. */
typedef struct look {
  double pieces, unknown, characters;
  size_t n, n_languages, counts[N_LANGUAGES];
  const char *codes[N_LANGUAGES]; /* [n_languages] */
} look;

static void count_language(look *l, const char *code) {
  size_t i = 0;
  while (i < l->n_languages && strcmp(l->codes[i], code) != 0) i++;
  if (i == l->n_languages && i < N_LANGUAGES) l->codes[l->n_languages++] = code;
  if (i < l->n_languages) l->counts[i]++;
}

static cq_status look_at(look *out, const cq_tokenizer *t, cq_slice sentence, cq_ids *ids, cq_error *error) {
  out->n++;
  count_language(out, cq_language_identify(sentence).code);
  if (!t) return CQ_OK;
  const int32_t unknown = cq_tokenizer_describe(t)->unk_id;
  ids->n = 0;
  const cq_status status = cq_tokenizer_encode(ids, t, NULL, sentence, false, 0, NULL, error);
  out->pieces += (double)ids->n;
  for (size_t i = 0; i < ids->n; i++) out->unknown += ids->ids[i] == unknown;
  out->characters += (double)cq_utf8_length(sentence.data, sentence.n);
  return status;
}

/* The share of sentences in a language. */
static double share_of(const look *l, const char *code) {
  for (size_t i = 0; i < l->n_languages; i++)
    if (strcmp(l->codes[i], code) == 0) return (double)l->counts[i] / (double)l->n;
  return 0;
}

/* The language of at least three fifths of the sentences; NULL: none. */
static const char *language_of(const look *l) {
  for (size_t i = 0; l->n >= MIN_SENTENCES && i < l->n_languages; i++)
    if (5 * l->counts[i] >= 3 * l->n && strcmp(l->codes[i], "und") != 0) return l->codes[i];
  return NULL;
}

/* Languages without spaces, or with syllabic scripts, have more pieces per 100 characters. */
static bool has_long_words(const char *code) {
  static const char *const others[] = {"ja", "km", "ko", "lo", "my", "th", "zh"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strcmp(code, others[i]) == 0) return false;
  return true;
}

/* A teacher splits its own language into longer pieces than other languages, with fewer unknown tokens. */
static void check_first(const char *label, const look *first, const look *second, cq_notice_fn notice, void *context) {
  const double one = first->pieces / first->characters, other = second->pieces / second->characters;
  const double unknown = first->unknown / first->pieces, other_unknown = second->unknown / second->pieces;
  const bool strange = unknown > 0.1 && unknown > 2 * other_unknown;
  const char *code = language_of(first);
  char text[320] = "";
  if (strange || (one > 1.3 * other && other_unknown < 0.02))
    cq_snprintf(
        text, sizeof text,
        "%.160s: the first column does not look like the teacher's language: %.0f pieces for 100 characters, %.0f "
        "%% unknown; the second %.0f, %.0f %%: are the columns swapped?",
        label, 100 * one, 100 * unknown, 100 * other, 100 * other_unknown);
  else if (code && one > MAX_PIECES_PER_CHARACTER && strcmp(code, "en") != 0 && has_long_words(code))
    cq_snprintf(
        text, sizeof text,
        "%.160s: the first column looks like '%s' (%.0f %% of %zu sentences), which the teacher splits into %.0f "
        "pieces for 100 characters: is it the teacher's language?",
        label, code, 100 * share_of(first, code), first->n, 100 * one);
  if (*text) notice(context, text);
}

/* (A label with a slash is a path.) Warns if a language is hardly ever identified in its own text, but another is in
 * most of it. Languages that are easily confused are identified more often than that. */
static void check_second(const char *label, const look *second, cq_notice_fn notice, void *context) {
  const char *own = cq_language_known_as(label), *found = language_of(second);
  if (!own || !found || share_of(second, own) >= 0.1) return;
  char text[320];
  cq_snprintf(text, sizeof text,
              "%.60s: the second column looks like '%s' (%.0f %% of %zu sentences), not '%s' (%.0f %%)", label, found,
              100 * share_of(second, found), second->n, own, 100 * share_of(second, own));
  notice(context, text);
}

cq_status cq_check_columns(const cq_parallel *data, const cq_tokenizer *teachers, cq_notice_fn notice,
                           void *notice_context, cq_error *error) {
  cq_status status = CQ_OK;
  cq_ids ids = {0};
  for (size_t i = 0; !status && i < data->n_sets; i++) {
    const cq_parallel_set *set = &data->sets[i];
    const uint32_t every = set->n_entries / N_LOOKED_AT + 1;
    look first = {0}, second = {0};
    for (uint32_t e = 0; !status && !set->plain && e < set->n_entries; e += every) {
      const cq_entry *entry = &data->entries[set->first_entry + e];
      status = look_at(&first, teachers, data->sources[entry->source], &ids, error);
      if (!status) status = look_at(&second, teachers, data->targets[entry->first_target], &ids, error);
    }
    if (!status && first.pieces > 0 && second.pieces > 0)
      check_first(set->label, &first, &second, notice, notice_context);
    if (!status && set->is_named && !strchr(set->label, '/')) check_second(set->label, &second, notice, notice_context);
  }
  cq_free(ids.ids);
  return status;
}
