/* What a tokenizer_class means for the files beside it.
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
  cq_class_kind kind;
  const char *names, *model_types; /* those whose class it is if no file names one; NULL: none */
  const char *does;
  enum {
    PLAIN,
    ONLY_SLOW,  /* transformers cannot write a tokenizer.json for it */
    KEEPS_JSON, /* it does not change the steps of a tokenizer.json */
  } note;
} rows[] = {
    {CQ_CLASS_BERT, " Bert DistilBert Electra LayoutLM Lxmert MobileBert SqueezeBert ",
     " bert distilbert electra ernie nomic_bert ", NULL, PLAIN},
    {CQ_CLASS_BERT, " ConvBert ", NULL, NULL, KEEPS_JSON},
    {CQ_CLASS_DPR, " DPRContextEncoder DPRQuestionEncoder DPRReader ", NULL, NULL, PLAIN},
    {CQ_CLASS_MPNET, " MPNet ", " mpnet ", NULL, PLAIN},
    {CQ_CLASS_FUNNEL, " Funnel ", " funnel ", NULL, PLAIN},
    {CQ_CLASS_JAPANESE, " BertJapanese ", " bert-japanese ", "splits Japanese with MeCab", ONLY_SLOW},
    {CQ_CLASS_ROBERTA, " Roberta Bart LED Longformer Mvp ", " roberta ", NULL, PLAIN},
    {CQ_CLASS_HERBERT, " Herbert ", NULL, NULL, PLAIN},
    {CQ_CLASS_XLMR, " XLMRoberta ", " xlm-roberta gte jina_embeddings_v3 ", NULL, PLAIN},
    {CQ_CLASS_CAMEMBERT, " Camembert ", " camembert ", NULL, PLAIN},
    {CQ_CLASS_T5, " T5 ", " t5 mt5 ", NULL, PLAIN},
    {CQ_CLASS_ALBERT, " Albert ", " albert ", NULL, PLAIN},
    {CQ_CLASS_DEBERTA_V2, " DebertaV2 ", " deberta-v2 ", NULL, PLAIN},
    {CQ_CLASS_LLAMA, " Llama ", NULL, NULL, PLAIN},
    {CQ_CLASS_REFUSED, " Bertweet ", NULL, "rewrites tweets before its BPE with '@@'", ONLY_SLOW},
    {CQ_CLASS_REFUSED, " CLIP ", NULL, "is a BPE with '</w>' and a pattern of its own", PLAIN},
    {CQ_CLASS_REFUSED, " Cpm ", NULL, "splits Chinese with jieba before SentencePiece", ONLY_SLOW},
    {CQ_CLASS_REFUSED, " Esm ", NULL, "reads the letters of proteins", ONLY_SLOW},
    {CQ_CLASS_REFUSED, " Flaubert XLM ", NULL, "is a BPE with '</w>' and the rules of Moses", ONLY_SLOW},
    {CQ_CLASS_REFUSED, " GPT2 ", NULL, "adds no special tokens", PLAIN},
    {CQ_CLASS_GEMMA, " Gemma ", " gemma3_text ", NULL, PLAIN},
    {CQ_CLASS_REFUSED, " KoBert ", NULL, "is a SentencePiece model with a vocab.txt", ONLY_SLOW},
    {CQ_CLASS_REFUSED, " OpenAIGPT ", NULL, "is a BPE with '</w>'", PLAIN},
    {CQ_CLASS_REFUSED, " Phobert ", NULL, "is a BPE with '@@' over segmented Vietnamese", ONLY_SLOW},
    {CQ_CLASS_REFUSED, " ProphetNet ", NULL, "is a WordPiece without [CLS]", ONLY_SLOW},
    {CQ_CLASS_REFUSED, " Qwen2 ", " qwen2 qwen3 ", "splits by a pattern of its own", PLAIN},
    {CQ_CLASS_REFUSED, " RoFormer ", NULL, "splits Chinese with jieba", ONLY_SLOW},
    {CQ_CLASS_REFUSED, " XLNet ", NULL, "puts its special tokens after the text", PLAIN},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

/* The row of a class (NULL: of a model_type), or N_ROWS. */
static size_t find_row(const char *class, const char *model_type) {
  char key[64];
  const char *word = class ? class : model_type ? model_type : "", *end = class ? strstr(class, "Tokenizer") : NULL;
  if (end && strcmp(end, "Tokenizer") != 0 && strcmp(end, "TokenizerFast") != 0) return N_ROWS;
  const int n = class && !end ? 0 : class ? (int)(end - class) : (int)strlen(word);
  if (n == 0 || n > 60 || memchr(word, ' ', (size_t)n)) return N_ROWS;
  snprintf(key, sizeof key, " %.*s ", n, word);
  for (size_t i = 0; i < N_ROWS; i++) {
    const char *list = class ? rows[i].names : rows[i].model_types;
    if (list && strstr(list, key)) return i;
  }
  return N_ROWS;
}

/* What a directory says of its class. */
typedef struct naming {
  json_t *model; /* config.json, which owns the strings */
  const char *class, *type;
  bool general; /* no class, or one of transformers' base classes, which say nothing about the files */
  size_t row;
} naming;

static cq_status find_class(naming *n, const char *directory, const json_t *config, cq_error *error) {
  char path[PATH_MAX];
  *n = (naming){0};
  cq_status status = cq_path_join(path, sizeof path, directory, "config.json", error);
  if (!status && cq_file_exists(path)) status = cq_json_read(&n->model, path, error);
  if (status) return status;
  n->class = json_string_value(json_object_get(config, "tokenizer_class"));
  if (!n->class) n->class = json_string_value(json_object_get(n->model, "tokenizer_class"));
  n->type = json_string_value(json_object_get(n->model, "model_type"));
  n->general = !n->class || !strncmp(n->class, "PreTrainedTokenizer", 19) || !strcmp(n->class, "TokenizersBackend");
  n->row = find_row(n->general ? NULL : n->class, n->type);
  return CQ_OK;
}

/* Whether transformers reads the files of a model_type as they are, whatever class they name. */
static bool has_no_class(const naming *n) {
  static const char types[] = " mistral modernbert modernbert-decoder xlm-roberta-xl ";
  char key[64];
  return n->type && snprintf(key, sizeof key, " %.60s ", n->type) > 0 && strstr(types, key);
}

/* DPR's classes: the fast ones are BERT's, the others always lower-case. */
static cq_class_kind kind_of(const naming *n) {
  if (n->row == N_ROWS || (rows[n->row].kind == CQ_CLASS_LLAMA && has_no_class(n))) return CQ_CLASS_NONE;
  const bool is_fast = n->class && strstr(n->class, "Fast");
  return rows[n->row].kind == CQ_CLASS_DPR && is_fast ? CQ_CLASS_BERT : rows[n->row].kind;
}

cq_status cq_tokenizer_class_beside_json(cq_class_kind *out, const char *directory, const json_t *config,
                                         cq_error *error) {
  naming n;
  const cq_status status = find_class(&n, directory, config, error);
  *out = status ? CQ_CLASS_NONE : kind_of(&n);
  if (n.row < N_ROWS && (rows[n.row].note == KEEPS_JSON || (n.general && n.class))) *out = CQ_CLASS_NONE;
  if (*out == CQ_CLASS_BERT && rows[n.row].kind == CQ_CLASS_DPR) *out = CQ_CLASS_NONE;
  if (has_no_class(&n)) *out = CQ_CLASS_NONE;
  json_decref(n.model);
  return status;
}

cq_status cq_tokenizer_class(cq_class_kind *out, const char *directory, const json_t *config, cq_class_kind first,
                             cq_class_kind last, const char *path, cq_error *error) {
  naming n;
  cq_status status = find_class(&n, directory, config, error);
  if (status) return status;
  *out = kind_of(&n);
  if (!(n.general && n.row == N_ROWS) && (*out < first || *out > last) &&
      !(has_no_class(&n) && *out == CQ_CLASS_NONE)) {
    const char *does = n.row < N_ROWS ? rows[n.row].does : NULL;
    status = cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "%s '%.70s' without tokenizer.json is not supported%s%s; %s",
                          n.general ? "model_type" : "tokenizer_class", n.general ? n.type : n.class,
                          does ? ": it " : "", does ? does : "",
                          does && rows[n.row].note == ONLY_SLOW
                              ? "transformers has no tokenizer.json for it, so choose a model that has one"
                              : "save the tokenizer with transformers, which writes tokenizer.json");
  }
  json_decref(n.model);
  return status;
}
