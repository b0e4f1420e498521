/* For what is written in C++ and called from C: exceptions become messages. Empty in C. */
#ifndef BASE_GUARDED_H
#define BASE_GUARDED_H

#ifdef __cplusplus
#include <cstddef>
#include <cstdio>
#include <exception>

/* 0, or 1 with the message of the exception that f threw. */
template <typename F> int cq_guarded(char *message, std::size_t message_size, F f) {
  try {
    f();
    return 0;
  } catch (const std::exception &e) {
    std::snprintf(message, message_size, "%s", e.what());
  } catch (...) {
    std::snprintf(message, message_size, "an unknown exception");
  }
  return 1;
}
#endif

#endif
