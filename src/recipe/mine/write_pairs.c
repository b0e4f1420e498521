/* Writes mined pairs: lines of tab-separated columns or of JSON, one file per side, or a format of format/pairs.h. */
#include "base/error.h"
#include "base/json_writer.h"
#include "base/number.h"
#include "base/slice.h"
#include "calque/mine.h"
#include "format/pairs.h"

#include <string.h>

typedef struct writer {
  const cq_mining *mining;
  const cq_pair_writing *how;
  cq_text_writer out[2]; /* the second: the other side's own file */
  cq_builder text;       /* of the current pair */
} writer;

/* --- names of files --- */

static cq_slice ending_of(const char *path) {
  const size_t n = strlen(path) - cq_text_writer_ending(path);
  size_t begin = n;
  while (begin > 0 && path[begin - 1] != '.' && path[begin - 1] != '/') begin--;
  return begin > 0 && path[begin - 1] == '.' ? (cq_slice){path + begin, n - begin} : (cq_slice){"", 0};
}

cq_status cq_pair_format_of(cq_pair_format *out, const char *path, cq_error *error) {
  static const struct {
    const char *ending;
    cq_pair_format format;
  } names[] = {{"", CQ_PAIRS_TSV},        {"tsv", CQ_PAIRS_TSV},   {"txt", CQ_PAIRS_TSV},     {"pairs", CQ_PAIRS_TSV},
               {"jsonl", CQ_PAIRS_JSONL}, {"tmx", CQ_PAIRS_TMX},   {"moses", CQ_PAIRS_MOSES}, {"csv", CQ_PAIRS_CSV},
               {"po", CQ_PAIRS_PO},       {"xlf", CQ_PAIRS_XLIFF}, {"xliff", CQ_PAIRS_XLIFF}};
  const cq_slice ending = path ? ending_of(path) : (cq_slice){"", 0};
  *out = CQ_PAIRS_TSV;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    *out = names[i].format;
    if (cq_slice_equal(ending, cq_slice_of(names[i].ending))) return CQ_OK;
  }
  return cq_fail_file(error, CQ_ERR_ARGUMENT, path,
                      "pairs are not written as .%.*s; names that are: .tsv, .jsonl, .tmx, .moses, .csv, .po, .xlf, "
                      "each also with .gz or .zst",
                      (int)ending.n, ending.data);
}

cq_status cq_pair_path(char *out, size_t size, const char *path, cq_side side, const cq_pair_writing *how,
                       cq_error *error) {
  const size_t n = strlen(path) - cq_text_writer_ending(path);
  const char *const languages[] = {how->source_language, how->target_language}, *language = languages[side];
  if (how->format != CQ_PAIRS_MOSES) return cq_path_join(out, size, "", path, error);
  if (!cq_slice_equal(ending_of(path), cq_slice_of("moses")))
    return cq_fail_file(error, CQ_ERR_ARGUMENT, path, "Moses's files need a name that ends in .moses");
  for (int i = 0; i < 2; i++)
    if (!languages[i] || !*languages[i] || strchr(languages[i], '/'))
      return cq_fail(error, CQ_ERR_ARGUMENT, "'%s' is not a language code", languages[i] ? languages[i] : "");
  if (strcmp(languages[0], languages[1]) == 0)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, path, "two files named by '%s' would be one", language);
  const int stem = (int)(n - strlen("moses"));
  return (size_t)cq_snprintf(out, size, "%.*s%s%s", stem, path, language, path + n) < size
             ? CQ_OK
             : cq_fail_file(error, CQ_ERR_ARGUMENT, path, "the name is too long");
}

/* --- text within other text --- */

static void put_json(cq_builder *b, cq_slice text) {
  cq_json_string(b, text.data, text.n, "");
}

/* --- pairs --- */

/* A row's name: its id, its text, or its number from 1 (written to `number`). */
static cq_slice name_of_row(char number[16], const cq_mining *m, cq_side side, uint32_t row, size_t line) {
  const cq_slice id = cq_mining_id(m, side, row, line), text = cq_mining_sentence(m, side, row);
  if (id.data || text.data) return id.data ? id : text;
  cq_snprintf(number, 16, "%lu", (unsigned long)row + 1);
  return cq_slice_of(number);
}

static void put_tsv(writer *w, const cq_mined_pair *p, cq_slice source, cq_slice target) {
  cq_builder_printf(&w->text, "%.9g\t", p->score);
  cq_builder_field(&w->text, source);
  cq_builder_char(&w->text, '\t');
  cq_builder_field(&w->text, target);
  if (w->how->with_text) {
    cq_builder_printf(&w->text, "\t%.9g\t", p->cosine);
    cq_builder_field(&w->text, cq_mining_sentence(w->mining, CQ_SOURCE, p->source));
    cq_builder_char(&w->text, '\t');
    cq_builder_field(&w->text, cq_mining_sentence(w->mining, CQ_TARGET, p->target));
  }
  cq_builder_char(&w->text, '\n');
}

static void put_jsonl(writer *w, const cq_mined_pair *p, cq_slice source, cq_slice target) {
  const cq_slice texts[2] = {cq_mining_sentence(w->mining, CQ_SOURCE, p->source),
                             cq_mining_sentence(w->mining, CQ_TARGET, p->target)};
  const bool has_ids = texts[0].data && (source.data != texts[0].data || target.data != texts[1].data);
  cq_builder_printf(&w->text, "{\"score\": %.9g, \"cosine\": %.9g, \"source\": ", p->score, p->cosine);
  put_json(&w->text, has_ids ? texts[0] : source);
  cq_builder_text(&w->text, ", \"target\": ");
  put_json(&w->text, has_ids ? texts[1] : target);
  if (has_ids) {
    cq_builder_text(&w->text, ", \"source_id\": ");
    put_json(&w->text, source);
    cq_builder_text(&w->text, ", \"target_id\": ");
    put_json(&w->text, target);
  }
  cq_builder_text(&w->text, "}\n");
}

