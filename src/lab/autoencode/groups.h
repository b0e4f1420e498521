/* Training and evaluation data for autoencoders: text in one or two languages, grouped by languages.
 *
 *   fr,it=a.tsv  fr,it=b.tsv  ,it=c.tsv   ->   group fr-it: a, b    group it: c      a batch is from one group */
#ifndef LAB_AUTOENCODE_GROUPS_H
#define LAB_AUTOENCODE_GROUPS_H

#include "calque/lab/autoencode.h"
#include "lab/autoencode/autoencoder_step.h"
#include "train/sampler.h"

typedef struct cq_text_group {
  int language[2]; /* indices into the codes; the second -1: text in one language */
  cq_parallel text;
  cq_sampler sampler;
  bool in_use; /* used in the current stage; no batches are drawn from other groups */
} cq_text_group;

typedef struct cq_text_groups {
  cq_text_group *items;
  size_t n, capacity;
} cq_text_groups;

typedef struct cq_autoencode_data {
  cq_text_groups train, dev;
  uint64_t *drawn; /* [train.n] number of batches drawn from each group: part of a run's state */
  cq_pair *pairs;  /* [batch_pairs] */
  cq_slice *sentences[2];
} cq_autoencode_data;

/* -1: no group has that name, or name is NULL. */
int cq_name_index(const char *const *names, size_t n, const char *name);

/* Called for each file after reading; an error ends the loading. */
typedef cq_status (*cq_autoencode_told)(void *context, size_t file, const char *summary, cq_error *error);

/* codes [n_codes]: all languages in the options. Errors: cq_parallel_add's, those of `told`. */
CQ_MUST_USE cq_status cq_autoencode_data_load(cq_autoencode_data *out, const cq_autoencode_options *options,
                                              const char *const *codes, size_t n_codes, cq_autoencode_told told,
                                              void *context, cq_error *error);
void cq_autoencode_data_free(cq_autoencode_data *data); /* legal on {0} */
/* Over all groups in use. */
uint64_t cq_autoencode_data_pairs(const cq_autoencode_data *data);

/* The batch of step `step` of the whole run: from a random group in use, drawn in proportion to its pairs, the next n
 * pairs. The batch is valid until the next call. */
void cq_autoencode_data_draw(cq_autoencoder_batch *out, cq_autoencode_data *data, uint64_t seed, uint64_t step,
                             size_t n);

/* All distinct sources and all targets in a language, one by one, for its vocabulary: *context {data, language}. */
typedef struct cq_language_text {
  const cq_autoencode_data *data;
  int language;
  size_t group, side, at;
} cq_language_text;
bool cq_language_text_next(void *context, cq_slice *sentence);

#endif
