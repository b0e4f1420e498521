#include "recipe/extend/news.h"

#include "base/number.h"

#include <stdarg.h>

bool cq_extend_tell(const cq_extend_news *news, const char *text) {
  const cq_training_progress p = {.phase = "choice", .text = text};
  if (text) cq_builder_printf(news->told, "- %s\n", text);
  return !news->progress || news->progress(news->context, &p);
}

void cq_extend_choose(const cq_extend_news *news, const char *format, ...) {
  char text[400];
  va_list args;
  va_start(args, format);
  cq_vsnprintf(text, sizeof text, format, args);
  va_end(args);
  cq_extend_tell(news, text);
}

void cq_extend_notice(void *news, const char *text) {
  cq_extend_tell(news, text);
}
