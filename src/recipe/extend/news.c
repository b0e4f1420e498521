/* Reports each choice to the caller, as progress of the phase "choice", and keeps it for the model card. */
#include "recipe/extend/news.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool cq_extend_tell(const cq_extend_news *news, const char *text) {
  const cq_training_progress p = {.phase = "choice", .text = text};
  if (text) cq_builder_printf(news->told, "- %s\n", text);
  return !news->progress || news->progress(news->context, &p);
}

void cq_extend_choose(const cq_extend_news *news, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const int n = cq_vsnprintf(NULL, 0, format, args);
  va_end(args);
  char *text = n < 0 ? NULL : cq_alloc((size_t)n + 1);
  if (!text) {
    news->told->failed = true;
    return;
  }
  va_start(args, format);
  cq_vsnprintf(text, (size_t)n + 1, format, args);
  va_end(args);
  cq_extend_tell(news, text);
  cq_free(text);
}

bool cq_extend_progress(void *news, const char *part, uint64_t done, uint64_t n) {
  cq_extend_news *own = news;
  const double now = cq_seconds(CLOCK_MONOTONIC);
  cq_training_progress p = {.phase = part, .step = done, .n_steps = n};
  if (strncmp(own->part, part, sizeof own->part - 1) != 0) {
    snprintf(own->part, sizeof own->part, "%s", part);
    own->part_began = now;
  }
  if (done > 0) p.seconds_left = (now - own->part_began) / (double)done * (double)(n - done);
  return !own->progress || own->progress(own->context, &p);
}

void cq_extend_notice(void *news, const char *text) {
  cq_extend_tell(news, text);
}
