/* Joins two files of any formats on common sentences.
 *
 *   second file ── rows by their key, in memory ──┐
 *   first file ──── row by row ───────────────────┴──▶ row x row
 *
 * If the second file is too large for memory, both are first split on disk into parts by 64 bits of the key, and the
 * parts are joined one by one (the GRACE join of Kitsuregawa, Tanaka & Moto-oka 1983). */
#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/multimap.h"
#include "corpus/format.h"
#include "corpus/key.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_PARTS = 256 };

static const char first_alone[] = "of the first, without a partner";
static const char second_alone[] = "of the second, without a partner";

/* "A,B" to two columns from 1 on. */
static bool parse_joined_columns(size_t out[2], const char *text) {
  const char *comma = strchr(text, ',');
  double numbers[2];
  if (!comma || !cq_slice_number(&numbers[0], (cq_slice){text, (size_t)(comma - text)}) ||
      !cq_slice_number(&numbers[1], cq_slice_of(comma + 1)))
    return false;
  for (int i = 0; i < 2; i++) {
    if (!(numbers[i] >= 1 && numbers[i] <= CQ_ROW_MAX) || numbers[i] != floor(numbers[i])) return false;
    out[i] = (size_t)numbers[i];
  }
  return true;
}

#define O cq_corpus_pivot_options
static const cq_option option_rows[] = {
    {CQ_TEXT(O, "first", first, CHANGES, "FILE", "the corpus whose other columns come first"),
     .flags = CQ_OPTION_REQUIRED},
    {CQ_TEXT(O, "second", second, CHANGES, "FILE", "the corpus whose other columns come after these"),
     .flags = CQ_OPTION_REQUIRED},
    {CQ_TEXT(O, "on", on, CHANGES, "A,B", "the column in each file with the language that both files share"),
     .text = "1,1"},
    CQ_CORPUS_MATCH_ROW(O, CQ_CORPUS_EXACT),
    {CQ_COUNT(O, "max-partners", max_partners, CHANGES, 0, 0, 0, "N",
              "maximum number of partners of a row: a sentence that occurs often in both files gives many rows"),
     .otherwise = "all"},
    {CQ_NUMBER(O, "memory", memory_gb, CHANGES, 1, 0, 1e6, "GIB",
               "memory for the second file, approximately; a larger one is split on disk, in $TMPDIR"),
     .flags = CQ_OPTION_ABOVE_MIN},
    CQ_CORPUS_OUTPUT_ROWS(O),
};
#undef O
static cq_status check_pivot_options(const void *options, cq_error *error) {
  const cq_corpus_pivot_options *o = options;
  size_t on[2];
  if (!o->on || !parse_joined_columns(on, o->on))
    return cq_fail(error, CQ_ERR_ARGUMENT, "on is '%s', expected two columns from 1 to %d, as 1,2", o->on ? o->on : "",
                   CQ_ROW_MAX);
  if (!strcmp(o->first, "-") && !strcmp(o->second, "-"))
    return cq_fail(error, CQ_ERR_ARGUMENT, "both files are standard input");
  return CQ_OK;
}
const cq_option_group cq_group_corpus_pivot =
    CQ_CORPUS_GROUP("corpus-pivot", cq_corpus_pivot_options, check_pivot_options);

typedef struct pivot {
  const cq_corpus_pivot_options *o;
  const char *inputs[2];
  size_t on[2];
  cq_corpus_flow flow;
  cq_corpus_counts *counts;
  cq_row_writer writer;
  cq_builder key, line;
  cq_pairs lines;           /* rows of other formats, as tab-separated ones */
  char names[2][2][64];     /* the languages of each file's columns; "": it does not name them */
  const char *languages[2]; /* of the output's */
} pivot;

