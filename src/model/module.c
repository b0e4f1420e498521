/* The table of modules, and opening a list of modules. See module.h. */
#include "model/module.h"

#include "base/error.h"
#include "calque/options.h"

#include <string.h>

/* One row a type. */
static const cq_module_type *const types[] = {
    &cq_transformer_type,     &cq_pooling_type,         &cq_dense_type,      &cq_normalize_type,
    &cq_static_type,          &cq_word_embeddings_type, &cq_lstm_type,       &cq_cnn_type,
    &cq_weighted_layers_type, &cq_dropout_type,         &cq_layer_norm_type,
};

const cq_module_type *cq_module_type_find(const char *type) {
  /* Published models have sentence_transformers.models.Pooling, newer ones
   * sentence_transformers.sentence_transformer.modules.pooling.Pooling. Classes of other packages are not accepted. */
  static const char package[] = "sentence_transformers.";
  /* A Transformer with custom code that chooses an adapter (jina-embeddings-v3). */
  if (strcmp(type, "custom_st.Transformer") == 0) return &cq_transformer_type;
  if (strncmp(type, package, sizeof package - 1) != 0) return NULL;
  const char *last = strrchr(type, '.') + 1;
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (strcmp(types[i]->name, last) == 0) return types[i];
  return NULL;
}

static const char *type_name(const void *context, size_t i) {
  (void)context;
  return types[i]->name;
}

cq_status cq_module_type_unknown(const char *type, const char *path, cq_error *error) {
  const size_t n = sizeof types / sizeof *types;
  const char *last = strrchr(type, '.');
  const char *near = cq_nearest_name(last ? last + 1 : type, type_name, NULL, n);
  char list[512] = "";
  for (size_t i = 0; i < n; i++) cq_list_name(list, sizeof list, types[i]->name);
  return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "module type '%.100s' is not supported%s%s (supported: %s)",
                      type, near ? "; the closest supported one: " : "", near ? near : "", list);
}
