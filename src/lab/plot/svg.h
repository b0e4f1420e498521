/* SVG as text in a builder. Lengths are in the document's units, y points down. */
#ifndef LAB_PLOT_SVG_H
#define LAB_PLOT_SVG_H

#include "base/slice.h"

/* Text between tags: XML's reserved characters are escaped, invalid ones become U+FFFD. */
void cq_svg_text(cq_builder *b, const char *text);
/* A line of text; anchor "start", "middle" or "end"; more: further attributes, for example " fill=\"red\"". */
void cq_svg_label(cq_builder *b, double x, double y, const char *anchor, const char *more, const char *text);
/* Approximate width of a line of text, generous because the reader's font is unknown. */
double cq_svg_width(const char *text, double font_size);

#endif
