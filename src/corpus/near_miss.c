/* Makes near misses by rules:
 *
 *   sentence ──blanks──▶ words, each with its core (without punctuation)
 *   all sentences ──capitals within them──▶ names
 *   sentence ──a rule of each kind──▶ near misses, with some bytes of the sentence replaced
 *
 * A rule that does not apply produces nothing: a doubtful near miss is worse than none, because it may actually be a
 * translation. */
#include "corpus/near_miss.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/utf8.h"
#include "text/unicode.h"

#include <string.h>

const char *const cq_miss_names[] = {"number", "name", "negation", "order", NULL};

enum { MAX_WORD = 24, MAX_NAME_WORDS = 3 };

typedef struct word {
  cq_slice all, core;   /* the word between blanks; from its first letter or digit to its last */
  char plain[MAX_WORD]; /* the core in lower case with straight apostrophes; "" if longer than any word in the rules */
} word;

typedef struct maker {
  cq_near_misses *out;
  cq_intern names;
  cq_slice sentence;
  word *words;
  size_t n, capacity;
  size_t *places; /* [capacity] words where a rule applies */
  size_t place_capacity;
  uint64_t seed;
  cq_random random;
  cq_builder text; /* the near miss */
} maker;

/* --- words --- */

static const char *end_of(cq_slice s) {
  return s.data + s.n;
}

static cq_slice between(const char *from, const char *to) {
  return (cq_slice){from, (size_t)(to - from)};
}

static cq_slice core_of(cq_slice all) {
  const char *from = end_of(all), *to = all.data;
  uint32_t code;
  for (size_t at = 0, step; at < all.n; at += step) {
    step = cq_utf8_decode(&code, all.data + at, all.n - at);
    if (!cq_char_is_letter(code) && !cq_char_is_number(code) && !cq_char_is_mark(code)) continue;
    if (from == end_of(all)) from = all.data + at;
    to = all.data + at + step;
  }
  return from < to ? between(from, to) : (cq_slice){all.data, 0};
}

static void make_plain(char out[MAX_WORD], cq_slice core) {
  size_t n = 0;
  for (size_t i = 0; i < core.n; i++) {
    if (n + 1 == MAX_WORD) {
      n = 0;
      break;
    }
    if (core.n - i >= 3 && !memcmp(core.data + i, "\xe2\x80\x99", 3))
      out[n++] = '\'', i += 2;
    else
      out[n++] = core.data[i] >= 'A' && core.data[i] <= 'Z' ? (char)(core.data[i] | 32) : core.data[i];
  }
  out[n] = '\0';
}

static bool split_words(maker *m, cq_slice sentence) {
  m->sentence = sentence;
  m->n = 0;
  for (const char *at = sentence.data, *end = end_of(sentence), *next; at < end; at = next) {
    while (at < end && cq_is_blank(*at)) at++;
    for (next = at; next < end && !cq_is_blank(*next);) next++;
    if (at == next) break;
    if (!cq_reserve((void **)&m->words, &m->capacity, m->n + 1, sizeof *m->words) ||
        !cq_reserve((void **)&m->places, &m->place_capacity, m->n + 1, sizeof *m->places))
      return false;
    word *w = &m->words[m->n++];
    w->all = between(at, next), w->core = core_of(w->all);
    make_plain(w->plain, w->core);
  }
  return true;
}

/* Lists are words with blanks between. Takes the first one off; false: it is empty. */
static bool next_listed(cq_slice *out, const char **list) {
  *out = (cq_slice){*list + strspn(*list, " "), 0};
  out->n = strcspn(out->data, " ");
  *list = end_of(*out);
  return out->n > 0;
}

static bool is_listed(cq_slice text, const char *list) {
  for (cq_slice other; next_listed(&other, &list);)
    if (cq_slice_equal(text, other)) return true;
  return false;
}

static bool is_one_of(const char *plain, const char *list) {
  return is_listed(cq_slice_of(plain), list);
}

static cq_slice head_of(const word *w) {
  return between(w->all.data, w->core.data);
}
static cq_slice tail_of(const word *w) {
  return between(end_of(w->core), end_of(w->all));
}

