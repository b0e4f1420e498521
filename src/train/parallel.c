/* Reads pairs of sentences into memory and tokenizes them once. See parallel.h. */
#include "train/parallel.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "calque/lines.h"
#include "format/tsv.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { MAX_COLUMNS = 64 };

/* A pair as read, before translations of the same source are combined. */
typedef struct raw_pair {
  uint32_t next; /* next pair of the same source + 1; 0: none */
  cq_slice target, third;
} raw_pair;

typedef struct reading {
  cq_parallel *data;
  const cq_parallel_options *options;
  cq_parallel_set *set;
  raw_pair *pairs;
  size_t n_pairs, capacity;
  uint32_t *entry_sources; /* in order of first sight */
  size_t n_entries, entry_capacity;
  uint32_t *first_pair, *last_pair; /* by entry, + 1 */
  size_t first_capacity, last_capacity;
  cq_map entry_of; /* source bytes (borrowed) -> entry in this file */
} reading;

static cq_status keep_text(cq_slice *out, cq_parallel *data, cq_slice text, cq_error *error) {
  char *copy = cq_arena_strndup(&data->text, text.data, text.n);
  if (!copy) return cq_fail_memory(error, "parallel text");
  *out = (cq_slice){copy, text.n};
  return CQ_OK;
}

static cq_status source_id(uint32_t *out, cq_parallel *data, cq_slice text, cq_error *error) {
  uint64_t id = cq_map_get(&data->source_ids, text);
  if (id == CQ_MAP_NONE) {
    id = data->n_sources;
    if (!cq_reserve((void **)&data->sources, &data->source_capacity, data->n_sources + 1, sizeof *data->sources))
      return cq_fail_memory(error, "parallel text");
    cq_status status = keep_text(&data->sources[id], data, text, error);
    if (status) return status;
    if (!cq_map_put_borrowed(&data->source_ids, data->sources[id], id)) return cq_fail_memory(error, "parallel text");
    data->n_sources++;
  }
  *out = (uint32_t)id;
  return CQ_OK;
}

/* A source's entry in this file, made if new; *full: the limit of entries is reached. */
static cq_status entry_of(uint32_t *out, bool *full, reading *r, cq_slice text, cq_error *error) {
  uint64_t known = cq_map_get(&r->entry_of, text);
  *full = false;
  if (known == CQ_MAP_NONE) {
    if (r->options->max_entries > 0 && (int64_t)r->n_entries >= r->options->max_entries) {
      *full = true;
      return CQ_OK;
    }
    uint32_t source = 0;
    cq_status status = source_id(&source, r->data, text, error);
    if (status) return status;
    known = r->n_entries;
    if (!cq_reserve((void **)&r->entry_sources, &r->entry_capacity, known + 1, sizeof *r->entry_sources) ||
        !cq_reserve((void **)&r->first_pair, &r->first_capacity, known + 1, sizeof *r->first_pair) ||
        !cq_reserve((void **)&r->last_pair, &r->last_capacity, known + 1, sizeof *r->last_pair) ||
        !cq_map_put_borrowed(&r->entry_of, r->data->sources[source], known))
      return cq_fail_memory(error, "parallel text");
    r->entry_sources[known] = source;
    r->first_pair[known] = r->last_pair[known] = 0;
    r->n_entries++;
  }
  *out = (uint32_t)known;
  return CQ_OK;
}

static bool is_too_long(const reading *r, cq_slice text) {
  const int limit = r->options->max_characters;
  return limit > 0 && cq_utf8_length(text.data, text.n) > (size_t)limit;
}

/* Adds a translation to an entry, once: an entry's translations are a set. */
static cq_status add_translation_of(reading *r, uint32_t entry, cq_slice target, cq_slice third, cq_error *error) {
  assert(r->first_pair && entry < r->n_entries);
  for (uint32_t p = r->first_pair[entry]; p; p = r->pairs[p - 1].next) {
    if (cq_slice_equal(r->pairs[p - 1].target, target) && cq_slice_equal(r->pairs[p - 1].third, third)) return CQ_OK;
  }
  if (r->n_pairs >= UINT32_MAX - 1 - r->data->n_targets)
    return cq_fail(error, CQ_ERR_LIMIT, "more than %u pairs", UINT32_MAX - 1);
  if (!cq_reserve((void **)&r->pairs, &r->capacity, r->n_pairs + 1, sizeof *r->pairs))
    return cq_fail_memory(error, "parallel text");
  raw_pair *pair = &r->pairs[r->n_pairs];
  *pair = (raw_pair){0};
  cq_status status = CQ_OK;
  if (r->options->plain)
    pair->target = r->data->sources[r->entry_sources[entry]]; /* the same bytes: cq_parallel_is_plain */
  else
    status = keep_text(&pair->target, r->data, target, error);
  if (!status && third.n) status = keep_text(&pair->third, r->data, third, error);
  if (status) return status;
  const uint32_t number = (uint32_t)++r->n_pairs;
  if (r->last_pair[entry])
    r->pairs[r->last_pair[entry] - 1].next = number;
  else
    r->first_pair[entry] = number;
  r->last_pair[entry] = number;
  return CQ_OK;
}

