/* Adds LoRA adapters to the weights that they were trained for. See lora.h. */
#include "model/lora.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/memory.h"
#include "format/json.h"

#include <stdio.h>
#include <string.h>

enum { MAX_TASKS = 1024, MAX_RANK = 4096, MAX_NAME = 512 };

/* The place of a name in the list; -1: not found. */
static int64_t find_task(const json_t *tasks, const char *name) {
  size_t i;
  const json_t *task;
  json_array_foreach(tasks, i, task) {
    if (json_is_string(task) && !strcmp(json_string_value(task), name)) return (int64_t)i;
  }
  return -1;
}

static cq_status no_task(const json_t *tasks, const char *task, const char *path, cq_error *error) {
  char names[512] = "";
  size_t i;
  const json_t *name;
  json_array_foreach(tasks, i, name) cq_list_name(names, sizeof names, json_string_value(name));
  return cq_fail_file(error, CQ_ERR_ARGUMENT, path, "no LoRA adapter for the task '%s', there are %s", task, names);
}

cq_status cq_lora_read(cq_lora *out, const json_t *config, const char *task, const char *path, cq_error *error) {
  const json_t *tasks = json_object_get(config, "lora_adaptations"), *name;
  double alpha = 1;
  size_t i;
  *out = (cq_lora){.task = -1};
  if (!tasks || json_is_null(tasks)) return CQ_OK;
  if (!json_is_array(tasks) || json_array_size(tasks) == 0 || json_array_size(tasks) > MAX_TASKS)
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "key 'lora_adaptations' is not a list of 1 to %d names", MAX_TASKS);
  json_array_foreach(tasks, i, name) {
    if (!json_is_string(name))
      return cq_fail_file(error, CQ_ERR_FORMAT, path, "element %zu of 'lora_adaptations' is not a string", i);
  }
  out->n_tasks = (int64_t)json_array_size(tasks);
  out->rank = 4;
  cq_status status = cq_json_get_int(&out->rank, config, "lora_rank", 1, MAX_RANK, path, error);
  if (!status) status = cq_json_get_number(&alpha, config, "lora_alpha", path, error);
  if (status) return status;
  out->scale = (float)(alpha / (double)out->rank);
  if (!task) return CQ_OK;
  out->task = find_task(tasks, task);
  const bool is_query = !strcmp(task, "query"), is_document = !strcmp(task, "document");
  if (out->task < 0 && is_query) out->task = find_task(tasks, "retrieval.query");
  if (out->task < 0 && is_document) out->task = find_task(tasks, "retrieval.passage");
  return out->task >= 0 || is_query || is_document ? CQ_OK : no_task(tasks, task, path, error);
}

cq_status cq_lora_strip_config(json_t *config, cq_error *error) {
  static const char *const keys[] = {"lora_adaptations",
                                     "lora_alpha",
                                     "lora_dropout_p",
                                     "lora_rank",
                                     "task_instructions",
                                     "lora_main_params_trainable",
                                     "load_trained_adapters",
                                     "architectures",
                                     "auto_map",
                                     "rotary_emb_base",
                                     "position_embedding_type",
                                     "use_flash_attn"};
  const json_t *theta = json_object_get(config, "rotary_emb_base");
  if (json_object_set_new(
          config, "rope_parameters",
          json_pack("{s:s, s:f}", "rope_type", "default", "rope_theta", theta ? json_number_value(theta) : 10000.0)) ||
      json_object_set_new(config, "model_type", json_string("jina_embeddings_v3")))
    return cq_fail_memory(error, "config.json");
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) json_object_del(config, keys[i]);
  return CQ_OK;
}

/* weight [rows, cols] += scale * left [rows, rank] right [rank, cols] */
static void add_product(float *weight, const float *left, const float *right, int64_t rows, int64_t cols,
                        const cq_lora *lora, float *sum) {
  for (int64_t i = 0; i < rows; i++) {
    memset(sum, 0, (size_t)cols * sizeof *sum);
    for (int64_t r = 0; r < lora->rank; r++) {
      const float factor = left[i * lora->rank + r];
      for (int64_t j = 0; j < cols; j++) sum[j] += factor * right[r * cols + j];
    }
    for (int64_t j = 0; j < cols; j++) weight[i * cols + j] += lora->scale * sum[j];
  }
}

/* A factor for all tasks, [n_tasks, rows, cols] in f32. */
static cq_status take_factor(const float **out, cq_weights *w, const char *original, const char *factor, int64_t rows,
                             int64_t cols, const cq_lora *lora, cq_arena *arena, cq_error *error) {
  char name[MAX_NAME];
  cq_param p;
  const int n = (int)(strlen(original) - strlen("original"));
  if (snprintf(name, sizeof name, "%.*s0.%s", n, original, factor) >= (int)sizeof name)
    return cq_fail(error, CQ_ERR_FORMAT, "a tensor's name is too long: %.100s", original);
  const cq_status status = cq_weights_take_windows(&p, w, name, lora->n_tasks, rows, cols, arena, error);
  if (!status) *out = p.value + (lora->task < 0 ? 0 : lora->task) * rows * cols;
  return status;
}

static const char *find_original(const cq_weights *w, const char *const *names) {
  const size_t n_end = strlen(CQ_LORA_ORIGINAL);
  for (; *names; names++) {
    const size_t n = strlen(*names);
    if (n > n_end && !strcmp(*names + n - n_end, CQ_LORA_ORIGINAL) && cq_weights_has(w, *names)) return *names;
  }
  return NULL;
}

cq_status cq_lora_add(cq_param *p, cq_weights *w, const char *const *names, const cq_lora *lora, bool is_table,
                      cq_arena *arena, cq_error *error) {
  const char *original = lora->n_tasks > 0 ? find_original(w, names) : NULL;
  const int64_t rows = p->rows, cols = p->cols;
  const float *left, *right;
  cq_arena factors = {0};
  float *made = NULL;
  if (!original) return CQ_OK;
  cq_status status =
      take_factor(&left, w, original, is_table ? "lora_A" : "lora_B", rows, lora->rank, lora, &factors, error);
  if (!status)
    status = take_factor(&right, w, original, is_table ? "lora_B" : "lora_A", lora->rank, cols, lora, &factors, error);
  if (!status && lora->task >= 0) {
    const float *value = cq_param_f32(&made, p);
    float *weight = cq_arena_array(arena, (size_t)rows, (size_t)cols * sizeof *weight);
    float *sum = cq_arena_array(&factors, (size_t)cols, sizeof *sum);
    if (!value || !weight || !sum) {
      status = cq_fail_memory(error, "an adapted weight");
    } else {
      memcpy(weight, value, (size_t)(rows * cols) * sizeof *weight);
      add_product(weight, left, right, rows, cols, lora, sum);
      p->value = weight, p->narrow = (cq_narrow_rows){0};
    }
  }
  cq_free(made);
  cq_arena_free(&factors);
  return status;
}