static bool begins_with_capital(cq_slice core) {
  uint32_t code = 0;
  if (core.n) cq_utf8_decode(&code, core.data, core.n);
  return cq_char_is_capital(code);
}

/* --- replacing --- */

static void put(maker *m, cq_slice s) {
  cq_builder_bytes(&m->text, s.data, s.n);
}

/* Adds the sentence with the bytes from..to replaced by text. */
static void replace_bytes(maker *m, const char *from, const char *to, cq_slice text) {
  put(m, between(m->sentence.data, from));
  put(m, text);
  put(m, between(to, end_of(m->sentence)));
}

/* The same, with a capital if there was one. */
static void replace_word(maker *m, cq_slice core, cq_slice text) {
  const size_t at = m->text.n + (size_t)(core.data - m->sentence.data);
  replace_bytes(m, core.data, end_of(core), text);
  if (begins_with_capital(core) && !m->text.failed && text.n && *text.data >= 'a' && *text.data <= 'z')
    m->text.data[at] = (char)(*text.data & ~32);
}

/* Another word from the list that contains this word; empty: no list does. */
static cq_slice another_of(maker *m, cq_slice text, const char *const *lists, size_t n_lists) {
  cq_slice other;
  for (size_t i = 0; i < n_lists; i++) {
    if (!is_listed(text, lists[i])) continue;
    size_t n = 0;
    for (const char *at = lists[i]; next_listed(&other, &at);) n++;
    uint64_t left = cq_random_below(&m->random, n - 1);
    for (const char *at = lists[i]; next_listed(&other, &at);)
      if (!cq_slice_equal(other, text) && left-- == 0) return other;
  }
  return (cq_slice){0};
}
#define COUNT(array) (sizeof(array) / sizeof *(array))

static const word *draw_place(maker *m, size_t n_places) {
  return &m->words[m->places[cq_random_below(&m->random, n_places)]];
}

/* --- numbers --- */

/* Without "one", which is a pronoun, too. */
static const char small_numbers[] = "two three four five six seven eight nine ten eleven twelve";
static const char teens[] = "thirteen fourteen fifteen sixteen seventeen eighteen nineteen";
static const char tens[] = "twenty thirty forty fifty sixty seventy eighty ninety";
static const char powers[] = "hundred thousand million billion";
static const char many_powers[] = "hundreds thousands millions billions";
static const char ordinals[] = "first second third fourth fifth sixth seventh eighth ninth tenth";
static const char shares[] = "half third quarter";
static const char *const number_lists[] = {small_numbers, teens, tens, powers, many_powers, ordinals, shares};

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* Digits, but no ordinal: 3rd would become 5rd. */
static size_t count_digits(const word *w) {
  size_t n = 0;
  for (size_t i = 0; i < w->core.n; i++) n += is_digit(w->core.data[i]);
  const size_t length = strlen(w->plain);
  static const char endings[] = "st nd rd th";
  return n && length > 2 && is_digit(w->plain[length - 3]) && is_one_of(w->plain + length - 2, endings) ? 0 : n;
}

static void miss_number(maker *m) {
  size_t n = 0;
  for (size_t i = 0; i < m->n; i++) {
    bool is_word = false;
    for (size_t k = 0; k < COUNT(number_lists); k++) is_word |= is_one_of(m->words[i].plain, number_lists[k]);
    if (is_word || count_digits(&m->words[i])) m->places[n++] = i;
  }
  if (!n) return;
  const word *w = draw_place(m, n);
  const size_t n_digits = count_digits(w);
  if (!n_digits) {
    replace_word(m, w->core, another_of(m, cq_slice_of(w->plain), number_lists, COUNT(number_lists)));
    return;
  }
  const char *at = w->core.data;
  for (size_t left = (size_t)cq_random_below(&m->random, n_digits); !is_digit(*at) || left; at++)
    if (is_digit(*at)) left--;
  const unsigned old = (unsigned)(*at - '0'), step = 1 + (unsigned)cq_random_below(&m->random, 8);
  const char digit[2] = {(char)('1' + (old ? (old - 1 + step) % 9 : step)), '\0'}; /* no 0, which may not begin */
  replace_bytes(m, at, at + 1, cq_slice_of(digit));
}

