/* Trains a SentencePiece vocabulary with libsentencepiece, in XLM-R's layout.
 *
 * Two measures make the result depend only on text and options: the sample is drawn here (the library would seed its
 * own from the system), and the library always runs the same number of threads, which its sums depend on. */
#include "token/tokenizer_files.h"

#include "base/error.h"
#include "base/file.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "base/temporary.h"
#include "base/utf8.h"
#include "text/unicode.h"
#include "token/model_proto.h"
#include "token/rules.h"
#include "token/sentencepiece_shim.h"
#include "token/word_marks.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define N_THREADS "8"
enum { MAX_SENTENCE_BYTES = 1 << 16 };
/* The trainer's threads abort the process if memory runs out, so it starts only if there is room for its stacks and
 * arenas, and for its data per byte of text (25 bytes were measured). */
#define TRAINER_BYTES          ((size_t)320 << 20)
#define TRAINER_BYTES_PER_BYTE 64

/* The source of sentences: the caller's function, or the sample drawn from it. */
typedef struct source {
  bool (*next)(void *context, cq_slice *sentence);
  void *context;
  uint64_t max_sentences, n_seen;
  cq_slice *sample; /* owned texts */
  size_t n, at;
  cq_word_marks marks;
  size_t n_bytes; /* handed over */
  bool any;       /* a sentence has been handed over */
  bool no_room;
} source;

/* The caller's next usable sentence: not empty, UTF-8, within the trainer's limit in bytes. */
static bool next_usable(source *s, cq_slice *sentence) {
  while (s->next(s->context, sentence)) {
    if (sentence->n == 0 || cq_utf8_invalid_at(sentence->data, sentence->n) != sentence->n) continue;
    if (sentence->n > MAX_SENTENCE_BYTES) { /* keep the beginning: the vocabulary does not need the rest */
      sentence->n = cq_utf8_begin(sentence->data, MAX_SENTENCE_BYTES + 1);
    }
    return true;
  }
  return false;
}

/* Algorithm R: each sentence has the same probability, in one pass. Source: Vitter 1985. */
static bool draw_sample(source *s) {
  cq_random random = cq_random_seeded(0x5EED, 0);
  size_t capacity = 0;
  cq_slice sentence;
  while (next_usable(s, &sentence)) {
    uint64_t place = s->n_seen++;
    if (place >= s->max_sentences) {
      place = cq_random_below(&random, s->n_seen);
      if (place >= s->max_sentences) continue;
    }
    char *copy = cq_strndup(sentence.data, sentence.n);
    if (!copy) return false;
    if (place < s->n) {
      cq_free((void *)s->sample[place].data);
    } else if (!cq_reserve((void **)&s->sample, &capacity, s->n + 1, sizeof *s->sample)) {
      cq_free(copy);
      return false;
    } else {
      s->n++;
    }
    s->sample[place] = (cq_slice){copy, sentence.n};
  }
  return true;
}

static int next_training_sentence(void *context, const char **text, size_t *n) {
  source *s = context;
  cq_slice sentence;
  const bool more = s->max_sentences ? s->at < s->n : next_usable(s, &sentence);
  if (!more) {
    s->no_room = !cq_has_room(TRAINER_BYTES + TRAINER_BYTES_PER_BYTE * s->n_bytes);
    return s->no_room ? -1 : 0;
  }
  if (s->max_sentences) sentence = s->sample[s->at++];
  if ((s->no_room = !cq_word_marks_set(&s->marks, &sentence))) return -1;
  *text = sentence.data;
  *n = sentence.n;
  s->n_bytes += sentence.n;
  s->any = true;
  return 1;
}

/* SentencePiece's message without its source line and condition: "trainer.cc(660) [a == b] Vocabulary size too high
 * ...". */
static const char *own_message(const char *message) {
  const char *end = strstr(message, "] ");
  return end ? end + 2 : message;
}

/* "... Vocabulary size too high (32000). Please set it to a value <= 26378.": returns that number plus two added
 * tokens, minus the mark. 0: another message. */
static int largest_vocabulary(const char *message) {
  const char *number = strstr(message, "Vocabulary size too high");
  number = number ? strstr(number, "<= ") : NULL;
  const long n = number ? strtol(number + 3, NULL, 10) : 0;
  return n > 0 && n < 1 << 22 ? (int)n + 1 : 0;
}

