/** @file How the learning rate decays after its peak, in any training.
 * @threads Constants. */
#ifndef CALQUE_SCHEDULE_H
#define CALQUE_SCHEDULE_H

#include "calque/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cq_schedule { CQ_SCHEDULE_LINEAR, CQ_SCHEDULE_CONSTANT, CQ_SCHEDULE_COSINE } cq_schedule;

CQ_API extern const char *const cq_schedule_names[]; /**< "linear", "constant", "cosine", then NULL */

#ifdef __cplusplus
}
#endif

#endif
