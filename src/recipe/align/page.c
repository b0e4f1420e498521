/* The page of an alignment. See page.h. */
#include "recipe/align/page.h"

#include "base/memory.h"
#include "base/order.h"
#include "format/page_style.h"
#include "format/pairs.h"
#include "recipe/align/alignment.h"

#include <stdlib.h>

/* A pair is unsure below this share of the median score. */
#define UNSURE 0.6

const char cq_align_page_begin[] =
    "<!DOCTYPE html>\n<html><head>" CQ_PAGE_HEAD "<title>Alignment</title>\n<style>\n:root { " CQ_PAGE_COLORS "\n"
    "  --gap: light-dark(#e6ebfb, #1c2a47); --unsure: light-dark(#fff3c4, #443a12) }\n"
    "body { margin: 0; font: 1rem/1.55 system-ui, \"Noto Sans\", sans-serif; color: var(--ink); background: "
    "var(--paper) }\n"
    "header { position: sticky; top: 0; padding: .6rem 1.2rem; background: var(--paper); border-bottom: 1px solid "
    "var(--line);\n  display: flex; gap: 1.2rem; flex-wrap: wrap; color: var(--soft) }\n"
    "kbd { font: inherit; color: var(--ink); border: 1px solid var(--line); border-radius: .3rem; padding: 0 .35rem; "
    "background: var(--sheet) }\n"
    "section { max-width: 84rem; margin: 1.2rem auto; padding: 0 1.2rem }\n"
    "h2 { font-size: 1rem; display: grid; grid-template-columns: 1fr 1fr 3.5rem; gap: 1.2rem; margin: 1.6rem 0 .4rem "
    "}\n"
    ".bead { display: grid; grid-template-columns: 1fr 1fr 3.5rem; gap: 1.2rem; padding: .45rem .8rem; background: "
    "var(--sheet);\n  border-bottom: 1px solid var(--line); scroll-margin: 30vh }\n"
    ".bead p { margin: 0; white-space: pre-line }\n.bead p + p { margin-top: .25rem }\n"
    ".score { color: var(--soft); text-align: end; font-variant-numeric: tabular-nums }\n"
    ".gap { background: var(--gap) }\n.unsure { background: var(--unsure) }\n"
    ".here { outline: 2px solid var(--accent); outline-offset: -2px }\n"
    "</style></head>\n<body><header><span id=\"count\"></span>\n"
    "<span><kbd>j</kbd> <kbd>k</kbd> next, previous</span>\n"
    "<span><kbd>n</kbd> <kbd>p</kbd> next, previous mark</span></header>\n";

const char cq_align_page_end[] =
    "<script>\n"
    "const beads = [...document.querySelectorAll('.bead')];\n"
    "const marked = bead => bead.classList.contains('gap') || bead.classList.contains('unsure');\n"
    "let here = -1;\n"
    "function go(step, wanted) {\n"
    "  let i = here;\n"
    "  do i += step; while (beads[i] && !wanted(beads[i]));\n"
    "  if (!beads[i]) return;\n"
    "  beads[here]?.classList.remove('here');\n"
    "  here = i;\n"
    "  beads[here].classList.add('here');\n"
    "  beads[here].scrollIntoView({block: 'nearest'});\n"
    "}\n"
    "const keys = {j: [1, () => true], k: [-1, () => true], n: [1, marked], p: [-1, marked]};\n"
    "addEventListener('keydown', event => {\n"
    "  if (keys[event.key] && !event.ctrlKey && !event.metaKey && !event.altKey) go(...keys[event.key]);\n"
    "});\n"
    "const count = name => document.querySelectorAll('.' + name).length;\n"
    "document.getElementById('count').textContent =\n"
    "  `${beads.length - count('gap')} pairs, ${count('unsure')} unsure, ${count('gap')} without a translation`;\n"
    "</script></body></html>\n";

/* The score below which a pair is unsure; without memory, none is. */
static double unsure_below(const cq_bead *beads, size_t n) {
  double *scores = cq_alloc_array(n, sizeof *scores), below = 0;
  size_t n_scores = 0;
  for (size_t i = 0; scores && i < n; i++)
    if (beads[i].n_source && beads[i].n_target) scores[n_scores++] = beads[i].score;
  if (n_scores) {
    qsort(scores, n_scores, sizeof *scores, cq_order_doubles);
    below = UNSURE * scores[n_scores / 2];
  }
  cq_free(scores);
  return below;
}

static void put_sentences(cq_builder *out, const cq_align_document *d, uint32_t first, uint32_t n) {
  cq_builder_text(out, "<div dir=\"auto\" lang=\"");
  cq_put_xml(out, cq_slice_of(d->language), true);
  cq_builder_text(out, "\">");
  for (uint32_t i = 0; i < n; i++) {
    cq_builder_text(out, "<p>");
    cq_put_xml(out, cq_align_text(d, first + i, 1), false);
    cq_builder_text(out, "</p>");
  }
  cq_builder_text(out, "</div>");
}

void cq_align_put_page(cq_builder *out, const cq_alignment *a, size_t document) {
  const cq_aligned *p = &a->pairs[document];
  const cq_align_document *x = &a->sides[0].items[p->documents[0]], *y = &a->sides[1].items[p->documents[1]];
  const double below = unsure_below(p->beads, p->n_beads);
  cq_builder_text(out, "<section><h2><span>");
  cq_put_xml(out, cq_slice_of(x->id), false);
  cq_builder_text(out, "</span><span>");
  cq_put_xml(out, cq_slice_of(y->id), false);
  cq_builder_text(out, "</span></h2>\n");
  for (size_t i = 0; i < p->n_beads; i++) {
    const cq_bead *b = &p->beads[i];
    const bool is_gap = !b->n_source || !b->n_target;
    cq_builder_printf(out, "<div class=\"bead%s\">", is_gap ? " gap" : b->score < below ? " unsure" : "");
    put_sentences(out, x, b->source, b->n_source);
    put_sentences(out, y, b->target, b->n_target);
    if (is_gap)
      cq_builder_text(out, "<div class=\"score\">\xE2\x80\x94</div></div>\n");
    else
      cq_builder_printf(out, "<div class=\"score\">%.2f</div></div>\n", b->score);
  }
  cq_builder_text(out, "</section>\n");
}
