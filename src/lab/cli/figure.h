/* What commands share that draw a figure. */
#ifndef LAB_CLI_FIGURE_H
#define LAB_CLI_FIGURE_H

#include "calque/lab/chart.h"
#include "cli/frame/command.h"

#define CLI_FIGURE_OUTPUT(owner)                                                                                       \
  {                                                                                                                    \
    CQ_TEXT(owner, "output", output, CHANGES, "FILE", "write the figure here, as SVG"), .letter = 'o',                 \
                                                                                        .otherwise = "standard output" \
  }

/* Draws the charts and writes them to a file; NULL: to standard output. Returns an exit code. */
int cli_write_figure(const char *path, const cq_chart *charts, size_t n);

extern const cli_command cli_plot_losses; /* calque autoencode plot losses */

#endif
