/* What pages that are written as a file have in common: its head, and colors of light and dark. */
#ifndef FORMAT_PAGE_STYLE_H
#define FORMAT_PAGE_STYLE_H

/* Declarations within ":root { ... }". */
#define CQ_PAGE_COLORS                                                                                                 \
  "color-scheme: light dark; --paper: light-dark(#f3f5f6, #0d131b); --sheet: light-dark(#fff, #141c27);\n"             \
  "  --ink: light-dark(#141b25, #e7ecf2); --soft: light-dark(#53606e, #9aa7b6); --line: light-dark(#d8dee3, "          \
  "#263243);\n  --accent: light-dark(#2647c8, #93adff);"
/* Within <head>, first. */
#define CQ_PAGE_HEAD "<meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\n"

#endif