/* Text of one language. */
static cq_status read_alone(bool *full, reading *r, const cq_lines *lines, const cq_slice *columns, size_t n,
                            cq_error *error) {
  const size_t column = (size_t)r->options->only_column;
  uint32_t entry = 0;
  if (n < column || columns[column - 1].n == 0)
    return cq_fail_line(error, CQ_ERR_FORMAT, cq_lines_path(lines), cq_lines_number(lines),
                        n < column ? "there is no column %zu" : "column %zu is empty", column);
  if (is_too_long(r, columns[column - 1])) {
    r->set->n_long++;
    return CQ_OK;
  }
  const cq_status status = entry_of(&entry, full, r, columns[column - 1], error);
  return status || *full ? status : add_translation_of(r, entry, columns[column - 1], (cq_slice){0}, error);
}

static cq_status read_plain(bool *full, reading *r, const cq_lines *lines, cq_slice line, cq_error *error) {
  const bool has_tab = line.n > 0 && memchr(line.data, '\t', line.n);
  const bool is_json = line.n > 1 && !memcmp(line.data, "{\"", 2) && line.data[line.n - 1] == '}';
  uint32_t entry = 0;
  if (line.n == 0 || has_tab || is_json)
    return cq_fail_line(error, CQ_ERR_FORMAT, cq_lines_path(lines), cq_lines_number(lines), "%s",
                        has_tab   ? "a tab, expected a sentence without translations"
                        : is_json ? "a JSON object, expected a sentence"
                                  : "an empty line");
  if (is_too_long(r, line)) {
    r->set->n_long++;
    return CQ_OK;
  }
  const cq_status status = entry_of(&entry, full, r, line, error);
  return status || *full ? status : add_translation_of(r, entry, line, (cq_slice){0}, error);
}

/* A pair and what is said of it. */
static cq_status read_with_third(bool *full, reading *r, const cq_lines *lines, const cq_slice *columns, size_t n,
                                 cq_error *error) {
  const cq_parallel_options *o = r->options;
  const bool with_negative = o->third == CQ_THIRD_NEGATIVE;
  const char *path = cq_lines_path(lines);
  const uint64_t number = cq_lines_number(lines);
  double score;
  if (n < (with_negative ? 2 : 3) || (with_negative && n > 3))
    return cq_fail_line(error, CQ_ERR_FORMAT, path, number, "%zu column%s, expected two sentences and %s", n,
                        n == 1 ? "" : "s",
                        o->third == CQ_THIRD_LABEL   ? "a label"
                        : o->third == CQ_THIRD_SCORE ? "a score"
                                                     : "optionally a hard negative");
  if (n > 3) n = 3;
  const cq_label_kind kind = o->third == CQ_THIRD_LABEL ? cq_tsv_label(columns, 2, number == 1) : CQ_LABEL;
  r->set->n_unlabeled += kind == CQ_LABEL_MISSING, r->set->n_headers += kind == CQ_LABEL_HEADER;
  if (kind == CQ_LABEL_SWAPPED)
    return cq_fail_line(error, CQ_ERR_ARGUMENT, path, number, "the label is in column 1, expected in column 3");
  if (kind) return CQ_OK;
  for (size_t c = 0; c < n; c++)
    if (columns[c].n == 0) return cq_fail_line(error, CQ_ERR_FORMAT, path, number, "column %zu is empty", c + 1);
  if (o->third == CQ_THIRD_SCORE && !(cq_slice_number(&score, columns[2]) && score >= 0 && score <= o->max_score))
    return cq_fail_line(error, CQ_ERR_FORMAT, path, number, "'%.*s' is not a score from 0 to %g",
                        (int)(columns[2].n < 40 ? columns[2].n : 40), columns[2].data, o->max_score);
  if (is_too_long(r, columns[0]) || is_too_long(r, columns[1]) ||
      (with_negative && n == 3 && is_too_long(r, columns[2]))) {
    r->set->n_long++;
    return CQ_OK;
  }
  const cq_slice third = n < 3 ? (cq_slice){0} : o->third == CQ_THIRD_LABEL ? cq_slice_trimmed(columns[2]) : columns[2];
  uint32_t entry = 0;
  const cq_status status = entry_of(&entry, full, r, columns[0], error);
  return status || *full ? status : add_translation_of(r, entry, columns[1], third, error);
}

