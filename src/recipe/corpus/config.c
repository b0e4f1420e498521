/* Reads configurations. See config.h. */
#include "recipe/corpus/config.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

#include <string.h>

/* Strips blanks at both ends, in place. */
static char *trimmed(char *text) {
  while (cq_is_blank(*text)) text++;
  size_t n = strlen(text);
  while (n && cq_is_blank(text[n - 1])) n--;
  text[n] = '\0';
  return text;
}

static cq_status read_line(cq_config *c, const char **section, char *line, uint64_t number, const char *path,
                           cq_error *error) {
  char *text = trimmed(line);
  if (!*text || *text == '#' || *text == ';') return CQ_OK;
  cq_config_line *next = &c->lines[c->n];
  if (*text == '[') {
    char *end = strchr(text, ']');
    if (!end || end[1]) return cq_fail_line(error, CQ_ERR_FORMAT, path, number, "a section is written [name]");
    *end = '\0', *section = trimmed(text + 1);
    for (size_t i = 0; i < c->n; i++)
      if (!c->lines[i].name && strcmp(c->lines[i].section, *section) == 0)
        return cq_fail_line(error, CQ_ERR_FORMAT, path, number, "a second section [%s]", *section);
    *next = (cq_config_line){.section = *section, .line = number};
  } else {
    char *equals = strchr(text, '=');
    if (!*section) return cq_fail_line(error, CQ_ERR_FORMAT, path, number, "an option before the first [section]");
    if (equals) *equals = '\0';
    *next = (cq_config_line){*section, trimmed(text), equals ? trimmed(equals + 1) : "yes", number};
    if (!*next->name) return cq_fail_line(error, CQ_ERR_FORMAT, path, number, "an option without a name");
  }
  c->n++;
  return CQ_OK;
}

cq_status cq_config_read(cq_config *out, const char *path, cq_error *error) {
  cq_slice text;
  const char *section = NULL;
  size_t n_lines = 1;
  *out = (cq_config){0};
  cq_status status = cq_file_read(&text, path, error);
  if (status) return status;
  out->text = cq_strndup(text.data, text.n);
  for (size_t i = 0; i < text.n; i++) n_lines += text.data[i] == '\n';
  cq_free((void *)(uintptr_t)text.data);
  out->lines = cq_alloc_array(n_lines, sizeof *out->lines);
  if (!out->text || !out->lines) return cq_fail_memory(error, path);
  uint64_t number = 0;
  for (char *rest = out->text, *line; !status && (line = strsep(&rest, "\n"));)
    status = read_line(out, &section, line, ++number, path, error);
  return status;
}

void cq_config_free(cq_config *config) {
  cq_free(config->lines), cq_free(config->text);
  *config = (cq_config){0};
}
