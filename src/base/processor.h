/* Facts about the processor that only the system knows. tensor/dispatch.c reads the others. */
#ifndef BASE_PROCESSOR_H
#define BASE_PROCESSOR_H

#include <stdbool.h>

/* Instructions of ARM; false elsewhere. */
bool cq_processor_has_bf16(void);
bool cq_processor_has_i8mm(void);
bool cq_processor_has_dotprod(void);

/* Asks the system for permission to use AMX's registers; false if it is denied. */
bool cq_processor_allows_amx(void);

#endif
