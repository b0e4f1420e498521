/* Makes temporary names next to their targets, with the process id, and removes those of ended processes. See
 * temporary.h. */
#include "base/temporary.h"

#include "base/file.h"
#include "base/memory.h"
#include "calque/process.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *cq_temporary_directory(void) {
  const char *directory = getenv("TMPDIR");
  return directory && *directory ? directory : "/tmp";
}

enum { MAX_NAMES = 64 }; /* at the same time; after a signal, any others are left to cq_remove_leftovers */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char *names[MAX_NAMES];
static bool is_ending;

/* Waits forever once the process is ending: nothing may be written after that. */
static void lock_names(void) {
  pthread_mutex_lock(&mutex);
  while (is_ending) {
    pthread_mutex_unlock(&mutex);
    pause();
    pthread_mutex_lock(&mutex);
  }
}

static void replace_name(char *from, char *to) {
  lock_names();
  for (int i = 0; i < MAX_NAMES; i++) {
    if (names[i] != from) continue;
    names[i] = to;
    break;
  }
  pthread_mutex_unlock(&mutex);
}

char *cq_name_beside(const char *path, const char *tag) {
  static unsigned counter;
  cq_builder b = {0};
  cq_builder_bytes(&b, path, cq_path_length(path));
  cq_builder_printf(&b, ".%s-%ld-%u", tag, (long)getpid(), __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED));
  if (!b.failed) return b.data;
  cq_builder_free(&b);
  return NULL;
}

char *cq_temporary_name(const char *path) {
  char *name = cq_name_beside(path, "tmp");
  if (name) replace_name(NULL, name);
  return name;
}

bool cq_temporary_is_open(const char *last) {
  bool is_open = false;
  lock_names();
  for (int i = 0; i < MAX_NAMES && !is_open; i++)
    is_open = names[i] && cq_slice_equal(cq_path_name(names[i]), cq_slice_of(last));
  pthread_mutex_unlock(&mutex);
  return is_open;
}

void cq_temporary_release(char *name) {
  if (!name) return;
  replace_name(name, NULL);
  cq_free(name);
}

void cq_remove_temporaries(void) {
  pthread_mutex_lock(&mutex);
  is_ending = true;
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < MAX_NAMES; i++) {
    if (!names[i]) continue;
    unlink(names[i]);
    for (int n = 0; n < 100 && cq_is_directory(names[i]); n++) cq_directory_remove(names[i]); /* others still write */
  }
}
