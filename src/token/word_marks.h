/* Word boundaries for the training of a vocabulary, in text whose script has no spaces (Chinese, Japanese, Thai, Lao,
 * Khmer, Burmese). Without them, SentencePiece's trainer makes pieces of whole phrases ("this is", "of the"), each too
 * rare to learn: docs/notes/2026-11-choices.md, "Pieces across words". ICU's dictionaries define the words. Three or
 * more one-character words in a row are not divided: most are names, which the dictionaries lack. */
#ifndef TOKEN_WORD_MARKS_H
#define TOKEN_WORD_MARKS_H

#include "base/slice.h"
#include "calque/status.h"
#include "text/splitter.h"

/* The mark between two words: a private-use character that the trainer must not merge. */
#define CQ_WORD_MARK "\xee\x80\x80"

typedef struct cq_word_marks {
  cq_splitter splitter; /* private */
  cq_builder text;
} cq_word_marks;

/* *out is {0} after an error. */
CQ_MUST_USE cq_status cq_word_marks_open(cq_word_marks *out, cq_error *error);
/* Puts a mark between adjacent words in *text, valid until the next call; unchanged if all scripts use spaces. False
 * when out of memory. */
CQ_MUST_USE bool cq_word_marks_set(cq_word_marks *marks, cq_slice *text);
void cq_word_marks_close(cq_word_marks *marks);

#endif
