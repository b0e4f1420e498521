/* Facts about the processor that only the system knows. Those that the processor itself reports are in
 * tensor/dispatch.c. */
#ifndef BASE_PROCESSOR_H
#define BASE_PROCESSOR_H

#include <stdbool.h>

/* Instructions of ARM; false elsewhere. */
bool cq_processor_has_bf16(void);
bool cq_processor_has_i8mm(void);
bool cq_processor_has_dotprod(void);

/* Requests the use of AMX's registers from the system; false if it is denied. */
bool cq_processor_allows_amx(void);

#endif
