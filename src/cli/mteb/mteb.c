/* calque eval mteb: measures local data as MTEB does and writes the result files that the package mteb reads.
 *
 *   DIR/results/MODEL/REVISION/model_meta.json   name and revision
 *   DIR/results/MODEL/REVISION/TASK.json         a TaskResult: scores {split: [{hf_subset, languages, main_score, ...}]}
 *   DIR/results/MODEL/REVISION/TASK.run          of retrieval, the ranking: a TREC run
 *
 * DIR is what mteb calls its cache (MTEB_CACHE), so that mteb.load_results finds the files. */
#include "cli/mteb/mteb.h"
#include "cli/frame/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { BITEXT, STS, CLASSIFICATION, RETRIEVAL };
static const char *const types[] = {"bitext", "sts", "classification", "retrieval", NULL};

/* ---- files ---- */

/* The directory and those above it. */
static int make_directories(char *path) {
  for (char *at = path + 1;; at++) {
    const char kept = *at;
    if (kept && kept != '/') continue;
    *at = 0;
    const bool failed = mkdir(path, 0777) && errno != EEXIST;
    if (failed) return cli_fail("%s: %s", path, strerror(errno));
    *at = kept;
    if (!kept) return CLI_OK;
  }
}

static int write_json(const mteb_bench *b, const char *name, json_t *object) {
  char *path = NULL, *text = object ? json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) : NULL;
  cq_error error = {0};
  int code = CLI_OK;
  if (!text || !(path = mteb_path(b->directory, "/", name, ".json")))
    code = cli_fail("out of memory");
  else if (cli_output_text(path, text, &error))
    code = cli_fail_error(&error);
  else if (strcmp(name, "model_meta") != 0)
    printf("%s\n", path);
  free(text), free(path);
  json_decref(object);
  return code;
}

/* The subset's name, before a colon or the equals sign; "default" where there is no label. */
static cq_slice subset_of(const char *argument) {
  const char *equals = cli_label_end(argument);
  if (!equals) return (cq_slice){"default", 7};
  const char *colon = memchr(argument, ':', (size_t)(equals - argument));
  return (cq_slice){argument, (size_t)((colon ? colon : equals) - argument)};
}

/* "[SUBSET[:LANGUAGE,...]=]FILE" into an object of the scores. */
static json_t *open_subset(const char **file, const char *argument) {
  const char *equals = cli_label_end(argument);
  const char *colon = equals ? memchr(argument, ':', (size_t)(equals - argument)) : NULL;
  const cq_slice name = subset_of(argument);
  json_t *languages = json_array(), *scores = json_object();
  *file = equals ? equals + 1 : argument;
  int failed = json_object_set_new(scores, "hf_subset", json_stringn(name.data, name.n));
  while (colon && colon < equals) {
    const char *start = colon + 1;
    colon = start + strcspn(start, ",=");
    failed |= json_array_append_new(languages, json_stringn(start, (size_t)(colon - start)));
  }
  failed |= json_object_set_new(scores, "languages", languages);
  if (!failed) return scores;
  json_decref(scores);
  return NULL;
}

static int open_bench(mteb_bench *b, const mteb_args *args) {
  char fingerprint[33], *name, *name_and_revision = NULL;
  cq_error error = {0};
  b->args = args;
  int code = cli_open_model(&b->model, args->model, args->encoder);
  if (code == CLI_OK) code = cli_open_context(&b->ctx, args->threads);
  if (code) return code;
  cq_encode_options options = cq_encode_default_options();
  options.truncate_dim = args->eval->truncate_dim;
  b->dim = (size_t)cq_encoder_encode_dim(b->model, &options);
  if (cq_encoder_fingerprint(fingerprint, b->model, &error)) return cli_fail_error(&error);
  const char *revision = args->revision ? args->revision : fingerprint;
  const char *given = args->model_name ? args->model_name : args->model;
  if (!(name = strdup(given))) return cli_fail("out of memory");
  if (!args->model_name) { /* of a path its last part; of ORGANISATION/NAME both */
    struct stat info;
    while (strlen(name) > 1 && name[strlen(name) - 1] == '/') name[strlen(name) - 1] = 0;
    const char *slash = strrchr(name, '/');
    if (slash && stat(name, &info) == 0) memmove(name, slash + 1, strlen(slash));
  }
  json_t *meta = json_pack("{s:s, s:s}", "name", name, "revision", revision);
  char *folder = calloc(2, strlen(name) + 1);
  for (size_t i = 0, at = 0; folder && name[i]; i++) {
    folder[at++] = name[i] == '/' ? '_' : name[i];
    if (name[i] == '/') folder[at++] = '_';
  }
  if (!meta || !folder || !(name_and_revision = mteb_path(folder, "/", revision, "")) ||
      !(b->directory = mteb_path(args->output, "/results/", name_and_revision, ""))) {
    json_decref(meta);
    code = cli_fail("%s", meta ? "out of memory" : "the model's name or revision is not UTF-8");
  } else {
    code = make_directories(b->directory);
    if (code == CLI_OK)
      code = write_json(b, "model_meta", meta);
    else
      json_decref(meta);
  }
  free(folder), free(name), free(name_and_revision);
  return code;
}

