/* How the learning rate falls behind its peak, in any training. */
#ifndef CALQUE_SCHEDULE_H
#define CALQUE_SCHEDULE_H

typedef enum cq_schedule { CQ_SCHEDULE_LINEAR, CQ_SCHEDULE_CONSTANT, CQ_SCHEDULE_COSINE } cq_schedule;

#endif
