/* What a tokenizer_class means for the files beside it, where there is no tokenizer.json.
 *
 *   tokenizer_config.json, else config.json   "tokenizer_class": "FunnelTokenizerFast"
 *   config.json                               "model_type", if neither names a class
 *        │ the rows below, without "Tokenizer" and "TokenizerFast"
 *        ▼
 *   the rules by which the files are read, or why they are not
 *
 * A class that is missing below may do anything with the same files, so it is refused, too. */
#include "token/tokenizer_files.h"

#include "base/error.h"
#include "base/file.h"

#include <limits.h>

/* Rows without a kind are refused. does: the reason, in words that follow "it". */
static const struct {
  const char *name;
  cq_class_kind kind;
  const char *model_types; /* whose class it is if no file names one */
  const char *does;
  bool only_slow; /* transformers cannot write a tokenizer.json for it */
} rows[] = {
    {.name = "Bert", .kind = CQ_CLASS_BERT, .model_types = " bert distilbert electra ernie nomic_bert "},
    {.name = "DistilBert", .kind = CQ_CLASS_BERT},
    {.name = "Electra", .kind = CQ_CLASS_BERT},
    {.name = "MobileBert", .kind = CQ_CLASS_BERT},
    {.name = "SqueezeBert", .kind = CQ_CLASS_BERT},
    {.name = "ConvBert", .kind = CQ_CLASS_BERT},
    {.name = "LayoutLM", .kind = CQ_CLASS_BERT},
    {.name = "Lxmert", .kind = CQ_CLASS_BERT},
    {.name = "DPRContextEncoder", .kind = CQ_CLASS_BERT},
    {.name = "DPRQuestionEncoder", .kind = CQ_CLASS_BERT},
    {.name = "DPRReader", .kind = CQ_CLASS_BERT},
    {.name = "MPNet", .kind = CQ_CLASS_MPNET, .model_types = " mpnet "},
    {.name = "Funnel", .kind = CQ_CLASS_FUNNEL},
    {.name = "Roberta", .kind = CQ_CLASS_ROBERTA, .model_types = " roberta "},
    {.name = "Bart", .kind = CQ_CLASS_ROBERTA},
    {.name = "LED", .kind = CQ_CLASS_ROBERTA},
    {.name = "Longformer", .kind = CQ_CLASS_ROBERTA},
    {.name = "MVP", .kind = CQ_CLASS_ROBERTA},
    {.name = "Mvp", .kind = CQ_CLASS_ROBERTA},
    {.name = "Herbert", .kind = CQ_CLASS_HERBERT},
    {.name = "XLMRoberta", .kind = CQ_CLASS_XLMR, .model_types = " xlm-roberta gte jina_embeddings_v3 "},
    {.name = "T5", .kind = CQ_CLASS_T5, .model_types = " t5 mt5 "},
    {.name = "Albert", .kind = CQ_CLASS_ALBERT, .model_types = " albert "},
    {.name = "DebertaV2", .kind = CQ_CLASS_DEBERTA_V2, .model_types = " deberta-v2 "},
    {.name = "Llama", .kind = CQ_CLASS_LLAMA, .model_types = " llama mistral "},
    {.name = "BertJapanese", .does = "splits Japanese with MeCab", .only_slow = true},
    {.name = "Bertweet", .does = "rewrites tweets before its BPE with '@@'", .only_slow = true},
    {.name = "Camembert", .model_types = " camembert ", .does = "has ids of its own for <s>, <pad>, </s>, and <unk>"},
    {.name = "CLIP", .does = "is a BPE with '</w>' and a pattern of its own"},
    {.name = "Cpm", .does = "splits Chinese with jieba before SentencePiece", .only_slow = true},
    {.name = "Esm", .does = "reads the letters of proteins", .only_slow = true},
    {.name = "Flaubert", .does = "is XLM's BPE with the rules of Moses", .only_slow = true},
    {.name = "GPT2", .does = "adds no special tokens"},
    {.name = "Gemma", .model_types = " gemma3_text ", .does = "is a BPE that keeps white space"},
    {.name = "KoBert", .does = "is a SentencePiece model with a vocab.txt", .only_slow = true},
    {.name = "OpenAIGPT", .does = "is a BPE with '</w>'"},
    {.name = "Phobert", .does = "is a BPE with '@@' over segmented Vietnamese", .only_slow = true},
    {.name = "ProphetNet", .does = "is a WordPiece without [CLS]", .only_slow = true},
    {.name = "Qwen2", .model_types = " qwen2 qwen3 ", .does = "splits by a pattern of its own"},
    {.name = "RoFormer", .does = "splits Chinese with jieba", .only_slow = true},
    {.name = "XLM", .does = "is a BPE with '</w>' and the rules of Moses", .only_slow = true},
    {.name = "XLNet", .does = "puts its special tokens after the text"},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static bool is_class(const char *class, const char *name) {
  const size_t n = strlen(name);
  const char *rest = class + n;
  return !strncmp(class, name, n) && (!strcmp(rest, "Tokenizer") || !strcmp(rest, "TokenizerFast"));
}

/* Whether a class says nothing about the files: transformers' base classes. */
static bool is_general(const char *class) {
  return is_class(class, "PreTrained") || !strcmp(class, "TokenizersBackend");
}

static size_t find_row(const char *class, const char *model_type) {
  char key[64];
  const int n = snprintf(key, sizeof key, " %s ", model_type ? model_type : "");
  for (size_t i = 0; i < N_ROWS; i++) {
    if (class ? is_class(class, rows[i].name)
              : model_type && n < (int)sizeof key && rows[i].model_types && strstr(rows[i].model_types, key))
      return i;
  }
  return N_ROWS;
}

cq_status cq_tokenizer_class(cq_class_kind *out, const char *directory, const json_t *config, cq_class_kind first,
                             cq_class_kind last, const char *path, cq_error *error) {
  char config_path[PATH_MAX];
  json_t *model = NULL;
  cq_status status = cq_path_join(config_path, sizeof config_path, directory, "config.json", error);
  if (!status && cq_file_exists(config_path)) status = cq_json_read(&model, config_path, error);
  if (status) return status;
  const char *class = json_string_value(json_object_get(config, "tokenizer_class"));
  if (!class) class = json_string_value(json_object_get(model, "tokenizer_class"));
  const char *type = json_string_value(json_object_get(model, "model_type"));
  const bool general = !class || is_general(class);
  const size_t i = find_row(general ? NULL : class, type);
  *out = i < N_ROWS ? rows[i].kind : CQ_CLASS_NONE;
  if (general && i == N_ROWS) goto done;
  if (*out >= first && *out <= last) goto done;
  char name[96];
  if (general)
    snprintf(name, sizeof name, "model_type '%.40s' (%sTokenizer)", type, rows[i].name);
  else
    snprintf(name, sizeof name, "tokenizer_class '%.70s'", class);
  const bool only_slow = i < N_ROWS && rows[i].only_slow;
  status = cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "%s without tokenizer.json is not supported%s%s; %s", name,
                        i < N_ROWS && rows[i].does ? ": it " : "", i < N_ROWS && rows[i].does ? rows[i].does : "",
                        only_slow ? "transformers has no tokenizer.json for it, so choose a model that has one"
                                  : "save the tokenizer with transformers, which writes tokenizer.json");
done:
  json_decref(model);
  return status;
}