/* Writes the rules to a temporary file for the trainer: *path, to be released with cq_temporary_release. */
static cq_status write_rules(char **path, const char *base, cq_error *error) {
  char place[4096];
  cq_builder text = {0};
  cq_status status = cq_path_join(place, sizeof place, cq_temporary_directory(), "calque-rules", error);
  if (!status) cq_remove_leftovers(place);
  if (!status) status = cq_rules_with_variants(&text, base, error);
  if (!status && !(*path = cq_temporary_name(place))) status = cq_fail_memory(error, "a name");
  if (!status) status = cq_file_write(*path, text.data, text.n, error);
  cq_builder_free(&text);
  return status;
}

/* The estimated frequency of a piece of an old vocabulary: pieces are ordered by frequency, which follows Zipf's law.
 * 10 is about the sum of 1 / (rank + 3) over a vocabulary. */
static float score_by_rank(int64_t rank) {
  return (float)-log(10 * ((double)rank + 3));
}

/* Adds the old vocabulary's words that the model lacks, so that text in its language is still split the same way. */
static cq_status keep_words(char **model, size_t *n_bytes, const cq_tokenizer *old, bool lowercase, cq_error *error) {
  cq_sp_model m;
  cq_map pieces = {0};
  cq_builder bytes = {0}, key = {0};
  bool ok = true;
  cq_status status = cq_sp_model_read(&m, (cq_slice){*model, *n_bytes}, "vocabulary", error);
  if (status) return status;
  cq_builder_bytes(&bytes, *model, *n_bytes);
  for (size_t i = 0; ok && i < m.n; i++) ok = cq_map_put_borrowed(&pieces, m.pieces[i].text, 1);
  for (int32_t id = 0, rank = 0; ok && id < cq_tokenizer_describe(old)->vocab_size; id++) {
    cq_slice text;
    cq_piece_kind kind;
    if (!cq_tokenizer_piece(&text, &kind, old, id) || kind != CQ_PIECE_START || text.n == 0) continue;
    rank++;
    cq_builder_clear(&key);
    cq_builder_text(&key, "\xe2\x96\x81");
    if (lowercase)
      cq_text_lower(&key, text);
    else
      cq_builder_bytes(&key, text.data, text.n);
    const cq_slice piece = {key.data, key.n};
    ok = !key.failed;
    if (!ok || cq_map_get(&pieces, piece) != CQ_MAP_NONE) continue;
    ok = cq_map_put(&pieces, piece, 1);
    cq_sp_model_append_piece(&bytes, piece, score_by_rank(rank));
  }
  cq_sp_model_free(&m);
  cq_map_free(&pieces);
  cq_builder_free(&key);
  if (ok && !bytes.failed) {
    free(*model);
    *model = malloc(bytes.n);
    if ((ok = *model != NULL)) memcpy(*model, bytes.data, *n_bytes = bytes.n);
  }
  if (!ok || bytes.failed) status = cq_fail_memory(error, "vocabulary");
  cq_builder_free(&bytes);
  return status;
}

static cq_status check_training(const cq_sentencepiece_training *o, cq_error *error) {
  if (o->vocab_size < 6 || o->vocab_size > 1 << 22)
    return cq_fail(error, CQ_ERR_ARGUMENT, "vocab_size is %d, expected 6 to %d", o->vocab_size, 1 << 22);
  if (!(o->character_coverage > 0 && o->character_coverage <= 1))
    return cq_fail(error, CQ_ERR_ARGUMENT, "character_coverage is %g, expected more than 0 and at most 1",
                   o->character_coverage);
  return CQ_OK;
}

/* Runs SentencePiece's trainer. rules: a file of normalization rules; NULL: the library's own, base. */
static cq_status run_trainer(char **model, size_t *n_bytes, int *largest, source *s, const char *base,
                             const char *rules, const cq_sentencepiece_training *o, cq_error *error) {
  char size[16], coverage[32], longest[16], message[512] = "";
  /* <pad> and <mask> are not in the file, and the word mark is removed from it. */
  snprintf(size, sizeof size, "%d", o->vocab_size - 1);
  cq_snprintf(coverage, sizeof coverage, "%.10g", o->character_coverage);
  /* A mark may follow each byte. */
  snprintf(longest, sizeof longest, "%d", MAX_SENTENCE_BYTES * (int)sizeof CQ_WORD_MARK + 1);
  const char *rules_key = rules ? "normalization_rule_tsv" : "normalization_rule_name";
  const char *keys[] = {"vocab_size",  "model_type",          "character_coverage",     rules_key,
                        "num_threads", "max_sentence_length", "shuffle_input_sentence", "user_defined_symbols",
                        "minloglevel"};
  const char *values[] = {
      size, o->bpe ? "bpe" : "unigram", coverage, rules ? rules : base, N_THREADS, longest, "false", CQ_WORD_MARK, "4"};
  const int failed = cq_sp_train(model, n_bytes, keys, values, sizeof keys / sizeof *keys, next_training_sentence, s,
                                 message, sizeof message);
  *largest = largest_vocabulary(message);
  if (!failed) return CQ_OK;
  if (s->no_room) return cq_fail_memory(error, "SentencePiece's trainer");
  return cq_fail(error, CQ_ERR_ARGUMENT,
                 "cannot train a vocabulary of %d pieces (%d to SentencePiece, without <pad> and <mask>, with a mark "
                 "between words): %s",
                 o->vocab_size, o->vocab_size - 1, s->any ? own_message(message) : "no usable sentence");
}

