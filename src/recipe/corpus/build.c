/* Builds a corpus: the configuration's sections become steps, each done once. See steps.h. */
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/options.h"
#include "recipe/corpus/config.h"
#include "recipe/corpus/steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const cq_option option_rows[] = {
    {CQ_TEXT(cq_corpus_build_options, "config", config, CHANGES, "CONFIG", "the configuration"),
     .flags = CQ_OPTION_REQUIRED},
    {CQ_TEXT(cq_corpus_build_options, "output", output, KEEPS, "FOLDER",
             "where the corpus, its report and the steps' files are; steps that are done already are not done again"),
     .letter = 'o', .text = "corpus"},
};
const cq_option_group cq_group_corpus_build = {
    .name = "corpus-build",
    CQ_ROWS(cq_corpus_build_options, option_rows),
    CQ_FIELDS(CQ_CALLBACK(cq_corpus_build_options, notice), CQ_CALLBACK(cq_corpus_build_options, progress))};

static size_t n_steps(void) {
  size_t n = 0;
  while (cq_steps[n].name) n++;
  return n;
}

static const char *step_name(const void *context, size_t i) {
  (void)context;
  return cq_steps[i].name;
}

static bool is_set_here(const cq_step *s, const char *name) {
  for (const char *const *other = s->set_here; *other; other++)
    if (strcmp(*other, name) == 0) return true;
  return false;
}

/* --- the configuration --- */

