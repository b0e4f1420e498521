/* Information on this process from Linux interfaces; docs/portability.md lists those of other systems. */
#include "calque/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

bool cq_process_path(char *out, size_t size) {
  const ssize_t n = readlink("/proc/self/exe", out, size);
  if (n > 0 && (size_t)n < size) {
    out[n] = '\0';
    return true;
  }
  /* without /proc, as in a bare container: the name passed to exec */
  const char *given = (const char *)(uintptr_t)getauxval(AT_EXECFN);
  char *path = given ? realpath(given, NULL) : NULL;
  const bool fits = path && strlen(path) < size;
  if (fits) memcpy(out, path, strlen(path) + 1);
  free(path);
  return fits;
}

double cq_process_memory(void) {
  unsigned long long all, resident;
  FILE *f = fopen("/proc/self/statm", "re");
  if (!f) return 0;
  const bool read = fscanf(f, "%llu %llu", &all, &resident) == 2;
  fclose(f);
  return read ? (double)resident * (double)sysconf(_SC_PAGESIZE) : 0;
}