static cq_status put_out(writer *w, cq_text_writer *out, cq_error *error) {
  if (w->text.failed) return cq_fail_memory(error, "a pair");
  const cq_status status = cq_text_writer_put(out, w->text.data, w->text.n, error);
  cq_builder_clear(&w->text);
  return status;
}

static cq_status put_moses(writer *w, const cq_mined_pair *p, cq_error *error) {
  cq_status status = CQ_OK;
  for (int side = CQ_SOURCE; !status && side <= CQ_TARGET; side++) {
    cq_builder_field(&w->text, cq_mining_sentence(w->mining, (cq_side)side, side == CQ_SOURCE ? p->source : p->target));
    cq_builder_char(&w->text, '\n');
    status = put_out(w, &w->out[side], error);
  }
  return status;
}

/* With ids, a pair is written once for each combination of ids; without them, or in a translation memory, only once. */
static cq_status write_pair(writer *w, const cq_mined_pair *p, cq_error *error) {
  const cq_mining *m = w->mining;
  const bool ids = cq_mining_id(m, CQ_SOURCE, p->source, 0).data || cq_mining_id(m, CQ_TARGET, p->target, 0).data;
  const bool once = !ids || w->how->format >= CQ_PAIRS_TMX;
  const size_t n_source = once ? 1 : cq_mining_n_lines(m, CQ_SOURCE, p->source);
  const size_t n_target = once ? 1 : cq_mining_n_lines(m, CQ_TARGET, p->target);
  for (size_t i = 0; i < n_source; i++) {
    for (size_t j = 0; j < n_target; j++) {
      char numbers[2][16];
      const cq_slice source = name_of_row(numbers[0], m, CQ_SOURCE, p->source, i);
      const cq_slice target = name_of_row(numbers[1], m, CQ_TARGET, p->target, j);
      if (w->how->format == CQ_PAIRS_MOSES) return put_moses(w, p, error);
      if (w->how->format == CQ_PAIRS_JSONL)
        put_jsonl(w, p, source, target);
      else
        put_tsv(w, p, source, target);
      const cq_status status = put_out(w, w->out, error);
      if (status) return status;
    }
  }
  return CQ_OK;
}

/* The formats of rows: the sentences, and the score as a remark. */
static cq_status write_rows(const cq_mining *m, const char *path, cq_pairs_kind kind, const cq_pair_writing *how,
                            cq_error *error) {
  const char *const languages[] = {how->source_language, how->target_language};
  size_t n;
  const cq_mined_pair *pairs = cq_mining_pairs(&n, m);
  cq_pairs out;
  cq_status status = cq_pairs_open(&out, kind, path, "score", error);
  out.languages = languages, out.n_languages = 2;
  for (size_t i = 0; i < n && !status; i++) {
    char score[32];
    const cq_slice sides[] = {cq_mining_sentence(m, CQ_SOURCE, pairs[i].source),
                              cq_mining_sentence(m, CQ_TARGET, pairs[i].target)};
    cq_snprintf(score, sizeof score, "%.9g", pairs[i].score);
    status = cq_pairs_put(&out, cq_slice_of(score), sides, 2, NULL, error);
  }
  return cq_pairs_finish(&out, status, error);
}

cq_status cq_mining_write(const cq_mining *mining, const char *path, const cq_pair_writing *how, cq_error *error) {
  static const struct {
    const char *what;
    cq_pairs_kind kind;
  } rows[] = {[CQ_PAIRS_TMX] = {"a translation memory", CQ_PAIRS_AS_TMX},
              [CQ_PAIRS_MOSES] = {"Moses's format", CQ_PAIRS_AS_TSV},
              [CQ_PAIRS_XLIFF] = {"XLIFF", CQ_PAIRS_AS_XLIFF},
              [CQ_PAIRS_PO] = {"a catalog", CQ_PAIRS_AS_PO},
              [CQ_PAIRS_CSV] = {"CSV", CQ_PAIRS_AS_CSV}};
  size_t n;
  const cq_mined_pair *pairs = cq_mining_pairs(&n, mining);
  if (how->format >= CQ_PAIRS_TMX && n && !cq_mining_sentence(mining, CQ_SOURCE, pairs[0].source).data)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%s needs sentences, not vectors alone", rows[how->format].what);
  if (how->format >= CQ_PAIRS_TMX && how->format != CQ_PAIRS_MOSES)
    return write_rows(mining, path, rows[how->format].kind, how, error);
  writer w = {.mining = mining, .how = how};
  if (how->format == CQ_PAIRS_MOSES && (!path || strcmp(path, "-") == 0))
    return cq_fail(error, CQ_ERR_ARGUMENT, "Moses's format is two files: it needs a name");
  const int n_files = how->format == CQ_PAIRS_MOSES ? 2 : 1;
  char name[4096];
  cq_status status = CQ_OK;
  for (int i = 0; !status && i < n_files; i++) {
    if (path) status = cq_pair_path(name, sizeof name, path, (cq_side)i, how, error);
    if (!status) status = cq_text_writer_open(&w.out[i], path ? name : NULL, error);
  }
  for (size_t i = 0; !status && i < n; i++) status = write_pair(&w, &pairs[i], error);
  for (int i = 0; !status && i < n_files; i++) status = cq_text_writer_commit(&w.out[i], error);
  for (int i = 0; i < n_files; i++) cq_text_writer_abort(&w.out[i]);
  cq_builder_free(&w.text);
  return status;
}
