/* Writes alignments: pairs in the formats of mine.h, numbers of sentences, or a page. */
#include "base/error.h"
#include "base/json_writer.h"
#include "base/number.h"
#include "base/slice.h"
#include "base/text_writer.h"
#include "format/pairs.h"
#include "recipe/align/alignment.h"
#include "recipe/align/page.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

typedef enum writing { AS_PAIRS, AS_BEADS, AS_PAGE } writing;

static writing writing_of(const char *path) {
  const size_t n = path ? strlen(path) - cq_text_writer_ending(path) : 0;
  if (n > 6 && strncasecmp(path + n - 6, ".beads", 6) == 0) return AS_BEADS;
  return n > 5 && strncasecmp(path + n - 5, ".html", 5) == 0 ? AS_PAGE : AS_PAIRS;
}

cq_status cq_alignment_check_path(const char *path, cq_error *error) {
  cq_pair_format format;
  if (writing_of(path) != AS_PAIRS) return cq_text_writer_check(path, error);
  return cq_pair_format_of(&format, path, NULL)
             ? cq_fail_file(error, CQ_ERR_ARGUMENT, path,
                            "alignments are not written under such a name; endings that are: .tsv, .jsonl, .tmx, "
                            ".moses, .csv, .po, .xlf, .beads, .html, each also with .gz or .zst")
             : CQ_OK;
}

/* --- numbers --- */

static void put_numbers(cq_builder *out, const cq_align_document *d, uint32_t first, uint32_t n) {
  cq_builder_char(out, '[');
  for (uint32_t i = 0; i < n; i++) cq_builder_printf(out, "%s%" PRIu32, i ? ", " : "", d->numbers[first + i]);
  cq_builder_char(out, ']');
}

static void put_beads(cq_builder *out, const cq_alignment *a, size_t i) {
  const cq_aligned *p = &a->pairs[i];
  const cq_align_document *x = &a->sides[0].items[p->documents[0]], *y = &a->sides[1].items[p->documents[1]];
  if (a->n_pairs > 1) cq_builder_printf(out, "# %s\t%s\n", x->id, y->id);
  for (size_t k = 0; k < p->n_beads; k++) {
    const cq_bead *b = &p->beads[k];
    put_numbers(out, x, b->source, b->n_source);
    cq_builder_char(out, ':');
    put_numbers(out, y, b->target, b->n_target);
    cq_builder_printf(out, ":%.6f\n", b->n_source && b->n_target ? 1 - b->score : 0);
  }
}

/* --- JSON --- */

static void put_json(cq_builder *out, const cq_alignment *a, size_t i) {
  static const char *const names[][2] = {{"source", "source_id"}, {"target", "target_id"}};
  for (size_t k = 0; k < a->pairs[i].n_beads; k++) {
    const cq_bead *b = &a->pairs[i].beads[k];
    cq_builder_printf(out, "{\"score\": %.9g", b->score);
    for (int side = 0; side < 2; side++) {
      const cq_slice text = side ? cq_alignment_text(a, i, CQ_TARGET, b->target, b->n_target)
                                 : cq_alignment_text(a, i, CQ_SOURCE, b->source, b->n_source);
      const cq_align_document *d = &a->sides[side].items[a->pairs[i].documents[side]];
      cq_builder_printf(out, ", \"%s\": ", names[side][0]);
      cq_json_string(out, text.data, text.n, "");
      cq_builder_printf(out, ", \"%s\": ", names[side][1]);
      cq_json_string(out, d->id, strlen(d->id), "");
      cq_builder_printf(out, ", \"%s_numbers\": ", names[side][0]);
      put_numbers(out, d, side ? b->target : b->source, side ? b->n_target : b->n_source);
    }
    cq_builder_text(out, "}\n");
  }
}

/* --- text of the whole, a document at a time --- */

typedef void (*put_document_fn)(cq_builder *out, const cq_alignment *a, size_t i);

static cq_status write_text(const cq_alignment *a, const char *path, put_document_fn put, const char *before,
                            const char *after, cq_error *error) {
  cq_text_writer w;
  cq_builder text = {0};
  cq_status status = cq_text_writer_open(&w, path, error);
  if (status) return status;
  status = cq_text_writer_put(&w, before, strlen(before), error);
  for (size_t i = 0; !status && i < a->n_pairs; i++) {
    cq_builder_clear(&text);
    put(&text, a, i);
    status = text.failed ? cq_fail_memory(error, "an alignment") : cq_text_writer_put(&w, text.data, text.n, error);
  }
  if (!status) status = cq_text_writer_put(&w, after, strlen(after), error);
  if (!status) status = cq_text_writer_commit(&w, error);
  cq_text_writer_abort(&w);
  cq_builder_free(&text);
  return status;
}