/* --- names --- */

static const char weekdays[] = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday";
static const char months[] = "January February March April May June July August September October November December";
static const char peoples[] =
    "American Arab British Chinese Dutch English French German Greek Indian Italian Turkish Polish Russian "
    "Spanish Arabic Swedish Portuguese Korean Japanese";
static const char *const name_lists[] = {weekdays, months, peoples};

/* Capitalized words that are not names, or are only part of one. */
static const char no_names[] = "i i'm i've i'd i'll mr mrs ms miss dr prof sir st no ok tv cd dvd pm am";

static bool ends_sentence(cq_slice tail) {
  for (size_t i = 0; i < tail.n; i++)
    if (strchr(".!?:;\"\xe2", tail.data[i])) return true; /* also a quotation mark or a dash of three bytes */
  return false;
}

/* A capital within a sentence. */
static bool is_name_word(const maker *m, size_t i) {
  const word *w = &m->words[i];
  return i > 0 && begins_with_capital(w->core) && w->core.n > 1 && !head_of(w).n &&
         !memchr(w->core.data, '.', w->core.n) && m->words[i - 1].core.n && !ends_sentence(tail_of(&m->words[i - 1])) &&
         !is_one_of(w->plain, no_names);
}

/* If most words are capitalized, capitals carry no information. */
static bool is_headline(const maker *m) {
  size_t n = 0;
  for (size_t i = 0; i < m->n; i++) n += begins_with_capital(m->words[i].core);
  return n > 4 && 2 * n > m->n;
}

static cq_slice without_possessive(cq_slice name) {
  if (name.n > 2 && !memcmp(end_of(name) - 2, "'s", 2)) name.n -= 2;
  if (name.n > 4 && !memcmp(end_of(name) - 4, "\xe2\x80\x99s", 4)) name.n -= 4;
  return name;
}

/* The name that begins at word i, and its number of words; {NULL}: no name, or a title of many words. */
static cq_slice name_at(size_t *n_words, const maker *m, size_t i) {
  size_t n = 1;
  while (i + n < m->n && !tail_of(&m->words[i + n - 1]).n && is_name_word(m, i + n)) n++;
  *n_words = n;
  if (n > MAX_NAME_WORDS) return (cq_slice){NULL, 0};
  return without_possessive(between(m->words[i].core.data, end_of(m->words[i + n - 1].core)));
}

static const char *list_of_name(cq_slice name) {
  for (size_t k = 0; k < COUNT(name_lists); k++)
    if (is_listed(name, name_lists[k])) return name_lists[k];
  return NULL;
}

static bool collect_names(maker *m) {
  if (is_headline(m)) return true;
  for (size_t i = 1, n; i < m->n; i += n) {
    n = 1;
    if (!is_name_word(m, i)) continue;
    const cq_slice name = name_at(&n, m, i);
    if (!name.n || list_of_name(name)) continue;
    if (cq_intern_put(&m->names, name) == CQ_INTERN_NONE) return false;
  }
  return true;
}

static size_t count_blanks(cq_slice s) {
  size_t n = 0;
  for (size_t i = 0; i < s.n; i++) n += s.data[i] == ' ';
  return n;
}

static bool sentence_has(const maker *m, cq_slice name) {
  for (size_t at = 0; at + name.n <= m->sentence.n; at++)
    if (!memcmp(m->sentence.data + at, name.data, name.n)) return true;
  return false;
}

/* A name with the same number of words that is not in the sentence, if a few random draws find one. */
static cq_slice another_name(maker *m, cq_slice name) {
  enum { N_DRAWS = 12 };
  cq_slice other = {NULL, 0};
  for (int i = 0; m->names.n && i < N_DRAWS; i++) {
    const cq_slice drawn = m->names.items[cq_random_below(&m->random, m->names.n)];
    if (sentence_has(m, drawn)) continue;
    other = drawn;
    if (count_blanks(drawn) == count_blanks(name)) break;
  }
  return other;
}

