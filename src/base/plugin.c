/* Opens plugins and finds the library's directory, next to which they are installed. */
#include "base/plugin.h"

#include "base/error.h"
#include "base/file.h"
#include "calque/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PATH = 4096 };

static bool directory_of(char *out, size_t size, const char *path) {
  const char *slash = strrchr(path, '/');
  const size_t n = slash ? (size_t)(slash - path) : 0;
  if (!slash || n + 2 > size) return false;
  memcpy(out, path, n + 1);
  out[n ? n : 1] = '\0'; /* of "/calque": "/" */
  return true;
}

#ifdef CQ_STATIC

bool cq_library_directory(char *out, size_t size) {
  char path[MAX_PATH];
  return cq_process_path(path, sizeof path) && directory_of(out, size, path);
}

static cq_status open_library(const void **out, const char *library, const char *symbol, cq_error *error) {
  (void)symbol;
  *out = NULL;
  return cq_fail(error, CQ_ERR_UNSUPPORTED, "%s: a static program cannot load it; the shared build of calque can",
                 library);
}

#else

#include <dlfcn.h>

/* Its address shows where the library lies. */
static const char this_library;

bool cq_library_directory(char *out, size_t size) {
  char path[MAX_PATH];
  Dl_info self;
  if (!dladdr(&this_library, &self) || !self.dli_fname) return false;
  /* A program found through PATH has no directory in its name, and both names may be links. */
  return (strchr(self.dli_fname, '/') ? realpath(self.dli_fname, path) != NULL : cq_process_path(path, sizeof path)) &&
         directory_of(out, size, path);
}

static cq_status open_library(const void **out, const char *library, const char *symbol, cq_error *error) {
  /* Next to the library, installed or in a build folder; then the same relative to the program. */
  static const char *const places[] = {"calque/", "", CQ_LIBRARY_FROM_PROGRAM "/calque/", "src/"};
  char directory[MAX_PATH], path[MAX_PATH + 256];
  const char *found = library;
  const bool is_known = cq_library_directory(directory, sizeof directory);
  for (size_t i = 0; is_known && found == library && i < sizeof places / sizeof *places; i++)
    if (snprintf(path, sizeof path, "%s/%s%s", directory, places[i], library) < (int)sizeof path &&
        cq_file_exists(path))
      found = path;
  void *opened = dlopen(found, RTLD_NOW | RTLD_LOCAL);
  *out = opened ? dlsym(opened, symbol) : NULL;
  return *out ? CQ_OK : cq_fail(error, CQ_ERR_UNSUPPORTED, "%s", dlerror());
}

#endif

cq_status cq_plugin_load(const void **out, const char *name, int version, const char *need, cq_error *error) {
  char library[64], symbol[64];
  cq_error reason = {0};
  snprintf(library, sizeof library, "libcalque_%s.so", name);
  snprintf(symbol, sizeof symbol, "cq_%s_plugin_table", name);
  if (open_library(out, library, symbol, &reason))
    return cq_fail(error, CQ_ERR_UNSUPPORTED, "%s: %s", need, reason.message);
  const int found = *(const int *)*out;
  if (found == version) return CQ_OK;
  *out = NULL;
  return cq_fail(error, CQ_ERR_UNSUPPORTED, "%s of version %d: %s has version %d", need, version, library, found);
}
