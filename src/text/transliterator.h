/* Opens ICU's transliterators safely. Use and close them with ICU's own functions: utrans_transUChars, utrans_close. */
#ifndef TEXT_TRANSLITERATOR_H
#define TEXT_TRANSLITERATOR_H

#include "calque/status.h"

#include <unicode/utrans.h>

/* Opens one by ICU's name or rules, in ASCII: "Traditional-Simplified", "Any-Latin; Lower". Errors: CQ_ERR_MEMORY;
 * CQ_ERR_UNSUPPORTED when ICU's data lacks it. */
CQ_MUST_USE cq_status cq_transliterator_open(UTransliterator **out, const char *name, cq_error *error);

#endif