static void miss_name(maker *m) {
  size_t n = 0, n_words;
  if (is_headline(m)) return;
  for (size_t i = 1; i < m->n; i += n_words) {
    n_words = 1;
    if (is_name_word(m, i) && name_at(&n_words, m, i).n) m->places[n++] = i;
  }
  if (!n) return;
  const cq_slice name = name_at(&n_words, m, (size_t)(draw_place(m, n) - m->words));
  const char *list = list_of_name(name);
  const cq_slice other = list ? another_of(m, name, &list, 1) : another_name(m, name);
  if (!other.n) return;
  put(m, between(m->sentence.data, name.data));
  put(m, other);
  put(m, between(end_of(name), end_of(m->sentence)));
}

/* --- negation --- */

static const char subjects[] = "i you he she it we they there this that these those";
static const char question_words[] = "what why how when where who which";

/* Verbs that can be followed by "not", and their negative contractions. */
static const struct {
  const char *verb, *negated;
} auxiliaries[] = {
    {"is", "isn't"},       {"are", "aren't"},   {"was", "wasn't"},     {"were", "weren't"},     {"can", "can't"},
    {"could", "couldn't"}, {"will", "won't"},   {"would", "wouldn't"}, {"should", "shouldn't"}, {"must", "mustn't"},
    {"has", "hasn't"},     {"have", "haven't"}, {"had", "hadn't"},     {"do", "don't"},         {"does", "doesn't"},
    {"did", "didn't"},     {"am", NULL},        {"may", NULL},         {"might", NULL},         {"shall", NULL}};

/* "I'm", "we're": contractions that can be followed by "not". After any other word, 's may be a genitive. */
static const char contractions[] =
    "i'm you're we're they're he's she's it's that's there's i'll you'll he'll she'll it'll we'll they'll";

static const char negations[] = "no never nothing nobody hardly";

static const char participles[] =
    "been become begun brought come done found gone got had held kept left lost made met paid put read run said "
    "sent set sold told won";

/* In pairs. */
static const char antonyms[] =
    "always never more less good bad better worse best worst big small bigger smaller new old young elderly "
    "before after high low higher lower highest lowest increase decrease increases decreases increased decreased "
    "rise fall rises falls rose fell win lose wins loses winning losing with without many few everyone nobody "
    "everything nothing everywhere nowhere early late earlier later hot cold warm cool inside outside love hate "
    "loved hated buy sell bought sold accept reject accepted rejected agree disagree agreed disagreed possible "
    "impossible true false easy difficult strong weak rich poor happy sad alive dead opened closed remember "
    "forget full empty fast slow quickly slowly safe dangerous likely unlikely legal illegal major minor long "
    "short often rarely public private support oppose supported opposed succeeded failed success failure husband "
    "wife brother sister father mother son daughter man woman men women boy girl boys girls king queen north "
    "south northern southern east west eastern western war peace enemy friend enemies friends beginning end day "
    "night morning evening summer winter wet dry expensive cheap clean dirty black white";

/* Empty: none. */
static cq_slice antonym_of(const char *plain) {
  const cq_slice text = cq_slice_of(plain);
  const char *at = antonyms;
  for (cq_slice one, other; next_listed(&one, &at) && next_listed(&other, &at);)
    if (cq_slice_equal(text, one) || cq_slice_equal(text, other)) return cq_slice_equal(text, one) ? other : one;
  return (cq_slice){0};
}

static bool has_ending(const char *plain, const char *ending) {
  const size_t n = strlen(plain), m = strlen(ending);
  return n > m && !strcmp(plain + n - m, ending);
}

static const char *plain_at(const maker *m, size_t i) {
  return i < m->n ? m->words[i].plain : "";
}

