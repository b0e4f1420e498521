/* Splits ORG/NAME@REVISION, and refuses names that point outside the cache. */
#include "hub/name.h"

#include "base/error.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

bool cq_hub_is_name(const char *name) {
  const char *slash = strchr(name, '/');
  if (strlen(name) > 193 || strstr(name, "..") || strstr(name, "--") || (slash && strchr(slash + 1, '/'))) return false;
  for (const char *part = name; part; part = part == name && slash ? slash + 1 : NULL) {
    const size_t n = strcspn(part, "/");
    if (n == 0 || n > 96 || strchr("-.", part[0]) || strchr("-.", part[n - 1])) return false;
  }
  for (const char *c = name; *c; c++)
    if ((unsigned char)*c >= 128 || (!isalnum((unsigned char)*c) && !strchr("-_./", *c))) return false;
  return true;
}

/* Roughly git's rules for branch names: it becomes a path below refs/. */
static bool is_revision(const char *text) {
  if (!*text || strlen(text) > 200 || strstr(text, "..") || strstr(text, "//") || text[strlen(text) - 1] == '/')
    return false;
  for (const char *c = text; *c; c++) {
    if ((unsigned char)*c <= ' ' || *c == 127 || strchr("\\:*?[~^@%", *c)) return false;
    if (*c == '.' && (c == text || c[-1] == '/')) return false;
  }
  return *text != '/';
}

cq_status cq_hub_name_parse(cq_hub_name *out, const char *text, cq_error *error) {
  const char *at = strchr(text, '@');
  const size_t n = at ? (size_t)(at - text) : strlen(text);
  snprintf(out->repository, sizeof out->repository, "%.*s", (int)(n < CQ_HUB_NAME ? n : CQ_HUB_NAME - 1), text);
  if (n >= CQ_HUB_NAME || !cq_hub_is_name(out->repository))
    return cq_fail(error, CQ_ERR_ARGUMENT, "'%.200s' is not a name on the hub, expected ORGANIZATION/NAME or NAME",
                   text);
  if (at && !is_revision(at + 1))
    return cq_fail(error, CQ_ERR_ARGUMENT, "'%.200s' is not a revision, expected a branch, a tag or a commit", at + 1);
  snprintf(out->revision, sizeof out->revision, "%s", at ? at + 1 : "main");
  return CQ_OK;
}
