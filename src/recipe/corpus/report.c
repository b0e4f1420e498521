/* The report about a corpus: one HTML page, with what each step dropped and samples of it, the scores, the lengths and the
 * languages. */
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "base/text_writer.h"
#include "base/utf8.h"
#include "calque/language.h"
#include "calque/lines.h"
#include "format/page_style.h"
#include "format/pairs.h"
#include "recipe/corpus/steps.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 20, BARS = 40, IDENTIFIED = 2000, LONGEST = 400, LANGUAGES = 8 };

static const char begin[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head>" CQ_PAGE_HEAD "<title>Corpus</title>\n<style>\n:root { " CQ_PAGE_COLORS
    " }\n"
    "body { margin: 0 auto; max-width: 72rem; padding: 1rem 1.2rem 4rem; font: 1rem/1.5 system-ui, \"Noto Sans\", "
    "sans-serif; color: var(--ink); background: var(--paper) }\n"
    "h1 { font-size: 1.4rem }\nh2 { font-size: 1.1rem; margin: 2rem 0 .6rem }\n"
    "details, .row { background: var(--sheet); border-bottom: 1px solid var(--line); padding: .45rem .8rem }\n"
    ".row { display: grid; grid-template-columns: 7rem 1fr 16rem; gap: 1rem; align-items: center }\n"
    ".bar { height: .7rem; background: var(--line) }\n.bar i { display: block; height: 100%; background: var(--accent) "
    "}\n"
    "summary { cursor: pointer }\n.count { color: var(--soft); font-variant-numeric: tabular-nums }\n"
    "table { border-collapse: collapse; width: 100%; margin: .4rem 0 }\n"
    "td { vertical-align: top; padding: .25rem .8rem .25rem 0; border-top: 1px solid var(--line); width: 50% }\n"
    "svg { background: var(--sheet); display: block; width: 100%; height: auto }\nsvg rect { fill: var(--accent) }\n"
    "svg text { fill: var(--soft); font: 12px system-ui, sans-serif }\n"
    "</style></head>\n<body><h1>Corpus</h1>\n";

/* --- samples of what was dropped --- */

typedef struct samples {
  char *rows[SAMPLES];
  size_t n;
  uint64_t n_seen;
} samples;

/* Keeps each row with the same probability (Vitter 1985, algorithm R). */
static bool sample(samples *s, cq_slice row, cq_random *r) {
  const uint64_t place = s->n < SAMPLES ? s->n : cq_random_below(r, s->n_seen + 1);
  s->n_seen++;
  if (place >= SAMPLES) return true;
  char *copy = cq_strndup(row.data, row.n);
  if (!copy) return false;
  if (place < s->n) cq_free(s->rows[place]);
  s->rows[place] = copy;
  if (place == s->n) s->n++;
  return true;
}

static void put_row(cq_builder *out, const char *row) {
  const char *tab = strchr(row, '\t');
  cq_builder_text(out, "<tr><td dir=\"auto\">");
  cq_put_xml(out, (cq_slice){row, tab ? (size_t)(tab - row) : strlen(row)}, false);
  cq_builder_text(out, "</td><td dir=\"auto\">");
  if (tab) cq_put_xml(out, cq_slice_of(tab + 1), false);
  cq_builder_text(out, "</td></tr>\n");
}

/* The reasons for which a step dropped rows, with samples from its file of them. */
static cq_status put_reasons(cq_builder *out, const cq_step_result *r, cq_error *error) {
  samples *of = cq_alloc_array_zeroed(CQ_CORPUS_MAX_REASONS, sizeof *of);
  cq_random random = cq_random_seeded(1, 0);
  cq_lines *lines = NULL;
  cq_slice line;
  cq_status status = of ? CQ_OK : cq_fail_memory(error, "samples");
  if (!status && r->n_reasons && cq_file_exists(r->rejected)) status = cq_lines_open(&lines, r->rejected, error);
  while (lines && !status) {
    status = cq_lines_next(&line, lines, error);
    const char *tab = status || !line.data ? NULL : memchr(line.data, '\t', line.n);
    if (!tab) break;
    const cq_slice reason = {line.data, (size_t)(tab - line.data)}, row = {tab + 1, line.n - reason.n - 1};
    for (size_t i = 0; i < r->n_reasons; i++)
      if (cq_slice_equal(reason, cq_slice_of(r->dropped[i].reason)) && !sample(&of[i], row, &random))
        status = cq_fail_memory(error, "samples");
  }
  for (size_t i = 0; !status && i < r->n_reasons; i++) {
    cq_builder_text(out, "<details><summary>");
    cq_put_xml(out, cq_slice_of(r->dropped[i].reason), false);
    cq_builder_printf(out, " <span class=\"count\">%" PRIu64 "</span></summary><table>\n", r->dropped[i].n);
    for (size_t k = 0; k < of[i].n; k++) put_row(out, of[i].rows[k]);
    cq_builder_text(out, "</table></details>\n");
  }
  for (size_t i = 0; of && i < CQ_CORPUS_MAX_REASONS; i++)
    for (size_t k = 0; k < of[i].n; k++) cq_free(of[i].rows[k]);
  cq_free(of);
  cq_lines_close(lines);
  return status;
}

static cq_status put_steps(cq_builder *out, const cq_step_result *results, size_t n, cq_error *error) {
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < n; i++) {
    const cq_step_result *r = &results[i];
    const double share = r->n_read ? 100 * (double)r->n_written / (double)r->n_read : 0;
    cq_builder_printf(out,
                      "<h2>%s</h2>\n<div class=\"row\"><span>%.1f %% kept</span><div class=\"bar\"><i "
                      "style=\"width: %.1f%%\"></i></div><span class=\"count\">%" PRIu64 " of %" PRIu64
                      "</span></div>\n",
                      r->step->name, share, share, r->n_written, r->n_read);
    status = put_reasons(out, r, error);
  }
  return status;
}

/* --- histograms --- */

typedef struct histogram {
  double low, high;
  uint64_t bars[BARS], n;
} histogram;

static void count(histogram *h, double x) {
  const double at = (x - h->low) / (h->high - h->low) * BARS;
  h->bars[at < 0 ? 0 : at >= BARS ? BARS - 1 : (size_t)at]++, h->n++;
}

static void put_histogram(cq_builder *out, const histogram *h, const char *title) {
  enum { WIDTH = 18, HEIGHT = 120, LEFT = 10 };
  uint64_t most = 1;
  for (size_t i = 0; i < BARS; i++)
    if (h->bars[i] > most) most = h->bars[i];
  cq_builder_printf(out, "<h2>%s</h2>\n<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n", title,
                    BARS * WIDTH + 2 * LEFT, HEIGHT + 40, title);
  for (size_t i = 0; i < BARS; i++) {
    const double height = (double)HEIGHT * (double)h->bars[i] / (double)most;
    cq_builder_printf(out,
                      "<rect x=\"%zu\" y=\"%.1f\" width=\"%d\" height=\"%.1f\"><title>%" PRIu64 "</title></rect>\n",
                      LEFT + i * WIDTH, 10 + HEIGHT - height, WIDTH - 2, height, h->bars[i]);
  }
  for (size_t i = 0; i <= 4; i++)
    cq_builder_printf(out, "<text x=\"%zu\" y=\"%d\" text-anchor=\"%s\">%.4g%s</text>\n", LEFT + i * BARS * WIDTH / 4,
                      HEIGHT + 28,
                      i == 0   ? "start"
                      : i == 4 ? "end"
                               : "middle",
                      h->low + (h->high - h->low) * (double)i / 4, "");
  cq_builder_text(out, "</svg>\n");
}

/* What a threshold on probabilities keeps: their mean is the estimated precision (from calque/score.h). */
static void put_thresholds(cq_builder *out, const double sums[10], const uint64_t counts[10]) {
  cq_builder_text(out, "<h2>Estimated precision</h2>\n<table><tr><td>threshold</td><td>rows kept</td><td>estimated "
                       "precision</td></tr>\n");
  for (size_t i = 0; i < 10; i++)
    if (counts[i])
      cq_builder_printf(out, "<tr><td>%.1f</td><td>%" PRIu64 "</td><td>%.1f %%</td></tr>\n", (double)i / 10, counts[i],
                        100 * sums[i] / (double)counts[i]);
  cq_builder_text(out, "</table>\n");
}

static cq_status put_scores(cq_builder *out, const cq_step_result *r, cq_error *error) {
  const bool is_probability = r->step->group == &cq_group_score;
  char path[CQ_STEP_PATH];
  histogram h = {.low = 0, .high = r->step->group == &cq_group_mine ? 2 : 1};
  double sums[10] = {0};
  uint64_t counts[10] = {0};
  cq_lines *lines;
  cq_slice line;
  const size_t n = strlen(r->rows) - strlen(".tsv");
  if (cq_snprintf(path, sizeof path, "%.*s.scores", (int)n, r->rows) >= (int)sizeof path || !cq_file_exists(path))
    return CQ_OK;
  cq_status status = cq_lines_open(&lines, path, error);
  if (status) return status;
  while (!(status = cq_lines_next(&line, lines, error)) && line.data) {
    double score;
    if (!cq_slice_number(&score, line)) continue;
    count(&h, score);
    for (size_t i = 0; i < 10 && score >= (double)i / 10; i++) sums[i] += score, counts[i]++;
  }
  cq_lines_close(lines);
  if (!status && h.n)
    put_histogram(out, &h, is_probability ? "Probabilities of all pairs to be translations" : "Scores of all pairs");
  if (!status && h.n && is_probability) put_thresholds(out, sums, counts);
  return status;
}

/* --- the rows that are left --- */

typedef struct shares {
  char codes[LANGUAGES][16];
  uint64_t counts[LANGUAGES], n, n_other;
} shares;

static void add_language(shares *s, cq_slice text) {
  const cq_language_guess guess = cq_language_identify(text);
  size_t i = 0;
  s->n++;
  while (i < LANGUAGES && *s->codes[i] && strcmp(s->codes[i], guess.code) != 0) i++;
  if (i == LANGUAGES) {
    s->n_other++;
    return;
  }
  cq_slice_copy(s->codes[i], sizeof s->codes[i], cq_slice_of(guess.code));
  s->counts[i]++;
}

static void put_languages(cq_builder *out, const shares *s, const char *side) {
  cq_builder_printf(out, "<div class=\"row\"><span>%s</span><span>", side);
  for (size_t i = 0; i < LANGUAGES && *s->codes[i]; i++)
    cq_builder_printf(out, "%s%s %.1f %%", i ? ", " : "", s->codes[i], 100 * (double)s->counts[i] / (double)s->n);
  if (s->n_other) cq_builder_printf(out, ", others %.1f %%", 100 * (double)s->n_other / (double)s->n);
  cq_builder_printf(out, "</span><span class=\"count\">of the first %" PRIu64 " rows</span></div>\n", s->n);
}

static cq_status put_rows(cq_builder *out, const cq_step_result *r, cq_error *error) {
  histogram lengths[2] = {{.high = LONGEST}, {.high = LONGEST}};
  shares languages[2] = {{.n = 0}};
  cq_lines *lines;
  cq_slice line;
  cq_status status = cq_lines_open(&lines, r->rows, error);
  if (status) return status;
  while (!(status = cq_lines_next(&line, lines, error)) && line.data) {
    const char *tab = memchr(line.data, '\t', line.n);
    if (!tab) continue;
    const size_t n = (size_t)(tab - line.data);
    const char *end = memchr(tab + 1, '\t', line.n - n - 1);
    const cq_slice sides[2] = {{line.data, n}, {tab + 1, end ? (size_t)(end - tab - 1) : line.n - n - 1}};
    for (int side = 0; side < 2; side++) {
      count(&lengths[side], (double)cq_utf8_length(sides[side].data, sides[side].n));
      if (languages[side].n < IDENTIFIED) add_language(&languages[side], sides[side]);
    }
  }
  cq_lines_close(lines);
  if (status || !lengths[0].n) return status;
  put_histogram(out, &lengths[0], "Characters of the source");
  put_histogram(out, &lengths[1], "Characters of the target");
  cq_builder_text(out, "<h2>Languages</h2>\n");
  put_languages(out, &languages[0], "source");
  put_languages(out, &languages[1], "target");
  return CQ_OK;
}

cq_status cq_corpus_report(const char *path, const cq_step_result *results, size_t n, cq_error *error) {
  cq_builder page = {0};
  cq_text_writer w;
  memset(&w, 0, sizeof w);
  cq_builder_text(&page, begin);
  cq_status status = put_steps(&page, results, n, error);
  for (size_t i = 0; !status && i < n; i++) status = put_scores(&page, &results[i], error);
  const size_t last = n > 1 ? n - 2 : 0; /* before the division */
  if (!status) status = put_rows(&page, &results[last], error);
  cq_builder_text(&page, "</body></html>\n");
  if (!status && page.failed) status = cq_fail_memory(error, "a report");
  if (!status) status = cq_text_writer_open(&w, path, error);
  if (!status) status = cq_text_writer_put(&w, page.data, page.n, error);
  if (!status) status = cq_text_writer_commit(&w, error);
  cq_text_writer_abort(&w);
  cq_builder_free(&page);
  return status;
}