/* Removes the first negation; false: none can be removed. */
static bool remove_negation(maker *m) {
  for (size_t i = 0; i < m->n; i++) {
    const word *w = &m->words[i];
    const size_t apostrophe = w->core.n > 5 && (unsigned char)w->core.data[w->core.n - 2] == 0x99 ? 3 : 1;
    if (!strcmp(w->plain, "not") && i > 0 && !head_of(w).n && strcmp(plain_at(m, i + 1), "only") != 0 &&
        strcmp(plain_at(m, i - 1), "or") != 0) {
      replace_bytes(m, end_of(m->words[i - 1].all), end_of(w->core), cq_slice_of(""));
    } else if (!strcmp(w->plain, "cannot")) {
      replace_bytes(m, end_of(w->core) - 3, end_of(w->core), cq_slice_of(""));
    } else if (!strcmp(w->plain, "can't")) {
      replace_bytes(m, end_of(w->core) - 1 - apostrophe, end_of(w->core), cq_slice_of(""));
    } else if (!strcmp(w->plain, "won't")) {
      replace_word(m, w->core, cq_slice_of("will"));
    } else if (has_ending(w->plain, "n't") && strcmp(w->plain, "ain't") != 0 && strcmp(w->plain, "shan't") != 0) {
      replace_bytes(m, end_of(w->core) - 2 - apostrophe, end_of(w->core), cq_slice_of(""));
    } else
      continue;
    return true;
  }
  return false;
}

/* Whether a form of "have" or "do" at word i is an auxiliary verb: only then can "not" follow. */
static bool helps(const maker *m, size_t i) {
  const char *verb = m->words[i].plain, *next = plain_at(m, i + 1);
  if (verb[0] == 'd') return (i == 0 || is_one_of(plain_at(m, i - 1), question_words)) && is_one_of(next, subjects);
  return has_ending(next, "ed") || has_ending(next, "en") || is_one_of(next, participles) ||
         (is_one_of(next, subjects) && (i == 0 || is_one_of(plain_at(m, i - 1), question_words)));
}

/* Negates the first auxiliary; false if there is none. In questions, uses a contraction ("can't"). */
static bool insert_negation(maker *m) {
  for (size_t i = 0; i < m->n; i++) {
    const word *w = &m->words[i];
    if (is_one_of(w->plain, contractions)) {
      replace_bytes(m, end_of(w->core), end_of(w->core), cq_slice_of(" not"));
      return true;
    }
    for (size_t k = 0; k < COUNT(auxiliaries); k++) {
      if (strcmp(w->plain, auxiliaries[k].verb) != 0) continue;
      if (is_one_of(plain_at(m, i + 1), negations)) break;
      if ((w->plain[0] == 'h' || w->plain[0] == 'd') && !helps(m, i)) break;
      if (i > 0 && begins_with_capital(w->core)) break; /* May, Will */
      const bool is_question = i == 0 || (!tail_of(w).n && is_one_of(plain_at(m, i + 1), subjects));
      if (is_question && !auxiliaries[k].negated) break;
      if (is_question)
        replace_word(m, w->core, cq_slice_of(auxiliaries[k].negated));
      else
        replace_bytes(m, end_of(w->core), end_of(w->core), cq_slice_of(strcmp(w->plain, "can") ? " not" : "not"));
      return true;
    }
  }
  return false;
}

static bool replace_by_antonym(maker *m) {
  size_t n = 0;
  for (size_t i = 0; i < m->n; i++)
    if (antonym_of(m->words[i].plain).n) m->places[n++] = i;
  if (!n) return false;
  const word *w = draw_place(m, n);
  replace_word(m, w->core, antonym_of(w->plain));
  return true;
}

static void miss_negation(maker *m) {
  if (remove_negation(m)) return;
  const bool antonym_first = cq_random_below(&m->random, 2);
  if (antonym_first && replace_by_antonym(m)) return;
  if (!insert_negation(m)) replace_by_antonym(m);
}

/* --- order --- */

/* Conjunctions whose clauses cannot be swapped without changing the meaning, unlike "and". */
static const char joining[] = "because although though unless";
static const char parts_of_joining[] = "as even just long only right shortly soon";
static const char joining_before_subject[] = "before after until if when while";

/* Words that begin sentences and are not names: not capitalized within a sentence. */
static const char beginnings[] =
    "a all an at every he her his if in it its it's he's she's many most my no on our she some that the their "
    "there these they this those we you your when";

static bool is_tail(const word *w, const char *tail) {
  return cq_slice_equal(tail_of(w), cq_slice_of(tail));
}

