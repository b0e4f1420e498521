/* x */
#include "formats/formats.h"
#include "base/error.h"
cq_status cq_formats_odt(cq_document_file *file, cq_error *error) { return cq_fail_file(error, CQ_ERR_UNSUPPORTED, file->path, "no"); }
cq_status cq_formats_epub(cq_document_file *file, cq_error *error) { return cq_fail_file(error, CQ_ERR_UNSUPPORTED, file->path, "no"); }
cq_status cq_formats_pdf(cq_document_file *file, cq_error *error) { return cq_fail_file(error, CQ_ERR_UNSUPPORTED, file->path, "no"); }