static int check_subsets(const cli_call *call) {
  bool has_languages = true;
  for (size_t i = 0; i < call->n_arguments; i++) {
    const cq_slice name = subset_of(call->arguments[i]);
    const char *equals = cli_label_end(call->arguments[i]);
    if (!name.n) return cli_usage(call->path, "%s: the subset has no name", call->arguments[i]);
    has_languages = has_languages && equals && memchr(call->arguments[i], ':', (size_t)(equals - call->arguments[i]));
    for (size_t k = 0; k < i; k++) {
      const cq_slice other = subset_of(call->arguments[k]);
      if (other.n == name.n && !memcmp(other.data, name.data, name.n))
        return cli_usage(call->path, "two files are the subset '%.*s': label them SUBSET=FILE", (int)name.n, name.data);
    }
  }
  if (!has_languages)
    cli_note("without languages (SUBSET:eng-Latn=FILE) the package mteb takes no mean of these scores");
  return CLI_OK;
}

static bool is_utf8(const char *text) {
  json_t *string = json_string(text);
  json_decref(string);
  return string;
}

static int check_mteb(const cli_call *call, const mteb_args *args) {
  const char *type = types[args->type];
  const char *const texts[] = {args->name, args->split, args->dataset_revision};
  for (size_t i = 0; i < 3; i++)
    if (!is_utf8(texts[i])) return cli_usage(call->path, "'%s' is not UTF-8", texts[i]);
  if (!*args->output) return cli_usage(call->path, "--output is empty");
  if (!strcmp(args->name, "model_meta"))
    return cli_usage(call->path, "--name model_meta: mteb has a file of that name");
  if ((args->type == CLASSIFICATION) != (args->train != NULL))
    return cli_usage(call->path,
                     args->train ? "--train is for --type classification" : "--type classification needs --train");
  if ((args->type == RETRIEVAL) != (args->documents && args->topics))
    return cli_usage(call->path, args->type == RETRIEVAL ? "--type retrieval needs --documents and --topics"
                                                         : "--documents and --topics are for --type retrieval");
  if (args->type == RETRIEVAL && call->n_arguments != 1)
    return cli_usage(call->path, "--type retrieval takes one file of judgements, not %zu", call->n_arguments);
  if (args->type == RETRIEVAL && (args->eval->max_rows || args->eval->prompt || args->eval->truncate_dim))
    return cli_usage(call->path, "--max-rows, --prompt and --truncate-dim are not for --type %s", type);
  if (!*args->name || strchr(args->name, '/') || *args->name == '.')
    return cli_usage(call->path, "--name %s: a task's name becomes the name of a file", args->name);
  if (args->revision && (!*args->revision || strchr(args->revision, '/') || *args->revision == '.'))
    return cli_usage(call->path, "--revision %s: a revision becomes the name of a directory", args->revision);
  if (args->model_name && (!*args->model_name || *args->model_name == '.'))
    return cli_usage(call->path, "--model-name %s: a name becomes the name of a directory", args->model_name);
  return check_subsets(call);
}