/* --- pairs --- */

/* Calls put for each bead that has both sides. */
static cq_status each_pair(const cq_alignment *a,
                           cq_status (*put)(void *context, double score, const cq_slice texts[2], cq_error *error),
                           void *context, cq_error *error) {
  cq_status status = CQ_OK;
  for (size_t i = 0; i < a->n_pairs; i++) {
    for (size_t k = 0; !status && k < a->pairs[i].n_beads; k++) {
      const cq_bead *b = &a->pairs[i].beads[k];
      const cq_slice texts[] = {cq_alignment_text(a, i, CQ_SOURCE, b->source, b->n_source),
                                cq_alignment_text(a, i, CQ_TARGET, b->target, b->n_target)};
      if (b->n_source && b->n_target) status = put(context, b->score, texts, error);
    }
  }
  return status;
}

static cq_status put_row(void *context, double score, const cq_slice texts[2], cq_error *error) {
  char number[32];
  cq_snprintf(number, sizeof number, "%.6f", score);
  return cq_pairs_put(context, cq_slice_of(number), texts, 2, NULL, error);
}

static cq_status write_rows(const cq_alignment *a, const char *path, cq_pairs_kind kind, cq_error *error) {
  const char *const languages[] = {a->languages[0], a->languages[1]};
  cq_pairs out;
  cq_status status = cq_pairs_open(&out, kind, path, "score", error);
  out.languages = languages, out.n_languages = 2;
  if (!status) status = each_pair(a, put_row, &out, error);
  return cq_pairs_finish(&out, status, error);
}

static cq_status put_lines(void *context, double score, const cq_slice texts[2], cq_error *error) {
  cq_text_writer *files = context;
  cq_status status = CQ_OK;
  (void)score;
  for (int side = 0; !status && side < 2; side++) {
    status = cq_text_writer_put(&files[side], texts[side].data, texts[side].n, error);
    if (!status) status = cq_text_writer_put(&files[side], "\n", 1, error);
  }
  return status;
}

static cq_status write_moses(const cq_alignment *a, const char *path, cq_error *error) {
  const cq_pair_writing how = {CQ_PAIRS_MOSES, false, a->languages[0], a->languages[1]};
  cq_text_writer files[2];
  memset(files, 0, sizeof files);
  cq_status status = CQ_OK;
  for (int side = 0; !status && side < 2; side++) {
    char name[4096];
    status = cq_pair_path(name, sizeof name, path, (cq_side)side, &how, error);
    if (!status) status = cq_text_writer_open(&files[side], name, error);
  }
  if (!status) status = each_pair(a, put_lines, files, error);
  for (int side = 0; !status && side < 2; side++) status = cq_text_writer_commit(&files[side], error);
  for (int side = 0; side < 2; side++) cq_text_writer_abort(&files[side]);
  return status;
}

cq_status cq_alignment_write(const cq_alignment *a, const char *path, cq_error *error) {
  static const cq_pairs_kind kinds[] = {[CQ_PAIRS_TSV] = CQ_PAIRS_AS_TSV,
                                        [CQ_PAIRS_TMX] = CQ_PAIRS_AS_TMX,
                                        [CQ_PAIRS_XLIFF] = CQ_PAIRS_AS_XLIFF,
                                        [CQ_PAIRS_PO] = CQ_PAIRS_AS_PO,
                                        [CQ_PAIRS_CSV] = CQ_PAIRS_AS_CSV};
  cq_pair_format format;
  const writing how = writing_of(path);
  if (how == AS_BEADS) return write_text(a, path, put_beads, "", "", error);
  if (how == AS_PAGE) return write_text(a, path, cq_align_put_page, cq_align_page_begin, cq_align_page_end, error);
  const cq_status status = cq_pair_format_of(&format, path, error);
  if (status) return status;
  if (format == CQ_PAIRS_JSONL) return write_text(a, path, put_json, "", "", error);
  if (format == CQ_PAIRS_MOSES) return write_moses(a, path, error);
  return write_rows(a, path, kinds[format], error);
}