/* Trains on the source, or on a sample of it. */
static cq_status train_on_source(char **model, size_t *n_bytes, int *largest, source *s,
                                 const cq_sentencepiece_training *o, cq_error *error) {
  const char *base = o->lowercase ? "nmt_nfkc_cf" : "nmt_nfkc";
  char *rules = NULL;
  cq_status status = o->fold_variants ? write_rules(&rules, base, error) : CQ_OK;
  if (!status) status = cq_word_marks_open(&s->marks, error);
  if (!status && s->max_sentences && !draw_sample(s)) status = cq_fail_memory(error, "a sample of sentences");
  if (!status) status = run_trainer(model, n_bytes, largest, s, base, rules, o, error);
  if (rules) unlink(rules);
  cq_temporary_release(rules);
  for (size_t i = 0; i < s->n; i++) cq_free((void *)s->sample[i].data);
  cq_free(s->sample);
  cq_word_marks_close(&s->marks);
  return status;
}

/* A tokenizer from a model's bytes. It keeps a copy, to be saved as if it had been opened from that file. */
/* The normalizer reads text as it is typed. tokenizer.json says so; the SentencePiece model beside it, which has no room for
 * that, gives the same ids for composed text. */
static cq_status read_as_typed(cq_tokenizer *t, cq_error *error) {
  const cq_place place = {"tokenizer.json", "normalizer"};
  json_t *typed = cq_typed_text_normalizer(json_object_get(t->document, "normalizer"), false);
  cq_json_set(&t->document, "normalizer", typed);
  if (!typed || !t->document) return cq_fail_memory(error, "tokenizer document");
  t->config_class = "PreTrainedTokenizerFast"; /* XLM-R's class would replace the normalizer */
  cq_normalizers_free(&t->normalizers);
  t->normalizers = (cq_normalizers){0};
  return cq_normalizers_parse(&t->normalizers, &t->arena, typed, &place, error);
}

static cq_status open_trained(cq_tokenizer **out, const char *model, size_t n_bytes, cq_error *error) {
  static const char file[] = "sentencepiece.bpe.model";
  cq_status status;
  cq_tokenizer *t = cq_tokenizer_new();
  char *bytes = cq_strndup(model, n_bytes), *name = cq_strdup(file);
  if (t && bytes && name && cq_reserve((void **)&t->files, &t->file_capacity, 1, sizeof *t->files)) {
    t->files[t->n_files++] = (cq_origin_file){name, {bytes, n_bytes}, {NULL, 0}};
    status = cq_sentencepiece_assemble(t, t->files[0].bytes, &(cq_naming){.kind = CQ_CLASS_XLMR}, file, error);
    if (!status) status = read_as_typed(t, error);
    if (!status) status = cq_tokenizer_finish(t, NULL, "tokenizer_config.json", error);
  } else {
    cq_free(bytes);
    cq_free(name);
    status = cq_fail_memory(error, "tokenizer");
  }
  if (status) cq_tokenizer_free(t);
  if (!status) *out = t;
  return status;
}

cq_status cq_tokenizer_train_sentencepiece(cq_tokenizer **out, int *largest,
                                           bool (*next)(void *context, cq_slice *sentence), void *context,
                                           const cq_sentencepiece_training *options, cq_error *error) {
  source s = {.next = next, .context = context, .max_sentences = options->max_sentences};
  char *model = NULL;
  size_t n_bytes = 0;
  *out = NULL, *largest = 0;
  cq_status status = check_training(options, error);
  if (!status) status = train_on_source(&model, &n_bytes, largest, &s, options, error);
  if (!status) status = cq_sp_model_drop_piece(model, &n_bytes, cq_slice_of(CQ_WORD_MARK), error);
  if (!status) status = cq_sp_model_drop_rules_name(model, &n_bytes, error);
  if (!status && options->keep && !options->bpe)
    status = keep_words(&model, &n_bytes, options->keep, options->lowercase, error);
  if (!status) status = open_trained(out, model, n_bytes, error);
  free(model);
  return status;
}
