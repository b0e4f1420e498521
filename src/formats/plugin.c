/* The plugin's table of readers. */
#include "formats/formats.h"

extern __attribute__((visibility("default"))) const cq_formats_plugin cq_formats_plugin_table;
const cq_formats_plugin cq_formats_plugin_table = {CQ_FORMATS_PLUGIN_VERSION, cq_formats_docx, cq_formats_odt,
                                                   cq_formats_epub, cq_formats_pdf};
