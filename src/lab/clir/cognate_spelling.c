/* The spelling of words for matching letters of two languages: in Latin letters, whatever the script, so that the same
 * sounds begin as the same letters. */
#include "lab/clir/cognate_spelling.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/romanize.h"
#include "text/script.h"
#include "text/unicode.h"

#include <math.h>
#include <string.h>

enum { MAX_BYTES_OF_JOINED = 18 }; /* romanized; longer ones are not names */

/* Words in more documents than this number and this share neither begin nor end a name. */
static const double frequent_documents = 10, frequent_share = 0.05;

/* The script of most words. Words in another script are quoted unchanged in every language and would dominate learning:
 * no word in the language's own letters matches them as well. */
static int main_script(const cq_intern *words) {
  uint32_t counts[CQ_N_SCRIPTS] = {0};
  int found = CQ_SCRIPT_NONE;
  for (uint32_t w = 0; w < words->n; w++) {
    const int script = cq_script_of(words->items[w]);
    if (script != CQ_SCRIPT_NONE && (++counts[script] > counts[found] || found == CQ_SCRIPT_NONE)) found = script;
  }
  return found;
}

static cq_status romanize_words(cq_clir *c, cq_clir_side *side, cq_error *error) {
  cq_romanizer *romanizer;
  cq_builder latin = {0};
  cq_status status = cq_romanizer_open(&romanizer, error);
  for (uint32_t w = 0; !status && w < side->plain_words.n; w++) {
    if (cq_script_of(side->plain_words.items[w]) != side->script) continue;
    cq_builder_clear(&latin);
    cq_romanize(&latin, romanizer, side->plain_words.items[w]);
    const char *kept = latin.failed ? NULL : cq_arena_strndup(&c->text, latin.n ? latin.data : "", latin.n);
    if (!kept) status = cq_fail_memory(error, "romanized words");
    side->spellings[w] = (cq_slice){kept, latin.n};
  }
  cq_romanizer_free(romanizer);
  cq_builder_free(&latin);
  return status;
}

cq_status cq_clir_spell(cq_clir *c, cq_clir_side *side, cq_error *error) {
  const uint32_t n = side->plain_words.n;
  side->script = main_script(&side->plain_words);
  side->spellings = cq_alloc_array(n, sizeof *side->spellings);
  if (!side->spellings) return cq_fail_memory(error, "words");
  for (uint32_t w = 0; w < n; w++) side->spellings[w] = side->plain_words.items[w];
  const bool latin = side->script == cq_char_script('a') || side->script == CQ_SCRIPT_NONE;
  return latin ? CQ_OK : romanize_words(c, side, error);
}

static bool has_number(cq_slice word) {
  bool found = false;
  for (size_t i = 0; i < word.n;) {
    uint32_t c;
    i += cq_utf8_decode(&c, word.data + i, word.n - i);
    found |= cq_char_is_number(c);
  }
  return found;
}

/* Stop words are in no document. */
static bool is_frequent(const cq_bags *bags, uint32_t word) {
  const double n_documents = exp(-bags->idf[word]) * (bags->n + 1.0) - 0.5;
  return !(bags->masses[word] > 0) || n_documents > fmax(frequent_documents, frequent_share * bags->n);
}

/* Whether a joined word may be a name. row [3]: from side->joined. */
static bool may_be_name(const cq_clir_side *side, const uint32_t *row, const cq_bags *bags) {
  return side->spellings[row[0]].n <= MAX_BYTES_OF_JOINED && !is_frequent(bags, row[1]) && !is_frequent(bags, row[2]);
}

cq_status cq_spelled_open(cq_spelled *s, const cq_clir_side *side, const cq_bags *bags, bool only_of_bags,
                          cq_error *error) {
  const uint32_t n = side->plain_words.n;
  size_t at = 0; /* in side->joined, by rising word */
  s->words = cq_alloc_array(n, sizeof *s->words);
  s->plain = cq_alloc_array(n, sizeof *s->plain);
  s->number = cq_alloc_array(n, sizeof *s->number);
  s->n_characters = cq_alloc_array(n, sizeof *s->n_characters);
  if (!s->words || !s->plain || !s->number || !s->n_characters) return cq_fail_memory(error, "words");
  for (uint32_t w = 0; w < n; w++) {
    const cq_slice word = side->plain_words.items[w], spelling = side->spellings[w];
    const uint32_t *row = at < side->joined.n && side->joined.items[at] == w ? side->joined.items + at : NULL;
    if (row) at += 3;
    s->number[w] = UINT32_MAX;
    if (has_number(word) || cq_script_of(word) != side->script || (only_of_bags && !(bags->masses[w] > 0))) continue;
    if (row && !may_be_name(side, row, bags)) continue;
    s->number[w] = s->n;
    s->words[s->n] = spelling;
    s->n_characters[s->n] = (uint8_t)cq_min(cq_utf8_length(spelling.data, spelling.n), 255);
    s->plain[s->n++] = w;
  }
  return CQ_OK;
}

void cq_spelled_close(cq_spelled *s) {
  cq_free(s->words);
  cq_free(s->plain);
  cq_free(s->number);
  cq_free(s->n_characters);
}
