/* Writes the files of a model's directory from one input. See directory.h. */
#include "directory.h"

#include <string.h>

enum { MAX_NAMES = 64, MAX_TENSORS = 64, MAX_FLOATS = 1 << 13, MAX_HEADER = 1 << 14 };

static const char weights_name[] = "model.safetensors";

static bool is_weights(const char *name) {
  const size_t n = strlen(name), m = strlen(weights_name);
  return n >= m && !strcmp(name + n - m, weights_name);
}

/* Whether the folder of a name is the given one, "." being the root. */
static bool is_in(const char *name, const char *folder) {
  const size_t n = strlen(name) - strlen(weights_name);
  return n == 0 ? !strcmp(folder, ".") : strlen(folder) == n - 1 && !strncmp(name, folder, n - 1);
}

static bool is_tensor_name(const char *name) {
  return name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.")] == '\0';
}

/* A safetensors file of the tensors that the lines say are in the folder of name. */
static void write_weights(const char *name, const char *lines) {
  static struct {
    uint64_t n_header;
    char header[MAX_HEADER];
  } file;
  static float values[MAX_FLOATS];
  static char bytes[sizeof file + sizeof values];
  size_t at = 0, n_floats = 0, n_tensors = 0;
  for (size_t i = 0; i < MAX_FLOATS && values[MAX_FLOATS - 1] == 0; i++) values[i] = (float)(i * 37 % 61 + 1) / 64;
  at += (size_t)snprintf(file.header, MAX_HEADER, "{");
  for (const char *line = lines; line && n_tensors < MAX_TENSORS;
       line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
    char folder[32], tensor[96];
    unsigned rows, cols = 0;
    char text[256];
    snprintf(text, sizeof text, "%.*s", (int)strcspn(line, "\n"), line);
    const int n = sscanf(text, "%31s %95s %4u %4u", folder, tensor, &rows, &cols);
    if (n < 3 || !is_in(name, folder) || !is_tensor_name(tensor)) continue;
    const size_t size = (size_t)rows * (n == 4 ? cols : 1);
    if (size > MAX_FLOATS - n_floats) continue;
    at += (size_t)snprintf(file.header + at, MAX_HEADER - at, "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[%u",
                           n_tensors ? "," : "", tensor, rows);
    if (n == 4) at += (size_t)snprintf(file.header + at, MAX_HEADER - at, ",%u", cols);
    at += (size_t)snprintf(file.header + at, MAX_HEADER - at, "],\"data_offsets\":[%zu,%zu]}", n_floats * 4,
                           (n_floats + size) * 4);
    n_floats += size, n_tensors++;
  }
  at += (size_t)snprintf(file.header + at, MAX_HEADER - at, "}");
  while (at % 8) file.header[at++] = ' ';
  file.n_header = at;
  memcpy(bytes, &file, 8 + at);
  memcpy(bytes + 8 + at, values, n_floats * sizeof *values);
  fuzz_file(name, bytes, 8 + at + n_floats * sizeof *values);
}

void fuzz_directory(const uint8_t *data, size_t n, const char *const *names, size_t n_names) {
  bool is_there[MAX_NAMES] = {false};
  CHECK(n_names <= MAX_NAMES);
  while (n > 0) {
    const fuzz_part part = fuzz_next_part(&data, &n);
    const uint8_t *end = part.n ? memchr(part.data, '\n', part.n) : NULL;
    if (!end) continue;
    const size_t n_name = (size_t)(end - part.data), rest = part.n - n_name - 1;
    if (n_name == 7 && !memcmp(part.data, "tensors", 7)) {
      char *lines = malloc(rest + 1);
      CHECK(lines);
      memcpy(lines, end + 1, rest);
      lines[rest] = '\0';
      for (size_t i = 0; i < n_names; i++)
        if (is_weights(names[i])) write_weights(names[i], lines), is_there[i] = true;
      free(lines);
      continue;
    }
    for (size_t i = 0; i < n_names; i++)
      if (strlen(names[i]) == n_name && !memcmp(part.data, names[i], n_name)) {
        fuzz_file(names[i], end + 1, rest);
        is_there[i] = true;
      }
  }
  for (size_t i = 0; i < n_names; i++)
    if (!is_there[i]) fuzz_remove(names[i]);
}
