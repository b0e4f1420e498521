/* The plugin's readers, a file each. */
#ifndef FORMATS_FORMATS_H
#define FORMATS_FORMATS_H

#include "document/formats_plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

cq_format_read cq_formats_docx, cq_formats_odt, cq_formats_epub, cq_formats_pdf;

#ifdef __cplusplus
}
#endif
#endif