static cq_status read_line(bool *full, reading *r, const cq_lines *lines, cq_slice line, cq_error *error) {
  cq_slice columns[MAX_COLUMNS];
  const char *path = cq_lines_path(lines);
  const uint64_t number = cq_lines_number(lines);
  if (r->options->plain) return read_plain(full, r, lines, line, error);
  const size_t n = cq_tsv_split(columns, MAX_COLUMNS, line);
  if (r->options->only_column) return read_alone(full, r, lines, columns, n < MAX_COLUMNS ? n : MAX_COLUMNS, error);
  if (r->options->third) return read_with_third(full, r, lines, columns, n < MAX_COLUMNS ? n : MAX_COLUMNS, error);
  if (n < 2)
    return cq_fail_line(error, CQ_ERR_FORMAT, path, number,
                        "%zu column, expected a source and at least one translation separated by tabs", n);
  if (n > MAX_COLUMNS)
    return cq_fail_line(error, CQ_ERR_FORMAT, path, number, "%zu columns, expected at most %d", n, MAX_COLUMNS);
  for (size_t c = 0; c < n; c++) {
    if (columns[c].n == 0) return cq_fail_line(error, CQ_ERR_FORMAT, path, number, "column %zu is empty", c + 1);
  }
  size_t n_usable = 0; /* a source without a translation is not given to the teacher */
  for (size_t c = 1; c < n; c++) n_usable += !is_too_long(r, columns[c]);
  if (n_usable == 0 || is_too_long(r, columns[0])) {
    r->set->n_long += n - 1;
    return CQ_OK;
  }
  uint32_t entry = 0;
  cq_status status = entry_of(&entry, full, r, columns[0], error);
  for (size_t c = 1; !status && !*full && c < n; c++) {
    if (is_too_long(r, columns[c]))
      r->set->n_long++;
    else
      status = add_translation_of(r, entry, columns[c], (cq_slice){0}, error);
  }
  return status;
}

/* Moves the file's pairs into the shared arrays, with each entry's translations adjacent. */
static cq_status gather_pairs(reading *r, cq_error *error) {
  cq_parallel *d = r->data;
  if (!cq_reserve((void **)&d->entries, &d->entry_capacity, d->n_entries + r->n_entries, sizeof *d->entries) ||
      !cq_reserve((void **)&d->targets, &d->target_capacity, d->n_targets + r->n_pairs, sizeof *d->targets) ||
      !cq_reserve((void **)&d->thirds, &d->third_capacity, d->n_targets + r->n_pairs, sizeof *d->thirds))
    return cq_fail_memory(error, "parallel text");
  r->set->first_entry = (uint32_t)d->n_entries;
  for (size_t e = 0; e < r->n_entries; e++) {
    cq_entry entry = {.source = r->entry_sources[e], .first_target = (uint32_t)d->n_targets};
    for (uint32_t p = r->first_pair[e]; p; p = r->pairs[p - 1].next) {
      d->thirds[d->n_targets] = r->pairs[p - 1].third;
      d->targets[d->n_targets++] = r->pairs[p - 1].target;
    }
    entry.n_targets = (uint32_t)d->n_targets - entry.first_target;
    if (entry.n_targets) d->entries[d->n_entries++] = entry; /* all translations were too long: no entry */
  }
  r->set->n_entries = (uint32_t)d->n_entries - r->set->first_entry;
  r->set->n_pairs = (uint32_t)r->n_pairs;
  return CQ_OK;
}

cq_status cq_parallel_label(char *out, size_t out_size, const char *path, cq_error *error) {
  const char *start = path;
  int slashes = 0;
  for (const char *p = path + strlen(path); p > path; p--) {
    if (p[-1] == '/' && ++slashes == 2) {
      start = p;
      break;
    }
  }
  if (snprintf(out, out_size, "%s", start) >= (int)out_size)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, path, "the path is too long");
  static const char *const endings[] = {".gz", ".xz", ".zst", ".tsv", ".txt"};
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    const size_t n = strlen(out), m = strlen(endings[i]);
    if (n > m && !strcmp(out + n - m, endings[i])) out[n - m] = '\0';
  }
  return CQ_OK;
}

static cq_status read_parallel_lines(reading *r, const char *path, cq_error *error) {
  cq_lines *lines;
  cq_status status = cq_lines_open(&lines, path, error);
  if (status) return status;
  for (bool full = false; !full;) {
    cq_slice line;
    status = cq_lines_next(&line, lines, error);
    if (!status && !line.data) break;
    r->set->n_lines++;
    if (!status) status = read_line(&full, r, lines, line, error);
    if (!status) continue;
    if (!r->options->skip_bad || status != CQ_ERR_FORMAT || cq_lines_broken(lines)) break;
    r->set->n_bad++;
    status = CQ_OK;
  }
  cq_lines_close(lines);
  return status;
}

