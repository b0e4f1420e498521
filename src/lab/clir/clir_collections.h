/* The collections' internals. */
#ifndef LAB_CLIR_CLIR_COLLECTIONS_H
#define LAB_CLIR_CLIR_COLLECTIONS_H

#include "base/options.h"
#include "calque/lab/clir.h"
#include "format/collection.h"
#include "lab/clir/shuffle.h"
#include "lab/retrieval/trec.h"
#include "words/words_corpus.h"

extern const cq_option_group cq_group_clir, cq_group_clir_cognates, cq_group_clir_folds, cq_group_clir_sources,
    cq_group_clir_validation;

typedef struct cq_clir_side {
  char *code;
  cq_lexical *index;                /* its documents in the same order as here */
  cq_u32_array words;               /* of all documents, then of all topics, as word numbers of the shared vocabulary */
  cq_word_run *documents, *queries; /* [n_documents], [n_topics] runs of words */
  size_t n_documents;
  cq_intern plain_words; /* the same without stems, in the language's own vocabulary */
  cq_u32_array plain;
  cq_word_run *plain_documents, *plain_queries;
  cq_u32_array joined; /* [n, 3] plain words that were joined, with the first and last word of each */
  int script;          /* of most plain words */
  cq_slice *spellings; /* [plain words] in Latin letters, or as they are */
  cq_judgements judgements;
  size_t *first_judgement; /* [n_topics] and how many each has */
  size_t *n_judgements;
  uint32_t **relevant; /* [n_topics][n_relevant] documents */
  size_t *n_relevant;
  bool *has; /* [vocabulary] which words its documents have */
} cq_clir_side;

struct cq_clir {
  cq_intern words; /* of all languages */
  cq_clir_side *sides;
  size_t n;
  cq_slice *topics; /* [n_topics] numbers */
  size_t n_topics;
  cq_clir_info about;
  cq_arena text;
};

/* In scripts without spaces, up to this many plain words are joined into one. */
enum { CQ_CLIR_MAX_JOINED = 5 };

/* Finds the script of a side's plain words and their spellings. Errors: CQ_ERR_MEMORY, CQ_ERR_UNSUPPORTED. */
CQ_MUST_USE cq_status cq_clir_spell(cq_clir *clir, cq_clir_side *side, cq_error *error);

/* Errors: CQ_ERR_ARGUMENT for an unknown language. */
CQ_MUST_USE cq_status cq_clir_side_of(const cq_clir_side **out, const cq_clir *clir, const char *code, cq_error *error);

/* [n_topics, k] hits, initially none, for the caller to cq_free(); NULL: out of memory. */
cq_lexical_hit *cq_clir_hits(const cq_clir *clir, size_t k);

/* A topic's query in a language, for that language's index. False: out of memory. */
CQ_MUST_USE bool cq_clir_own_query(cq_lexical_query *out, const cq_clir *clir, const cq_clir_side *side, size_t topic);

#endif
