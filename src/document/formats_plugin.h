/* The interface to the plugin that reads DOCX, ODT, EPUB and PDF (src/formats), which is loaded when there is such a file. It
 * has its own copy of the functions that it needs of calque's folders. */
#ifndef DOCUMENT_FORMATS_PLUGIN_H
#define DOCUMENT_FORMATS_PLUGIN_H

#include "calque/version.h"
#include "document/reader.h"

/* Plugin and library share structures: both must be of one version of calque. */
enum { CQ_FORMATS_PLUGIN_VERSION = CQ_VERSION_NUMBER };

/* Each reads file->bytes, all of a file, into its room. Errors: CQ_ERR_FORMAT, also for an encrypted file; CQ_ERR_LIMIT for
 * more than CQ_WHOLE_FILE unpacked bytes; CQ_ERR_UNSUPPORTED: built without the library; CQ_ERR_MEMORY. */
typedef cq_status cq_format_read(cq_document_file *file, cq_error *error);

typedef struct cq_formats_plugin {
  int version; /* CQ_FORMATS_PLUGIN_VERSION */
  cq_format_read *docx, *odt, *epub, *pdf;
} cq_formats_plugin;

#endif
