/* The interface to MeCab, which splits Japanese into words: a table of functions in a separate library (src/mecab/),
 * which is loaded when a tokenizer first needs it.
 *
 * Functions that may fail return 0, or 1 with a reason in message [message_size]. */
#ifndef TOKEN_MECAB_PLUGIN_H
#define TOKEN_MECAB_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CQ_MECAB_PLUGIN_VERSION = 1 };

typedef struct cq_mecab_plugin {
  int version; /* CQ_MECAB_PLUGIN_VERSION */
  /* Opens the dictionary that MeCab's options [n_options] name. Only dictionaries in UTF-8 are opened.
   *   n_contexts  its number of left contexts, which differs from dictionary to dictionary */
  int (*open)(void **out, unsigned *n_contexts, const char *const *options, int n_options, char *message,
              size_t message_size);
  /* Calls put for the bytes of each word, in order, until it returns false. Any number of threads may split at once. */
  int (*split)(const void *dictionary, const char *text, size_t n, bool (*put)(void *context, size_t start, size_t end),
               void *context, char *message, size_t message_size);
  void (*free)(void *dictionary);
} cq_mecab_plugin;

#ifdef __cplusplus
}
#endif
#endif
