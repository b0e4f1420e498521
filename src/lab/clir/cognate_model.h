/* The model learned by cognate_model.c and used by cognate_search.c. */
#ifndef LAB_CLIR_COGNATE_MODEL_H
#define LAB_CLIR_COGNATE_MODEL_H

#include "lab/clir/bags.h"
#include "lab/clir/clir_collections.h"

struct cq_clir_cognates {
  const cq_clir *clir;
  const cq_clir_side *from, *to;
  cq_cognate_options o;
  cq_word_table table; /* plain words */
  cq_bags from_plain, from_stems, to_stems;
  cq_bags projected; /* documents of `to` in plain words of `from` */
  double *idf;       /* [plain words of from] for similar documents; 0 for words that the projection lacks */
  double contrast, chance;
  bool is_learned; /* false: the table has words with the same Latin spelling */
};

#endif
