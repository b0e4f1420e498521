/* NAME ──▶ its files at main ──▶ files of the config and split ──▶ cache ──▶ rows
 *      └─▶ if none: at refs/convert/parquet, the hub's conversion of any format ───────────────┘ */
#include "calque/dataset.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/options.h"
#include "corpus/rows.h"
#include "hub/hub_plugin.h"
#include "recipe/dataset/dataset_files.h"

#include <stdio.h>

#define CONVERTED "refs/convert/parquet"

#define O cq_dataset_options
static const cq_option option_rows[] = {
    {CQ_TEXT(O, "config", config, CHANGES, "NAME", "which part of the data set, for example the languages de-en"),
     .otherwise = "the only one"},
    {CQ_TEXT(O, "split", split, CHANGES, "NAME", "split of the data set"), .text = "train"},
    {CQ_TEXTS(O, "columns", columns, n_columns, CHANGES, "A,B,...",
              "the output's columns, by their names in the data set"),
     .letter = 'c', .flags = CQ_OPTION_COMMAS, .otherwise = "two columns of text, and their score or label"},
    CQ_CORPUS_OUTPUT_ROWS(O),
};
#undef O

static cq_status check_dataset_options(const void *options, cq_error *error) {
  const cq_dataset_options *o = options;
  if (o->n_columns == 1) return cq_fail(error, CQ_ERR_ARGUMENT, "1 column, expected 2 and more");
  return CQ_OK;
}

const cq_option_group cq_group_dataset = {
    .name = "dataset",
    CQ_ROWS(cq_dataset_options, option_rows),
    .check = check_dataset_options,
    CQ_FIELDS(CQ_CALLBACK(cq_dataset_options, progress), CQ_CALLBACK(cq_dataset_options, hub_progress))};

/* The files of one revision, from the hub's list or from the cache. */
typedef struct revision {
  char name[CQ_HUB_NAME + 300]; /* "ORG/NAME@REVISION" */
  cq_walk walk;
  const char **files; /* [n] */
  size_t n;
} revision;

static void revision_close(revision *r) {
  cq_walk_free(&r->walk);
  cq_free(r->files);
  *r = (revision){0};
}

static cq_hub_options hub_options(const cq_dataset_options *o) {
  cq_hub_options hub = cq_hub_default_options();
  hub.type = CQ_HUB_DATASET;
  hub.progress = o->hub_progress, hub.progress_context = o->hub_progress_context;
  return hub;
}

static cq_status list_online(cq_walk *files, const cq_hub_name *name, const cq_hub_options *hub, cq_error *error) {
  const cq_hub_plugin *plugin;
  const cq_status status = cq_hub_plugin_load(&plugin, error);
  return status ? status : plugin->list(files, name, hub, error);
}

static cq_status list_offline(revision *r, const cq_hub_options *hub, cq_error *error) {
  char *directory;
  cq_status status = cq_hub_get(&directory, r->name, hub, error);
  if (!status) status = cq_walk_add(&r->walk, directory, error);
  cq_free(directory);
  return status;
}

/* Lists a revision's files and chooses those of the config and split. */
static cq_status find_files(revision *r, bool *is_there, const cq_hub_name *name, const cq_dataset_options *o,
                            cq_error *error) {
  const cq_hub_options hub = hub_options(o);
  *r = (revision){0};
  snprintf(r->name, sizeof r->name, "%s@%s", name->repository, name->revision);
  *is_there = !cq_hub_is_offline(); /* the cache may have the other revision */
  cq_status status = *is_there ? list_online(&r->walk, name, &hub, error) : list_offline(r, &hub, error);
  if (!status && !(r->files = cq_alloc_array(r->walk.n + 1, sizeof *r->files))) status = cq_fail_memory(error, r->name);
  for (; !status && r->n < r->walk.n; r->n++) r->files[r->n] = r->walk.files[r->n].name;
  if (!status) status = cq_dataset_choose(r->files, &r->n, is_there, name->repository, o->config, o->split, error);
  return status;
}

/* Uses the files of main, or else the hub's conversion. If both are missing, reports main's error. */
static cq_status find_revision(revision *r, const cq_hub_name *name, const cq_dataset_options *o, bool is_given,
                               cq_error *error) {
  bool is_there;
  cq_status status = find_files(r, &is_there, name, o, error);
  if (!status || is_there || is_given) return status;
  revision_close(r);
  cq_error why = {0};
  cq_hub_name other = *name;
  snprintf(other.revision, sizeof other.revision, CONVERTED);
  const cq_status converted = find_files(r, &is_there, &other, o, &why);
  if (converted != CQ_ERR_IO && converted != CQ_OK && error) *error = why;
  return converted == CQ_ERR_IO ? status : converted;
}

static cq_status convert_files(cq_corpus_counts *counts, const char *directory, const revision *r,
                               const cq_dataset_options *o, cq_error *error) {
  cq_corpus_convert_options c = cq_corpus_convert_default_options();
  char(*paths)[CQ_HUB_PATH] = cq_alloc_array(r->n, sizeof *paths);
  const char **inputs = cq_alloc_array(r->n, sizeof *inputs);
  cq_status status = paths && inputs ? CQ_OK : cq_fail_memory(error, r->name);
  for (size_t i = 0; !status && i < r->n; i++) {
    status = cq_path_join(paths[i], sizeof paths[i], directory, r->files[i], error);
    inputs[i] = paths[i];
  }
  c.format = "parquet", c.inputs = inputs, c.n_inputs = r->n;
  c.columns = o->columns, c.n_columns = o->n_columns;
  c.languages = o->languages, c.n_languages = o->n_languages;
  c.output = o->output, c.skip_bad = o->skip_bad;
  c.progress = o->progress, c.progress_context = o->progress_context;
  if (!status) status = cq_corpus_convert(counts, &c, error);
  cq_free(inputs);
  cq_free(paths);
  return status;
}

cq_status cq_dataset_get(cq_corpus_counts *counts, const char *repository, const cq_dataset_options *options,
                         cq_error *error) {
  cq_dataset_options o;
  cq_hub_name name;
  revision r = {0};
  char *directory = NULL;
  *counts = (cq_corpus_counts){0};
  cq_status status = cq_options_take(&o, &cq_group_dataset, options, error);
  if (!status) status = cq_hub_name_parse(&name, repository, error);
  if (!status) status = find_revision(&r, &name, &o, strchr(repository, '@'), error);
  if (!status) {
    cq_hub_options hub = hub_options(&o);
    hub.files = r.files, hub.n_files = r.n;
    status = cq_hub_get(&directory, r.name, &hub, error);
  }
  if (!status) status = convert_files(counts, directory, &r, &o, error);
  cq_free(directory);
  revision_close(&r);
  return status;
}