cq_status cq_parallel_add(cq_parallel *data, const char *path, const char *label, double weight,
                          const cq_parallel_options *options, cq_error *error) {
  char name[512];
  const bool is_named = label != NULL;
  cq_status status = CQ_OK;
  if (!label) {
    status = cq_parallel_label(name, sizeof name, path, error);
    label = name;
  }
  if (status) return status;
  if (!(weight > 0 && weight <= 1e12))
    return cq_fail_file(error, CQ_ERR_ARGUMENT, path, "the weight is %g, expected more than 0 and at most 1e12",
                        weight);
  if (!cq_reserve((void **)&data->sets, &data->set_capacity, data->n_sets + 1, sizeof *data->sets))
    return cq_fail_memory(error, path);
  cq_parallel_set *set = &data->sets[data->n_sets];
  *set = (cq_parallel_set){.path = cq_arena_strdup(&data->text, path),
                           .label = cq_arena_strdup(&data->text, label),
                           .is_named = is_named,
                           .weight = weight,
                           .plain = options->plain};
  if (!set->path || !set->label) return cq_fail_memory(error, path);
  reading r = {.data = data, .options = options, .set = set};
  status = read_parallel_lines(&r, path, error);
  if (!status) status = gather_pairs(&r, error);
  if (!status && set->n_entries == 0)
    status = cq_fail_file(error, CQ_ERR_FORMAT, path, "no %s (%llu lines, %llu malformed, %llu %stoo long)",
                          set->plain ? "sentences" : "sentence pairs", (unsigned long long)set->n_lines,
                          (unsigned long long)set->n_bad, (unsigned long long)set->n_long, set->plain ? "" : "pairs ");
  if (!status) data->n_sets++;
  cq_free(r.pairs);
  cq_free(r.entry_sources);
  cq_free(r.first_pair);
  cq_free(r.last_pair);
  cq_map_free(&r.entry_of);
  return status;
}

void cq_parallel_free(cq_parallel *data) {
  cq_free(data->sources);
  cq_free(data->targets);
  cq_free(data->thirds);
  cq_free(data->entries);
  cq_free(data->sets);
  cq_map_free(&data->source_ids);
  cq_arena_free(&data->text);
  *data = (cq_parallel){0};
}

cq_identity cq_parallel_identity(const cq_parallel *data, const cq_parallel_set *set) {
  cq_identity sum = {0};
  for (const cq_entry *e = data->entries + set->first_entry, *end = e + set->n_entries; e < end; e++) {
    sum = cq_hash128_add(sum, data->sources[e->source].data, data->sources[e->source].n);
    sum = cq_hash128_add(sum, &e->n_targets, sizeof e->n_targets);
    for (uint32_t i = e->first_target; i < e->first_target + e->n_targets; i++) {
      sum = cq_hash128_add(sum, data->targets[i].data, data->targets[i].n);
      sum = cq_hash128_add(sum, data->thirds[i].data, data->thirds[i].n);
    }
  }
  return sum;
}

uint64_t cq_parallel_pairs(const cq_parallel *data) {
  uint64_t n = 0;
  for (size_t i = 0; i < data->n_sets; i++) n += data->sets[i].n_pairs;
  return n;
}

void cq_parallel_summary(char out[CQ_PARALLEL_SUMMARY], const cq_parallel_set *set) {
  if (set->plain)
    snprintf(out, CQ_PARALLEL_SUMMARY, "%.800s: %u sentences (%llu lines, %llu malformed skipped, %llu too long%s)",
             set->label, set->n_entries, (unsigned long long)set->n_lines, (unsigned long long)set->n_bad,
             (unsigned long long)set->n_long, set->n_long ? ": --max-characters" : "");
  else
    snprintf(out, CQ_PARALLEL_SUMMARY,
             "%.800s: %u sources, %u pairs (%llu lines, %llu malformed skipped, %llu pairs too long%s)", set->label,
             set->n_entries, set->n_pairs, (unsigned long long)set->n_lines, (unsigned long long)set->n_bad,
             (unsigned long long)set->n_long, set->n_long ? ": --max-characters" : "");
  const size_t n = strlen(out);
  if (set->n_unlabeled || set->n_headers)
    snprintf(out + n, CQ_PARALLEL_SUMMARY - n, "; left out: %llu without a label (-1 or -)%s",
             (unsigned long long)set->n_unlabeled, set->n_headers ? ", the names of the columns" : "");
}
