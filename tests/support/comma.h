/* A locale whose decimal point is a comma, as a program that links the library may have one. */
#ifndef SUPPORT_COMMA_H
#define SUPPORT_COMMA_H

#include "support/files.h"

#include <locale.h>

/* Takes one that is installed, else makes one. False, after saying so: there is none to be had. */
static inline bool take_comma(void) {
  if (setlocale(LC_NUMERIC, "de_DE.UTF-8") || setlocale(LC_NUMERIC, "fr_FR.UTF-8")) return true;
  char made[400], command[600];
  snprintf(made, sizeof made, "%s", test_path("de_DE.UTF-8"));
  snprintf(command, sizeof command, "localedef --no-archive -c -i de_DE -f UTF-8 '%s' >/dev/null 2>&1", made);
  /* localedef warns, and makes it nevertheless. Make it before the first setlocale(): that a locale is missing is
   * remembered. */
  const int code = access(made, F_OK) == 0 ? 0 : system(command);
  setenv("LOCPATH", test_directory, 1);
  const bool taken = setlocale(LC_NUMERIC, "de_DE.UTF-8") != NULL;
  unsetenv("LOCPATH");
  if (!taken) print_message("skipped: no locale with a decimal comma, and localedef (%d) makes none\n", code);
  return taken;
}

static inline void give_comma_back(void) {
  setlocale(LC_NUMERIC, "C");
}

#endif