static int run_mteb(const cli_call *call) {
  static int (*const measures[])(json_t *, const mteb_bench *, const char *) = {mteb_bitext, mteb_sts,
                                                                                mteb_classification, mteb_retrieval};
  const mteb_args *args = call->options;
  mteb_bench b = {0};
  const double started_s = cli_now_s();
  int code = check_mteb(call, args);
  if (code) return code;
  code = open_bench(&b, args);
  json_t *subsets = json_array();
  for (size_t i = 0; i < call->n_arguments && code == CLI_OK; i++) {
    const char *file;
    json_t *scores = open_subset(&file, call->arguments[i]);
    if (!scores)
      code = cli_fail("%s: the subset's name is not UTF-8", call->arguments[i]);
    else
      code = measures[args->type](scores, &b, file);
    if (json_array_append_new(subsets, scores) && code == CLI_OK) code = cli_fail("out of memory");
  }
  if (code == CLI_OK)
    code = write_json(&b, args->name,
                      json_pack("{s:s, s:s, s:n, s:{s:O}, s:f, s:n}", "dataset_revision", args->dataset_revision,
                                "task_name", args->name, "mteb_version", "scores", args->split, subsets,
                                "evaluation_time", cli_now_s() - started_s, "kg_co2_emissions"));
  json_decref(subsets);
  free(b.directory);
  cq_context_free(b.ctx);
  cq_encoder_free(b.model);
  return code;
}

static const cq_option options[] = {
    CLI_MODEL(mteb_args, model),
    {CQ_CHOICE(mteb_args, "type", type, CHANGES, BITEXT, types, "TYPE", "what the task is")},
    {CQ_TEXT(mteb_args, "name", name, CHANGES, "TASK", "the task's name in MTEB, or one of your own"),
     .flags = CQ_OPTION_REQUIRED},
    {CQ_TEXT(mteb_args, "output", output, CHANGES, "DIRECTORY",
             "write to results/MODEL/REVISION/TASK.json in it, as in mteb's cache"),
     .letter = 'o', .flags = CQ_OPTION_REQUIRED},
    {CQ_TEXT(mteb_args, "split", split, CHANGES, "NAME", "the split that the files are of"), .text = "test"},
    {CQ_TEXT(mteb_args, "train", train, CHANGES, "FILE", "of classification: sentences and classes to learn from")},
    {CQ_TEXT(mteb_args, "documents", documents, CHANGES, "FILE", "of retrieval: the documents, a file or directory")},
    {CQ_TEXT(mteb_args, "topics", topics, CHANGES, "FILE", "of retrieval: the queries")},
    {CQ_INT(mteb_args, "samples", n_samples, CHANGES, 8, 1, 1 << 30, "N",
            "of classification: rows of each class to learn from")},
    {CQ_INT(mteb_args, "experiments", n_experiments, CHANGES, 10, 1, 10000, "N",
            "of classification: number of runs, each on newly sampled rows")},
    {CQ_TEXT(mteb_args, "dataset-revision", dataset_revision, CHANGES, "TEXT", "the revision of the data"),
     .text = "local"},
    {CQ_TEXT(mteb_args, "model-name", model_name, CHANGES, "NAME", "the model's name in the results"),
     .otherwise = "--model, of a path the last part"},
    {CQ_TEXT(mteb_args, "revision", revision, CHANGES, "TEXT", "the model's revision in the results"),
     .otherwise = "the fingerprint of its weights"},
    CLI_THREADS(mteb_args, threads),
};

static const cq_option_part parts[] = {{.group = &cq_group_eval, .offset = offsetof(mteb_args, eval)},
                                       {.group = &cq_group_encoder, .offset = offsetof(mteb_args, encoder)},
                                       {.group = &cq_group_logistic, .offset = offsetof(mteb_args, logistic)},
                                       {0}};

const cli_command cli_eval_mteb = {
    .name = "mteb",
    .summary = "write the result files of the package mteb, on local data",
    .arguments = "[SUBSET[:LANGUAGE,...]=]FILE...",
    .min_arguments = 1,
    .max_arguments = -1,
    .description =
        "Measures as MTEB does and writes the JSON file that the Python package mteb reads (TaskResult), a subset for "
        "each file. bitext: F1, precision, recall and accuracy of the nearest neighbour, over lines of SENTENCE, "
        "TRANSLATION. sts: correlations over lines of SENTENCE, SENTENCE, SCORE. classification: logistic regression "
        "on a few rows of each class of --train, several times, over lines of SENTENCE, CLASS. retrieval: nDCG, MAP, "
        "recall, precision and MRR of the 1,000 documents nearest to each query; the file has the relevance "
        "judgements, and the ranking is kept beside the results as a TREC run. Languages are MTEB's: eng-Latn.",
    .example = "calque eval mteb --model multilingual --type sts --name STS22 -o mteb en:eng-Latn=sts-en.tsv\n"
               "calque eval mteb --model multilingual --type retrieval --name Mine -o mteb \\\n"
               "    --documents docs.tsv --topics queries.tsv qrels.txt",
    CLI_OPTIONS(mteb_args, options),
    .groups = parts,
    .run = run_mteb,
};
