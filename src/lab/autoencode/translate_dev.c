/* Translates a held-out set and evaluates the translations. See translate_dev.h. */
#include "lab/autoencode/translate_dev.h"

#include "base/error.h"
#include "base/memory.h"
#include "calque/lab/mt.h"

#include <stdlib.h>

const char *const cq_autoencode_measures[CQ_AUTOENCODE_N_MEASURES + 1] = {
    [CQ_AUTOENCODE_BLEU] = "bleu", [CQ_AUTOENCODE_CHRF] = "chrf", [CQ_AUTOENCODE_METEOR] = "meteor"};

static cq_status score_translations(double scores[CQ_AUTOENCODE_N_MEASURES], const cq_mt_texts *texts,
                                    cq_error *error) {
  const cq_chrf_options chrf = cq_chrf_default_options();
  const cq_meteor_options exact = cq_meteor_default_options();
  cq_bleu_result bleu;
  cq_meteor_result meteor;
  cq_status status = cq_bleu(&bleu, NULL, texts, NULL, error);
  if (!status) status = cq_chrf(&scores[CQ_AUTOENCODE_CHRF], NULL, texts, &chrf, error);
  if (!status) status = cq_meteor(&meteor, NULL, texts, &exact, error);
  if (status) return status;
  scores[CQ_AUTOENCODE_BLEU] = bleu.score;
  scores[CQ_AUTOENCODE_METEOR] = meteor.score;
  return CQ_OK;
}

cq_status cq_autoencode_measure_direction(double scores[CQ_AUTOENCODE_N_MEASURES], const cq_autoencoder *model,
                                          const char *const *codes, const cq_text_group *group, bool back,
                                          int max_tokens, cq_context *ctx, cq_error *error) {
  const cq_parallel *dev = &group->text;
  const size_t n = dev->n_entries;
  const char *first = codes[group->language[0]], *second = codes[group->language[1]];
  cq_translate_options greedy = cq_translate_default_options();
  greedy.beam = 1, greedy.max_tokens = max_tokens;
  cq_slice *sources = cq_alloc_array(n, sizeof *sources), *references = cq_alloc_array(n, sizeof *references),
           *hypotheses = cq_alloc_array(n, sizeof *hypotheses);
  char **out = cq_alloc_array_zeroed(n, sizeof *out);
  cq_status status = sources && references && hypotheses && out ? CQ_OK : cq_fail_memory(error, "dev sentences");
  for (size_t i = 0; !status && i < n; i++) {
    const cq_slice source = dev->sources[dev->entries[i].source], target = dev->targets[dev->entries[i].first_target];
    sources[i] = back ? target : source;
    references[i] = back ? source : target;
  }
  if (!status)
    status = cq_autoencoder_translate(out, NULL, model, back ? second : first, back ? first : second, sources, n,
                                      &greedy, ctx, error);
  for (size_t i = 0; !status && i < n; i++) hypotheses[i] = cq_slice_of(out[i]);
  const cq_mt_texts texts = {hypotheses, (const cq_slice *const[]){references}, n, 1};
  if (!status) status = score_translations(scores, &texts, error);
  for (size_t i = 0; out && i < n; i++) cq_free(out[i]);
  cq_free(sources);
  cq_free(references);
  cq_free(hypotheses);
  cq_free(out);
  return status;
}
