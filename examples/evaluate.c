/* Prints how often a model finds a sentence's translation among all translations of a file, both ways.
 *   evaluate multilingual test/en-de.tsv.gz test/en-ru.tsv.gz */
#include <calque/calque.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  cq_error error = {0};
  cq_encoder *encoder = NULL;
  cq_context *ctx = NULL;
  if (argc < 3) return fprintf(stderr, "usage: %s MODEL TSV...\n", argv[0]), 2;

  cq_status status = cq_encoder_open(&encoder, argv[1], NULL, &error);
  if (!status) status = cq_context_open(&ctx, 0, &error); /* a thread for each processor */

  for (int i = 2; i < argc && !status; i++) {
    cq_translation_result r;
    status = cq_eval_translation(&r, encoder, argv[i], NULL, ctx, &error);
    if (!status)
      printf("%s: %.1f %% forward, %.1f %% back, by chance %.2f %%\n", argv[i], 100 * r.source_to_target,
             100 * r.target_to_source, 100 / (double)r.n);
  }
  if (status) fprintf(stderr, "%s\n", error.message);
  cq_context_free(ctx);
  cq_encoder_free(encoder);
  return status ? EXIT_FAILURE : EXIT_SUCCESS;
}