static cq_status pivot_key(cq_slice *out, pivot *p, const cq_row *row, size_t side, cq_error *error) {
  cq_builder_clear(&p->key);
  cq_key_text(&p->key, row->columns[p->on[side] - 1], p->o->match);
  *out = cq_built(&p->key);
  return p->key.failed ? cq_fail_memory(error, "sentences") : CQ_OK;
}

/* --- rows --- */

/* A reader of a file, or of a part of it; a part has a separate flow, because its rows were already counted. */
static cq_source rows_of(const pivot *p, size_t side, const char *const *path, const cq_corpus_flow *flow,
                         cq_corpus_counts *counts) {
  const size_t on = p->on[side];
  return (cq_source)CQ_SOURCE(path, 1, on > 2 ? on : 2, flow, counts);
}

/* Notes what the columns' languages are; those that are joined must be the same one. */
static cq_status note_names(pivot *p, size_t side, const cq_source *rows, cq_error *error) {
  const size_t c[2] = {p->on[0] - 1, p->on[1] - 1};
  if (p->names[side][0][0] || !rows->languages[1]) return CQ_OK;
  memcpy(p->names[side], rows->names, sizeof rows->names);
  if (!p->names[0][0][0] || !p->names[1][0][0]) return CQ_OK;
  if (!cq_is_same_language(p->names[0][c[0]], p->names[1][c[1]]))
    return cq_fail_file(error, CQ_ERR_ARGUMENT, p->inputs[1],
                        "column %zu is of language '%s', column %zu of %s of '%s': --on A,B joins others", p->on[1],
                        p->names[1][c[1]], p->on[0], p->inputs[0], p->names[0][c[0]]);
  for (size_t s = 0; s < 2; s++) p->languages[s] = p->names[s][1 - c[s]];
  if (!p->o->n_languages) p->writer.pairs.languages = p->languages, p->writer.pairs.n_languages = 2;
  return CQ_OK;
}

/* The next row; one of another format becomes a line of tab-separated columns. */
static bool next_pivot_row(cq_status *status, cq_row *out, pivot *p, size_t side, cq_source *rows, cq_error *error) {
  if (!cq_source_more(status, out, rows, error)) return false;
  if (out->line.data) return true;
  if (out->n < rows->files.min_columns)
    *status = cq_fail_file(error, CQ_ERR_FORMAT, p->inputs[side], "%zu columns, expected at least %zu", out->n,
                           rows->files.min_columns);
  if (!*status) *status = note_names(p, side, rows, error);
  cq_builder_clear(&p->line);
  if (!*status) *status = cq_pairs_render(&p->line, &p->lines, (cq_slice){0}, out->columns, out->n, NULL, error);
  if (*status) return false;
  out->line = (cq_slice){p->line.data, p->line.n - 1};
  out->n = cq_tsv_split(out->columns, CQ_ROW_MAX, out->line);
  return true;
}

/* --- in memory --- */

/* Rows of the second file: the build side of a hash join. */
typedef struct second_rows {
  cq_multimap rows; /* by key */
  cq_slice *lines;  /* [rows.n] */
  bool *is_used;    /* [rows.n] of the first one of a key */
  size_t capacities[2];
  cq_arena arena;
} second_rows;

static cq_status add_second_row(second_rows *s, cq_slice key, cq_slice line, cq_error *error) {
  const size_t n = s->rows.n + 1;
  const char *copy = cq_arena_strndup(&s->arena, line.data, line.n);
  if (!copy || !cq_reserve((void **)&s->lines, &s->capacities[0], n, sizeof *s->lines) ||
      !cq_reserve((void **)&s->is_used, &s->capacities[1], n, sizeof *s->is_used) || !cq_multimap_add(&s->rows, key))
    return cq_fail_memory(error, "rows of the second file");
  s->lines[n - 1] = (cq_slice){copy, line.n};
  s->is_used[n - 1] = false;
  return CQ_OK;
}

