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
  cq_class_kind kind;
  const char *names, *model_types; /* those whose class it is if no file names one; NULL: none */
  const char *does;
  bool only_slow; /* transformers cannot write a tokenizer.json for it */
} rows[] = {
    {CQ_CLASS_BERT,
     " Bert ConvBert DistilBert DPRContextEncoder DPRQuestionEncoder DPRReader Electra LayoutLM Lxmert MobileBert "
     "SqueezeBert ",
     " bert distilbert electra ernie nomic_bert ", NULL, false},
    {CQ_CLASS_MPNET, " MPNet ", " mpnet ", NULL, false},
    {CQ_CLASS_FUNNEL, " Funnel ", NULL, NULL, false},
    {CQ_CLASS_JAPANESE, " BertJapanese ", " bert-japanese ", "splits Japanese with MeCab", true},
    {CQ_CLASS_ROBERTA, " Roberta Bart LED Longformer Mvp ", " roberta ", NULL, false},
    {CQ_CLASS_HERBERT, " Herbert ", NULL, NULL, false},
    {CQ_CLASS_XLMR, " XLMRoberta ", " xlm-roberta gte jina_embeddings_v3 ", NULL, false},
    {CQ_CLASS_T5, " T5 ", " t5 mt5 ", NULL, false},
    {CQ_CLASS_ALBERT, " Albert ", " albert ", NULL, false},
    {CQ_CLASS_DEBERTA_V2, " DebertaV2 ", " deberta-v2 ", NULL, false},
    {CQ_CLASS_LLAMA, " Llama ", " llama mistral ", NULL, false},
    {CQ_CLASS_REFUSED, " Bertweet ", NULL, "rewrites tweets before its BPE with '@@'", true},
    {CQ_CLASS_REFUSED, " Camembert ", " camembert ", "has ids of its own for <s>, <pad>, </s>, and <unk>", false},
    {CQ_CLASS_REFUSED, " CLIP ", NULL, "is a BPE with '</w>' and a pattern of its own", false},
    {CQ_CLASS_REFUSED, " Cpm ", NULL, "splits Chinese with jieba before SentencePiece", true},
    {CQ_CLASS_REFUSED, " Esm ", NULL, "reads the letters of proteins", true},
    {CQ_CLASS_REFUSED, " Flaubert XLM ", NULL, "is a BPE with '</w>' and the rules of Moses", true},
    {CQ_CLASS_REFUSED, " GPT2 ", NULL, "adds no special tokens", false},
    {CQ_CLASS_REFUSED, " Gemma ", " gemma3_text ", "is a BPE that keeps white space", false},
    {CQ_CLASS_REFUSED, " KoBert ", NULL, "is a SentencePiece model with a vocab.txt", true},
    {CQ_CLASS_REFUSED, " OpenAIGPT ", NULL, "is a BPE with '</w>'", false},
    {CQ_CLASS_REFUSED, " Phobert ", NULL, "is a BPE with '@@' over segmented Vietnamese", true},
    {CQ_CLASS_REFUSED, " ProphetNet ", NULL, "is a WordPiece without [CLS]", true},
    {CQ_CLASS_REFUSED, " Qwen2 ", " qwen2 qwen3 ", "splits by a pattern of its own", false},
    {CQ_CLASS_REFUSED, " RoFormer ", NULL, "splits Chinese with jieba", true},
    {CQ_CLASS_REFUSED, " XLNet ", NULL, "puts its special tokens after the text", false},
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
  /* transformers' base classes say nothing about the files */
  const bool general = !class || !strncmp(class, "PreTrainedTokenizer", 19) || !strcmp(class, "TokenizersBackend");
  const size_t i = find_row(general ? NULL : class, type);
  *out = i < N_ROWS ? rows[i].kind : CQ_CLASS_NONE;
  if (!(general && i == N_ROWS) && (*out < first || *out > last)) {
    const char *does = i < N_ROWS ? rows[i].does : NULL;
    status = cq_fail_file(
        error, CQ_ERR_UNSUPPORTED, path, "%s '%.70s' without tokenizer.json is not supported%s%s; %s",
        general ? "model_type" : "tokenizer_class", general ? type : class, does ? ": it " : "", does ? does : "",
        does && rows[i].only_slow ? "transformers has no tokenizer.json for it, so choose a model that has one"
                                  : "save the tokenizer with transformers, which writes tokenizer.json");
  }
  json_decref(model);
  return status;
}