static cq_status check_sections(const cq_config *c, const char *path, cq_error *error) {
  size_t n_sources = 0;
  for (size_t i = 0; i < c->n; i++) {
    size_t s = 0;
    if (c->lines[i].name) continue;
    while (cq_steps[s].name && strcmp(cq_steps[s].name, c->lines[i].section) != 0) s++;
    const char *near = cq_nearest_name(c->lines[i].section, step_name, NULL, n_steps());
    if (!cq_steps[s].name)
      return cq_fail_line(error, CQ_ERR_ARGUMENT, path, c->lines[i].line, "there is no step '%s'%s%s%s",
                          c->lines[i].section, near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
    n_sources += cq_steps[s].is_source;
  }
  return n_sources == 1 ? CQ_OK
                        : cq_fail_file(error, CQ_ERR_ARGUMENT, path,
                                       "one section must say where the text is from, there are %zu: "
                                       "[align], [mine] or [convert]",
                                       n_sources);
}

static bool has_section(const cq_config *c, const char *name) {
  for (size_t i = 0; i < c->n; i++)
    if (!c->lines[i].name && strcmp(c->lines[i].section, name) == 0) return true;
  return false;
}

/* The options of a step's section, not yet checked as a whole: its input and output are missing. */
static cq_status read_options(cq_options **out, const cq_step *s, const cq_config *c, const char *path,
                              cq_error *error) {
  cq_status status = cq_options_new(out, s->group, error);
  for (size_t i = 0; !status && i < c->n; i++) {
    const cq_config_line *l = &c->lines[i];
    if (!l->name || strcmp(l->section, s->name) != 0) continue;
    cq_error inner = {0};
    if (is_set_here(s, l->name))
      status = cq_fail_line(error, CQ_ERR_ARGUMENT, path, l->line, "the step itself sets %s", l->name);
    else if (cq_options_set(*out, l->name, l->value, &inner))
      status = cq_fail_line(error, CQ_ERR_ARGUMENT, path, l->line, "%s", inner.message);
  }
  /* The others are checked by their functions, which have more options then. */
  if (!status && s->group == &cq_group_corpus_split) status = cq_options_check(*out, error);
  return status;
}

/* --- what is done --- */

static cq_identity add_file(cq_identity id, const char *path) {
  struct stat at = {0};
  if (path && stat(path, &at) == 0 && S_ISREG(at.st_mode)) {
    const int64_t state[] = {at.st_size, at.st_mtim.tv_sec, at.st_mtim.tv_nsec};
    id = cq_hash128_add(id, state, sizeof state);
  }
  return id;
}

/* What a step's rows depend on: the step before, its options, and the files that they name. */
static cq_status identify(cq_identity *id, const cq_step *s, const cq_options *options, cq_error *error) {
  char *json = NULL, *value;
  cq_status status = cq_options_json(&json, options, error);
  if (status) return status;
  *id = cq_hash128_add(*id, s->name, strlen(s->name));
  *id = cq_hash128_add(*id, json, strlen(json));
  cq_free(json);
  const cq_option *row;
  for (size_t r = 0; !status && (row = cq_options_row(options, r)); r++) {
    for (size_t i = 0; !status && row->type >= CQ_OPTION_TEXT; i++) {
      status = cq_options_get(&value, options, row->name, i, error);
      if (status || !value) break;
      *id = add_file(*id, value);
      cq_free(value);
    }
  }
  return status;
}

static void take_counts(cq_step_result *r, const cq_corpus_counts *counts) {
  r->n_read = counts->n_read, r->n_written = counts->n_written, r->n_reasons = counts->n_reasons;
  for (size_t i = 0; i < counts->n_reasons; i++) {
    cq_slice_copy(r->dropped[i].reason, sizeof r->dropped[i].reason, cq_slice_of(counts->dropped[i].reason));
    r->dropped[i].n = counts->dropped[i].n;
  }
}

/* Reads what a step did; false: it was not done like this. */
static bool read_done(cq_step_result *r, const char *path, const char *identity) {
  char line[256], found[CQ_IDENTITY_HEX] = "";
  FILE *file = fopen(path, "r");
  if (!file) return false;
  bool is_same = fgets(line, sizeof line, file) && sscanf(line, "%32s", found) == 1 && strcmp(found, identity) == 0 &&
                 fgets(line, sizeof line, file) &&
                 sscanf(line, "%" SCNu64 "\t%" SCNu64, &r->n_read, &r->n_written) == 2;
  for (r->n_reasons = 0; is_same && r->n_reasons < CQ_CORPUS_MAX_REASONS && fgets(line, sizeof line, file);)
    if (sscanf(line, "%" SCNu64 "\t%63[^\n]", &r->dropped[r->n_reasons].n, r->dropped[r->n_reasons].reason) == 2)
      r->n_reasons++;
  fclose(file);
  return is_same;
}

static cq_status write_done(const cq_step_result *r, const char *path, const char *identity, cq_error *error) {
  cq_writer w;
  cq_status status = cq_writer_open(&w, path, error);
  if (status) return status;
  fprintf(w.stream, "%s\n%" PRIu64 "\t%" PRIu64 "\n", identity, r->n_read, r->n_written);
  for (size_t i = 0; i < r->n_reasons; i++)
    fprintf(w.stream, "%" PRIu64 "\t%s\n", r->dropped[i].n, r->dropped[i].reason);
  status = cq_writer_commit(&w, error);
  cq_writer_abort(&w);
  return status;
}

static void tell(const cq_building *b, const cq_step_result *r, bool was_done) {
  cq_builder text = {0};
  cq_builder_printf(&text, "%s%s: %" PRIu64 " rows read, %" PRIu64 " written", r->step->name,
                    was_done ? " (done already)" : "", r->n_read, r->n_written);
  for (size_t i = 0; i < r->n_reasons; i++)
    cq_builder_printf(&text, "%s %" PRIu64 " %s", i ? "," : ";", r->dropped[i].n, r->dropped[i].reason);
  if (!text.failed) CQ_NOTIFY(b->o, "%s", text.data);
  cq_builder_free(&text);
}

static cq_status step_paths(cq_step_result *r, char done[CQ_STEP_PATH], const cq_building *b, size_t number,
                            cq_error *error) {
  char name[64];
  cq_snprintf(name, sizeof name, "steps/%zu-%s.tsv", number, r->step->name);
  cq_status status = cq_path_join(r->rows, sizeof r->rows, b->o->output, name, error);
  cq_snprintf(name, sizeof name, "steps/%zu-%s.rejected.tsv", number, r->step->name);
  if (!status) status = cq_path_join(r->rejected, sizeof r->rejected, b->o->output, name, error);
  cq_snprintf(name, sizeof name, "steps/%zu-%s.done", number, r->step->name);
  return status ? status : cq_path_join(done, CQ_STEP_PATH, b->o->output, name, error);
}

static cq_status do_step(cq_step_result *r, cq_identity *id, const cq_building *b, cq_options *options,
                         const char *input, size_t number, cq_error *error) {
  char done[CQ_STEP_PATH], identity[CQ_IDENTITY_HEX];
  cq_corpus_counts counts = {0};
  cq_status status = step_paths(r, done, b, number, error);
  if (!status) status = identify(id, r->step, options, error);
  if (status) return status;
  cq_identity_hex(identity, *id);
  const bool was_done = read_done(r, done, identity);
  if (!was_done) {
    remove(done);
    status = r->step->run(&counts, b, options, input, r->rows, error);
    if (!status) take_counts(r, &counts);
    if (!status) status = write_done(r, done, identity, error);
  }
  if (!status) tell(b, r, was_done);
  return status;
}

static cq_status make_folders(const char *output, cq_error *error) {
  char steps[CQ_STEP_PATH];
  cq_status status = cq_path_join(steps, sizeof steps, output, "steps", error);
  return status ? status : cq_directory_make(steps, error);
}

static cq_status do_steps(const cq_building *b, const cq_config *c, cq_options *options[CQ_STEP_MAX], cq_error *error) {
  cq_step_result *results = cq_alloc_array_zeroed(CQ_STEP_MAX, sizeof *results);
  cq_identity id = cq_hash128("corpus", 6);
  char report[CQ_STEP_PATH];
  size_t n = 0;
  cq_status status = results ? make_folders(b->o->output, error) : cq_fail_memory(error, "steps");
  for (size_t s = 0; !status && cq_steps[s].name; s++) {
    if (!has_section(c, cq_steps[s].name) && cq_steps[s].group != &cq_group_corpus_split) continue; /* it is the last */
    results[n].step = &cq_steps[s];
    status = do_step(&results[n], &id, b, options[s], n ? results[n - 1].rows : NULL, n + 1, error);
    n++;
  }
  if (!status) status = cq_path_join(report, sizeof report, b->o->output, "report.html", error);
  if (!status) status = cq_corpus_report(report, results, n, error);
  cq_free(results);
  return status;
}

cq_status cq_corpus_build(const cq_corpus_build_options *options, cq_context *ctx, cq_error *error) {
  cq_corpus_build_options o;
  cq_config config = {0};
  cq_options *of_steps[CQ_STEP_MAX] = {NULL};
  cq_status status = cq_options_take(&o, &cq_group_corpus_build, options, error);
  if (status) return status;
  const cq_building b = {&o, ctx};
  status = cq_config_read(&config, o.config, error);
  if (!status) status = check_sections(&config, o.config, error);
  for (size_t s = 0; !status && cq_steps[s].name; s++) /* all of it, before the work */
    status = read_options(&of_steps[s], &cq_steps[s], &config, o.config, error);
  if (!status) status = do_steps(&b, &config, of_steps, error);
  for (size_t s = 0; s < CQ_STEP_MAX; s++) cq_options_free(of_steps[s]);
  cq_config_free(&config);
  return status;
}

/* --- the complete configuration --- */

static cq_status put_step(cq_builder *out, const cq_step *s, cq_error *error) {
  cq_options *options;
  const cq_option *row;
  cq_status status = cq_options_new(&options, s->group, error);
  cq_builder_printf(out, "%s# %s\n[%s]\n", out->n ? "\n" : "", s->does, s->name);
  for (size_t i = 0; !status && (row = cq_options_row(options, i)); i++) {
    char *value = NULL;
    if (is_set_here(s, row->name)) continue;
    status = cq_options_get(&value, options, row->name, 0, error);
    const bool is_needed = row->flags & CQ_OPTION_REQUIRED;
    cq_builder_printf(out, "# %s\n%s%s = %s\n", row->help, is_needed ? "" : "#", row->name,
                      value           ? value
                      : row->argument ? row->argument
                                      : "");
    cq_free(value);
  }
  cq_options_free(options);
  return status;
}

cq_status cq_corpus_build_config(char **out, cq_error *error) {
  cq_builder text = {0};
  cq_status status = CQ_OK;
  *out = NULL;
  for (size_t s = 0; !status && cq_steps[s].name; s++) status = put_step(&text, &cq_steps[s], error);
  if (!status && text.failed) status = cq_fail_memory(error, "a configuration");
  if (!status && !(*out = cq_strndup(text.data, text.n))) status = cq_fail_memory(error, "a configuration");
  cq_builder_free(&text);
  return status;
}