/* The position of the conjunction in a sentence with exactly two clauses; 0: none. */
static size_t find_joining(const maker *m) {
  enum { MIN_WORDS = 2 }; /* of a clause */
  size_t found = 0;
  if (m->n && memchr(m->words[m->n - 1].all.data, '?', m->words[m->n - 1].all.n)) return 0;
  for (size_t i = 0; i < m->n; i++) {
    const word *w = &m->words[i];
    if (head_of(w).n || !w->core.n || (i + 1 < m->n && tail_of(w).n && !is_tail(w, ","))) return 0;
    if (i < MIN_WORDS || i + MIN_WORDS >= m->n || tail_of(w).n || found) continue;
    const char *next = plain_at(m, i + 1);
    if (!tail_of(w - 1).n && is_one_of(w[-1].plain, parts_of_joining)) continue; /* "even though" */
    if ((is_one_of(w->plain, joining) && strcmp(next, "of") != 0) ||
        (is_one_of(w->plain, joining_before_subject) && is_one_of(next, subjects)) ||
        (!strcmp(w->plain, "but") && is_tail(&m->words[i - 1], ",")))
      found = i;
  }
  return found;
}

/* Appends bytes that begin with an ASCII letter, capitalized or not. */
static void put_as(maker *m, cq_slice s, bool capital) {
  const char first = s.n ? s.data[0] : '\0';
  const bool is_letter = (first | 32) >= 'a' && (first | 32) <= 'z';
  if (is_letter) cq_builder_char(&m->text, (char)(capital ? first & ~32 : first | 32));
  put(m, is_letter ? between(s.data + 1, end_of(s)) : s);
}

static void miss_order(maker *m) {
  const size_t at = find_joining(m);
  if (!at) return;
  const word *w = &m->words[at], *first = m->words, *before = w - 1, *last = m->words + m->n - 1;
  const cq_slice one = between(first->all.data, end_of(before->core)),
                 other = between(w[1].all.data, end_of(last->core));
  put_as(m, other, true);
  put(m, between(end_of(before->core), w[1].all.data)); /* the comma, the word, and the blanks around them */
  if (is_one_of(first->plain, beginnings))
    put_as(m, one, false);
  else
    put(m, one);
  put(m, between(end_of(last->core), end_of(m->sentence)));
}

/* --- all kinds --- */

static void (*const rules[CQ_N_MISSES])(maker *m) = {miss_number, miss_name, miss_negation, miss_order};

static bool keep_miss(maker *m, size_t of, cq_miss kind) {
  cq_near_misses *out = m->out;
  const char *text = cq_arena_strndup(&out->text, m->text.data, m->text.n);
  if (!text || !cq_reserve((void **)&out->items, &out->capacity, out->n + 1, sizeof *out->items)) return false;
  out->items[out->n++] = (cq_near_miss){{text, m->text.n}, (uint32_t)of, kind};
  return true;
}

static bool make_misses_of(maker *m, size_t of) {
  for (int kind = 0; kind < CQ_N_MISSES; kind++) {
    cq_builder_clear(&m->text);
    m->random = cq_random_seeded(m->seed, cq_hash64(m->sentence.data, m->sentence.n, (uint64_t)kind));
    rules[kind](m);
    if (m->text.failed) return false;
    if (m->text.n == 0 || cq_slice_equal((cq_slice){m->text.data, m->text.n}, m->sentence)) continue;
    if (!keep_miss(m, of, (cq_miss)kind)) return false;
  }
  return true;
}

cq_status cq_near_misses_make(cq_near_misses *out, const cq_slice *sentences, size_t n, uint64_t seed,
                              cq_error *error) {
  *out = (cq_near_misses){0};
  maker m = {.out = out, .seed = seed};
  bool ok = true;
  for (size_t i = 0; ok && i < n; i++) ok = split_words(&m, sentences[i]) && collect_names(&m);
  for (size_t i = 0; ok && i < n; i++) ok = split_words(&m, sentences[i]) && make_misses_of(&m, i);
  cq_builder_free(&m.text);
  cq_free(m.words);
  cq_free(m.places);
  cq_intern_free(&m.names);
  return ok ? CQ_OK : cq_fail_memory(error, "near misses");
}

void cq_near_misses_free(cq_near_misses *misses) {
  cq_free(misses->items);
  cq_arena_free(&misses->text);
  *misses = (cq_near_misses){0};
}
