/* Chooses a data set's files for a config and a split by their names. See dataset_files.h. */
#include "recipe/dataset/dataset_files.h"

#include "base/error.h"
#include "base/slice.h"

#include <stdlib.h>

static const char ending[] = ".parquet";

static bool is_parquet(const char *name) {
  const size_t n = strlen(name), n_ending = sizeof ending - 1;
  return n > n_ending && !strcmp(name + n - n_ending, ending);
}

static bool is_part(cq_slice part, const char *text) {
  return cq_slice_equal(part, cq_slice_of(text));
}

/* The name of a split's directory without the prefix "partial-", which it has if the hub converted only the
 * beginning. */
static cq_slice split_of(cq_slice part) {
  static const char *const partial = "partial-";
  const size_t n = strlen(partial);
  if (part.n > n && !memcmp(part.data, partial, n)) part.data += n, part.n -= n;
  return part;
}

static bool is_any_split(cq_slice part, const char *wanted) {
  static const char *const usual[] = {"train", "test", "validation", "valid", "val", "dev"};
  bool is = is_part(part, wanted);
  for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) is |= is_part(part, usual[i]);
  return is;
}

typedef struct place {
  cq_slice config, directory, file; /* directory: that of a split, or empty */
} place;

static place place_of(const char *name, const char *split) {
  const char *slash = strrchr(name, '/');
  const cq_slice all = {name, slash ? (size_t)(slash - name) : 0};
  place p = {.config = all, .directory = {"", 0}, .file = cq_slice_of(slash ? slash + 1 : name)};
  size_t last = all.n;
  while (last > 0 && name[last - 1] != '/') last--;
  const cq_slice part = {name + last, all.n - last};
  if (is_any_split(split_of(part), split)) {
    p.directory = split_of(part);
    p.config.n = last > 0 ? last - 1 : 0;
  }
  if (p.config.n >= 4 && !memcmp(p.config.data, "data", 4) && (p.config.n == 4 || p.config.data[4] == '/')) {
    const size_t n = p.config.n == 4 ? 4 : 5;
    p.config.data += n, p.config.n -= n;
  }
  if (p.config.n == 0) p.config = cq_slice_of("default");
  return p;
}

static bool is_separator(char c) {
  return c == '-' || c == '_' || c == '.';
}

/* Whether `word` is one of the words of a file's name ("train-00000-of-00001.parquet"). */
static bool has_word(cq_slice file, const char *word) {
  for (size_t from = 0; from < file.n;) {
    size_t n = 0;
    while (from + n < file.n && !is_separator(file.data[from + n])) n++;
    if (is_part((cq_slice){file.data + from, n}, word)) return true;
    from += n + 1;
  }
  /* A split name that itself contains separators: the file's name must begin with it. */
  const size_t n = strlen(word);
  return file.n > n && !memcmp(file.data, word, n) && is_separator(file.data[n]);
}

static bool is_of_split(const place *p, const char *split) {
  return p->directory.n ? is_part(p->directory, split) : has_word(p->file, split);
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Lists the configs in order: names are sorted, so a config's files are adjacent, except those of "default". */
static void list_configs(cq_builder *out, const char *const *names, size_t n, const char *split) {
  cq_slice last = {0};
  for (size_t i = 0; i < n; i++) {
    const cq_slice config = place_of(names[i], split).config;
    if (last.data && cq_slice_equal(config, last)) continue;
    if (out->n) cq_builder_text(out, ", ");
    cq_builder_bytes(out, config.data, config.n);
    last = config;
  }
}

static cq_status fail_config(const char *const *names, size_t n, const char *repository, const char *config,
                             const char *split, cq_error *error) {
  cq_builder list = {.limit = 500};
  cq_status status;
  list_configs(&list, names, n, split);
  const char *text = list.data ? list.data : "", *more = list.failed ? " ..." : "";
  if (config)
    status = cq_fail_file(error, CQ_ERR_ARGUMENT, repository, "no config '%.80s'; there are %s%s", config, text, more);
  else
    status = cq_fail_file(error, CQ_ERR_ARGUMENT, repository, "which config? %s%s", text, more);
  cq_builder_free(&list);
  return status;
}

static cq_status fail_split(const char *const *names, size_t n, const char *repository, const char *split,
                            cq_error *error) {
  return cq_fail_file(error, CQ_ERR_ARGUMENT, repository,
                      "no Parquet file of split '%.80s'; the config has %zu: %.200s%s", split, n, names[0],
                      n > 1 ? " ..." : "");
}

/* Keeps the names of a config. *is_clear false: config is NULL, but there are several configs. */
static size_t keep_config(const char **names, size_t n, bool *is_clear, const char *config, const char *split) {
  cq_slice wanted = config ? cq_slice_of(config) : place_of(names[0], split).config;
  bool is_one = true, has_default = false;
  for (size_t i = 0; i < n; i++) {
    const cq_slice own = place_of(names[i], split).config;
    is_one &= cq_slice_equal(own, wanted);
    has_default |= is_part(own, "default");
  }
  *is_clear = config || is_one || has_default;
  if (!config && !is_one) wanted = cq_slice_of("default");
  size_t kept = 0;
  for (size_t i = 0; *is_clear && i < n; i++)
    if (cq_slice_equal(place_of(names[i], split).config, wanted)) { /* swaps it with the first unwanted one */
      const char *name = names[i];
      names[i] = names[kept];
      names[kept++] = name;
    }
  return kept;
}

cq_status cq_dataset_choose(const char **names, size_t *n, bool *is_there, const char *repository, const char *config,
                            const char *split, cq_error *error) {
  size_t n_all = 0, kept = 0;
  bool is_clear;
  for (size_t i = 0; i < *n; i++)
    if (is_parquet(names[i])) names[n_all++] = names[i];
  *n = 0;
  *is_there = false;
  if (n_all == 0) return cq_fail_file(error, CQ_ERR_ARGUMENT, repository, "has no Parquet files");
  qsort(names, n_all, sizeof *names, compare_names);
  const size_t n_config = keep_config(names, n_all, &is_clear, config, split);
  *is_there = !is_clear;
  if (n_config == 0) {
    qsort(names, n_all, sizeof *names, compare_names);
    return fail_config(names, n_all, repository, config, split, error);
  }
  for (size_t i = 0; i < n_config; i++) {
    const place p = place_of(names[i], split);
    if (is_of_split(&p, split)) kept++;
  }
  if (kept == 0) return fail_split(names, n_config, repository, split, error);
  for (size_t i = 0; i < n_config; i++) {
    const place p = place_of(names[i], split);
    if (is_of_split(&p, split)) names[(*n)++] = names[i];
  }
  qsort(names, *n, sizeof *names, compare_names);
  *is_there = true;
  return CQ_OK;
}