/* The row's other columns, then the partner's. */
static cq_status write_pair(pivot *p, const cq_row *row, cq_slice partner, cq_error *error) {
  cq_row of_partner, out = {.n = 0};
  of_partner.n = cq_tsv_split(of_partner.columns, CQ_ROW_MAX, partner);
  if (row->n + of_partner.n - 2 > CQ_ROW_MAX)
    return cq_fail(error, CQ_ERR_LIMIT, "a row of more than %d columns", CQ_ROW_MAX);
  const cq_row *sides[2] = {row, &of_partner};
  for (size_t s = 0; s < 2; s++)
    for (size_t c = 0; c < sides[s]->n; c++)
      if (c + 1 != p->on[s]) out.columns[out.n++] = sides[s]->columns[c];
  return cq_row_writer_put(&p->writer, &out, error);
}

static cq_status join_row(pivot *p, second_rows *s, const cq_row *row, cq_error *error) {
  cq_slice key;
  cq_status status = pivot_key(&key, p, row, 0, error);
  if (status) return status;
  const uint32_t first = key.n ? cq_multimap_first(&s->rows, key) : CQ_MULTIMAP_NONE;
  if (first == CQ_MULTIMAP_NONE) {
    cq_corpus_drop(p->counts, first_alone);
    return CQ_OK;
  }
  assert(s->is_used && first < s->rows.n);
  s->is_used[first] = true;
  size_t n = 0;
  for (uint32_t i = first; i != CQ_MULTIMAP_NONE && !status; i = cq_multimap_next(&s->rows, i)) {
    if (p->o->max_partners && n == p->o->max_partners) {
      cq_corpus_drop(p->counts, "with more partners than max-partners");
      break;
    }
    status = write_pair(p, row, s->lines[i], error);
    if (!status && ++n % CQ_CORPUS_EVERY == 0) status = cq_corpus_ask(p->counts, &p->flow, error);
  }
  return status;
}

/* Counts rows of the second file that have no partner in the first. */
static void count_alone(pivot *p, const second_rows *s) {
  bool *is_known = s->is_used;
  for (uint32_t i = 0; i < s->rows.n; i++) {
    const uint32_t next = cq_multimap_next(&s->rows, i);
    if (next != CQ_MULTIMAP_NONE) is_known[next] = is_known[i]; /* the first row of a key decides for all */
    if (!is_known[i]) cq_corpus_drop(p->counts, second_alone);
  }
}

static cq_status join_files(pivot *p, const char *const paths[2], const cq_corpus_flow *flow, cq_corpus_counts *counts,
                            cq_error *error) {
  second_rows s = {0};
  cq_row row;
  cq_status status = CQ_OK;
  for (size_t side = 2; !status && side-- > 0;) {
    cq_source rows = rows_of(p, side, &paths[side], flow, counts);
    while (next_pivot_row(&status, &row, p, side, &rows, error)) {
      cq_slice key;
      if (side == 0)
        status = join_row(p, &s, &row, error);
      else if (!(status = pivot_key(&key, p, &row, side, error)))
        status = add_second_row(&s, key, row.line, error);
    }
    cq_source_close(&rows);
  }
  if (!status) count_alone(p, &s);
  cq_multimap_free(&s.rows);
  cq_free(s.lines);
  cq_free(s.is_used);
  cq_arena_free(&s.arena);
  return status;
}

/* --- on disk --- */

static void pivot_part_path(char *out, size_t size, const char *directory, size_t side, size_t part) {
  snprintf(out, size, "%s/%zu-%zu", directory, side, part);
}

/* Parts get a byte-order mark and extra carriage returns: reading lines removes these instead of the rows' own. */
static const char mark[] = "\xEF\xBB\xBF";

