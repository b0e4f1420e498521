/* libsentencepiece's trainer (C++), for C. model_proto.h reads its models and explains why. */
#ifndef TOKEN_SENTENCEPIECE_SHIM_H
#define TOKEN_SENTENCEPIECE_SHIM_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Trains with the given options ("vocab_size" = "8000", ...) on the sentences of next: 1 and a sentence, 0 at the end,
 * -1 if out of memory. Returns 0 and the model's bytes (release with free), or 1 and its message. */
int cq_sp_train(char **model, size_t *n_bytes, const char *const *keys, const char *const *values, size_t n_options,
                int (*next)(void *context, const char **text, size_t *n), void *context, char *message,
                size_t message_size);

#ifdef __cplusplus
}
#endif
#endif
