/* Encodes a few sentences and prints how similar each is to the first.
 *   encode_and_compare all-MiniLM-L6-v2 */
#include <calque/calque.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
  const char *texts[] = {"The dog sleeps.", "The dog is asleep.", "Der Hund schläft.", "The train is late."};
  enum { N = sizeof texts / sizeof *texts };
  cq_slice sentences[N];
  cq_error error = {0};
  cq_encoder *encoder = NULL;
  float *vectors = NULL;
  int code = EXIT_FAILURE;

  if (argc != 2) return fprintf(stderr, "usage: %s MODEL\n", argv[0]), 2;
  if (cq_encoder_open(&encoder, argv[1], NULL, &error)) goto done;

  size_t dim = (size_t)cq_encoder_dim(encoder);
  vectors = calloc(N * dim, sizeof *vectors);
  for (int i = 0; i < N; i++) sentences[i] = (cq_slice){texts[i], strlen(texts[i])};
  if (!vectors || cq_encoder_encode(vectors, NULL, encoder, sentences, N, NULL, NULL, &error)) goto done;

  for (int i = 0; i < N; i++) printf("%6.3f  %s\n", cq_cosine(vectors, vectors + (size_t)i * dim, dim), texts[i]);
  code = EXIT_SUCCESS;
done:
  if (code) fprintf(stderr, "%s\n", error.message[0] ? error.message : "out of memory");
  free(vectors);
  cq_encoder_free(encoder);
  return code;
}
