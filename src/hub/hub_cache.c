/* The paths of the cache shared with Hugging Face's own tools: see hub_cache.h for its layout. */
#include "hub/hub_cache.h"

#include "base/file.h"
#include "base/memory.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *cq_hub_environment(const char *name) {
  const char *value = getenv(name);
  return value && *value ? value : NULL;
}

bool cq_hub_environment_is_true(const char *name) {
  static const char *const yes[] = {"1", "on", "yes", "true"};
  const char *value = cq_hub_environment(name);
  for (size_t i = 0; value && i < sizeof yes / sizeof *yes; i++)
    if (!strcasecmp(value, yes[i])) return true;
  return false;
}

bool cq_hub_is_offline(void) {
  return cq_hub_environment_is_true("HF_HUB_OFFLINE") || cq_hub_environment_is_true("TRANSFORMERS_OFFLINE");
}

/* A directory of the environment followed by a path; "~/" is the home directory, since shells do not expand it in
 * quotes. */
static bool place(char out[CQ_HUB_PATH], const char *directory, const char *behind) {
  const char *home = directory[0] == '~' && (directory[1] == '/' || !directory[1]) ? cq_hub_environment("HOME") : NULL;
  const int n = snprintf(out, CQ_HUB_PATH, "%s%s%s", home ? home : "", directory + (home ? 1 : 0), behind);
  return n > 0 && n < CQ_HUB_PATH;
}

static bool home_of_hub(char out[CQ_HUB_PATH], const char *behind) {
  char path[CQ_HUB_PATH];
  const char *value = cq_hub_environment("HF_HOME");
  if (value) return place(out, value, behind);
  if ((value = cq_hub_environment("XDG_CACHE_HOME")))
    return place(path, value, "/huggingface") && place(out, path, behind);
  value = cq_hub_environment("HOME");
  return value && place(path, value, "/.cache/huggingface") && place(out, path, behind);
}

bool cq_hub_cache_directory(char out[CQ_HUB_PATH]) {
  const char *value = cq_hub_environment("HF_HUB_CACHE");
  if (!value) value = cq_hub_environment("HUGGINGFACE_HUB_CACHE");
  return value ? place(out, value, "") : home_of_hub(out, "/hub");
}

bool cq_hub_token_file(char out[CQ_HUB_PATH]) {
  const char *value = cq_hub_environment("HF_TOKEN_PATH");
  return value ? place(out, value, "") : home_of_hub(out, "/token");
}

bool cq_hub_folder(char *out, size_t size, const char *kind, const char *organization, const char *name) {
  const char *parts[] = {organization, name};
  const char *slash = strchr(name, '/');
  if (*name == '\0' || *name == '/' || *name == '.' || (slash && (strchr(slash + 1, '/') || slash[1] == '\0')))
    return false;
  size_t n = (size_t)snprintf(out, size, "%s", kind);
  for (size_t p = 0; p < 2 && n < size; p++) {
    if (!parts[p]) continue;
    n += (size_t)snprintf(out + n, size - n, "--");
    for (const char *c = parts[p]; *c && n + 2 < size; c++) {
      if (*c == '/') out[n++] = '-';
      out[n++] = *c == '/' ? '-' : *c;
    }
    if (n < size) out[n] = '\0';
  }
  return n + 2 < size;
}

/* The only folder in snapshots/, if there is no refs/main. */
static bool only_entry(char *out, size_t size, const char *directory) {
  DIR *d = opendir(directory);
  int found = 0;
  if (!d) return false;
  for (struct dirent *e; (e = readdir(d));) {
    if (e->d_name[0] == '.') continue;
    if (found++ == 0 && snprintf(out, size, "%s", e->d_name) >= (int)size) found = 2;
  }
  closedir(d);
  return found == 1;
}

static bool read_reference(char *out, size_t size, const char *path) {
  cq_slice text;
  if (!cq_file_exists(path) || cq_file_read(&text, path, NULL) != CQ_OK) return false;
  size_t n = 0;
  while (n < text.n && n + 1 < size && text.data[n] > ' ' && text.data[n] != '/') n++;
  memcpy(out, text.data, n);
  out[n] = '\0';
  cq_free((void *)(uintptr_t)text.data);
  return n > 0 && out[0] != '.';
}

bool cq_hub_find_snapshot(char *out, size_t size, char looked[CQ_HUB_PATH], const char *cache, const char *kind,
                          const char *organization, const char *name, const char *revision) {
  char folder[CQ_HUB_NAME], path[CQ_HUB_PATH], commit[256];
  looked[0] = '\0';
  if (revision && (revision[0] == '.' || revision[0] == '/' || strstr(revision, ".."))) return false;
  if (!cq_hub_folder(folder, sizeof folder, kind, organization, name)) return false;
  if (snprintf(looked, CQ_HUB_PATH, "%s/%s", cache, folder) >= CQ_HUB_PATH || !cq_is_directory(looked)) return false;
  if (snprintf(path, sizeof path, "%s/%s/refs/%s", cache, folder, revision ? revision : "main") >= (int)sizeof path)
    return false;
  if (!read_reference(commit, sizeof commit, path)) {
    if (snprintf(path, sizeof path, "%s/%s/snapshots", cache, folder) >= (int)sizeof path) return false;
    if (revision ? strchr(revision, '/') || snprintf(commit, sizeof commit, "%s", revision) >= (int)sizeof commit
                 : !only_entry(commit, sizeof commit, path))
      return false;
  }
  if (snprintf(out, size, "%s/%s/snapshots/%s", cache, folder, commit) >= (int)size) return false;
  return cq_is_directory(out);
}

bool cq_hub_name_of(char *out, size_t size, const char *path) {
  static const char before[] = "/models--";
  const char *start = strstr(path, before);
  if (!start || !strstr(start, "/snapshots/")) return false;
  size_t n = 0;
  for (const char *c = start + sizeof before - 1; *c != '/'; c++) {
    if (n + 1 >= size) return false;
    const bool is_slash = c[0] == '-' && c[1] == '-';
    out[n++] = is_slash ? '/' : *c;
    c += is_slash;
  }
  out[n] = '\0';
  return n > 0;
}
