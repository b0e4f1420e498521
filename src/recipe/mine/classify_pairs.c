/* Scores mined pairs by a classifier instead of margins. See classify_pairs.h. */
#include "recipe/mine/classify_pairs.h"

#include "base/error.h"
#include "recipe/mine/mining.h"
#include "recipe/mine/pair_features.h"
#include "search/search_options.h"

#include <stdlib.h>
#include <string.h>

bool cq_classifies_pairs(const cq_mine_options *o) {
  return o->learn_from || o->classifier;
}

static void tell_differences(const cq_classifying *c, const cq_mine_options *o) {
  const cq_pair_classifier *known = &c->classifier;
  if (strcmp(known->model, c->model) != 0) CQ_NOTIFY(o, "%s was trained with another model", o->classifier);
  if (known->k != o->k) CQ_NOTIFY(o, "%s was trained with -k %zu, not %zu", o->classifier, known->k, o->k);
}

cq_status cq_classifying_open(cq_classifying *c, const cq_mining *m, const cq_mine_options *o, cq_error *error) {
  cq_encoder_options options = cq_encoder_default_options();
  options.precision = o->precision;
  cq_status status = CQ_OK;
  if (o->learn_from) status = cq_gold_pairs_read(&c->gold, m, o->learn_from, error);
  if (!status && o->classifier)
    status = cq_pair_classifier_read(&c->classifier, o->classifier, o->margin->margin, error);
  if (!status) status = cq_encoder_open(&c->encoder, o->model, &options, error);
  if (!status) status = cq_encoder_fingerprint(c->model, c->encoder, error);
  if (!status && o->classifier) tell_differences(c, o);
  return status;
}

void cq_classifying_close(cq_classifying *c) {
  cq_gold_pairs_free(&c->gold);
  cq_encoder_free(c->encoder);
}

/* Keeps the best pairs above the threshold, as long as their mean probability is at least min_precision. */
static void keep_probable(cq_mining *m, const cq_mine_options *o) {
  double sum = 0;
  size_t n = 0;
  for (; n < m->n_pairs && m->pairs[n].score >= o->margin->threshold; n++) {
    if (sum + m->pairs[n].score < o->min_precision * (double)(n + 1)) break;
    sum += m->pairs[n].score;
  }
  m->n_pairs = n;
  if (m->n_pairs == 0)
    CQ_NOTIFY(o, "no pair is probable enough");
  else
    CQ_NOTIFY(o, "%zu pair%s of probability %.4g or more, with a mean of %.2f", m->n_pairs, m->n_pairs == 1 ? "" : "s",
              m->pairs[m->n_pairs - 1].score, sum / (double)m->n_pairs);
}

cq_status cq_classify_pairs(cq_mining *m, cq_classifying *c, const cq_mine_options *o, cq_context *ctx,
                            cq_error *error) {
  float *features = NULL;
  cq_status status = m->n_pairs ? cq_pair_features(&features, m, c->encoder, ctx, error) : CQ_OK;
  if (!status && o->learn_from)
    status =
        cq_pair_classifier_learn(&c->classifier, m, features, &c->gold, o->leave_out, o->margin->margin, ctx, error);
  if (o->learn_from) {
    c->classifier.k = o->k;
    memcpy(c->classifier.model, c->model, sizeof c->model);
  }
  if (!status && o->learn_from)
    CQ_NOTIFY(o, "trained on %zu pairs, of which %zu are translations", c->classifier.n, c->classifier.n_right);
  if (!status && o->save_classifier) status = cq_pair_classifier_write(&c->classifier, o->save_classifier, error);
  for (size_t i = 0; !status && i < m->n_pairs; i++)
    m->pairs[i].score = cq_pair_classifier_score(&c->classifier, features + i * CQ_N_PAIR_FEATURES);
  cq_free(features);
  if (status) return status;
  if (m->n_pairs) qsort(m->pairs, m->n_pairs, sizeof *m->pairs, cq_mined_by_score);
  keep_probable(m, o);
  return CQ_OK;
}