static cq_status split_file(pivot *p, const char *directory, size_t side, size_t n_parts, cq_error *error) {
  char path[PATH_MAX];
  FILE *parts[MAX_PARTS];
  cq_row row;
  cq_status status = CQ_OK;
  cq_source rows = rows_of(p, side, &p->inputs[side], &p->flow, p->counts);
  for (size_t i = 0; i < n_parts; i++) parts[i] = NULL;
  for (size_t i = 0; i < n_parts && !status; i++) {
    pivot_part_path(path, sizeof path, directory, side, i);
    if (!(parts[i] = fopen(path, "wbe")) || fputs(mark, parts[i]) == EOF)
      status = cq_fail_errno(error, path, "cannot create");
  }
  while (next_pivot_row(&status, &row, p, side, &rows, error)) {
    cq_slice key;
    status = pivot_key(&key, p, &row, side, error);
    if (status) break;
    FILE *part = parts[(cq_hash64(key.data, key.n, 0) >> 32) % n_parts];
    if (fwrite(row.line.data, 1, row.line.n, part) != row.line.n || fputs("\r\n", part) == EOF)
      status = cq_fail_errno(error, directory, "cannot write");
  }
  for (size_t i = 0; i < n_parts; i++)
    if (parts[i] && fclose(parts[i]) != 0 && !status) status = cq_fail_errno(error, directory, "cannot write");
  cq_source_close(&rows);
  return status;
}

static cq_status join_parts(pivot *p, size_t n_parts, cq_error *error) {
  cq_corpus_flow flow = p->flow;
  flow.skip_bad = false; /* they were skipped */
  cq_corpus_counts uncounted = {0};
  char path[2][PATH_MAX];
  cq_directory_writer w;
  cq_status status = cq_directory_writer_temporary(&w, "calque-pivot", error);
  if (status) return status;
  const char *directory = w.temporary;
  for (size_t side = 0; !status && side < 2; side++) status = split_file(p, directory, side, n_parts, error);
  for (size_t i = 0; !status && i < n_parts; i++) {
    for (size_t side = 0; side < 2; side++) pivot_part_path(path[side], sizeof path[side], directory, side, i);
    status = join_files(p, (const char *const[2]){path[0], path[1]}, &flow, &uncounted, error);
    for (size_t side = 0; side < 2; side++) unlink(path[side]);
  }
  cq_directory_writer_abort(&w);
  return status;
}

/* The number of parts for the second file, by its size on disk. */
static size_t count_parts(const cq_corpus_pivot_options *o) {
  enum { OF_COMPRESSED = 6, OF_A_ROW = 8 }; /* estimated growth of compressed text, and of a short row in memory */
  const double memory = o->memory_gb * (1 << 30);
  const char *path = o->second;
  struct stat info;
  if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) return 64; /* a pipe: its size is unknown */
  const double bytes = (double)info.st_size * (cq_compression_ending(path) ? OF_COMPRESSED : 1) * OF_A_ROW;
  return bytes < memory ? 1 : (size_t)fmin(MAX_PARTS, ceil(2 * bytes / memory));
}

cq_status cq_corpus_pivot(cq_corpus_counts *counts, const cq_corpus_pivot_options *options, cq_error *error) {
  cq_corpus_pivot_options o;
  *counts = (cq_corpus_counts){0};
  cq_status status = cq_options_take(&o, &cq_group_corpus_pivot, options, error);
  if (status) return status;
  pivot p = {.o = &o, .inputs = {o.first, o.second}, .flow = CQ_CORPUS_FLOW(&o), .counts = counts};
  p.lines.kind = CQ_PAIRS_AS_TSV;
  parse_joined_columns(p.on, o.on); /* which was checked */
  const size_t n_parts = count_parts(&o);
  status = cq_row_writer_open(&p.writer, &p.flow, counts, error);
  if (status) return status;
  p.flow.n_languages = 0; /* they are the output's */
  status = n_parts > 1 ? join_parts(&p, n_parts, error) : join_files(&p, p.inputs, &p.flow, counts, error);
  cq_builder_free(&p.key);
  cq_builder_free(&p.line);
  cq_builder_free(&p.lines.room);
  return cq_row_writer_finish(&p.writer, status, error);
}
