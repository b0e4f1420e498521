/*   ---                              front matter: YAML; only keys at the start of a line are read
 *   license: apache-2.0
 *   tags:
 *   - sentence-transformers          belongs to the key above
 *   ---
 *   # The card's text */
#include "curl/hub_card.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "hub/card_value.h"

#include <ctype.h>

/* A line with its end; *rest begins after it. */
static cq_slice take_line(cq_slice *rest) {
  const char *end = memchr(rest->data, '\n', rest->n);
  const cq_slice line = {rest->data, end ? (size_t)(end - rest->data) + 1 : rest->n};
  rest->data += line.n, rest->n -= line.n;
  return line;
}

static bool is_fence(cq_slice line) {
  const cq_slice text = cq_slice_trimmed(line);
  return line.n >= 3 && text.n == 3 && !memcmp(line.data, "---", 3);
}

/* Splits the front matter from the text. */
static cq_status part_card(cq_slice *matter, cq_slice *text, cq_slice all, const char *path, cq_error *error) {
  cq_slice rest = all;
  *matter = (cq_slice){"", 0}, *text = all;
  if (!all.n || !is_fence(take_line(&rest))) return CQ_OK;
  matter->data = rest.data;
  while (rest.n) {
    const char *before = rest.data;
    if (!is_fence(take_line(&rest))) continue;
    matter->n = (size_t)(before - matter->data);
    *text = rest;
    return CQ_OK;
  }
  return cq_fail_line(error, CQ_ERR_FORMAT, path, 1, "the front matter that begins here has no '---' at its end");
}

/* The key at the start of a line: "license" for "license: mit". */
static cq_slice key_of(cq_slice line) {
  const char *colon = memchr(line.data, ':', line.n);
  if (!colon || line.n == 0 || !isalpha((unsigned char)line.data[0])) return (cq_slice){"", 0};
  return (cq_slice){line.data, (size_t)(colon - line.data)};
}

static bool has_key(cq_slice matter, const char *key) {
  while (matter.n)
    if (cq_slice_equal(key_of(take_line(&matter)), cq_slice_of(key))) return true;
  return false;
}

/* --- values --- */

static void write_list(cq_builder *out, const char *key, const char *const *values, size_t n) {
  cq_builder_printf(out, "%s:\n", key);
  for (size_t i = 0; i < n; i++) {
    cq_builder_text(out, "- ");
    cq_hub_card_value(out, values[i]);
    cq_builder_char(out, '\n');
  }
}

/* --- the parts --- */

/* Copies the keys of the front matter that no option overrides. */
static void copy_matter(cq_builder *out, cq_slice matter, const cq_hub_put_options *o) {
  bool is_kept = true;
  while (matter.n) {
    const cq_slice line = take_line(&matter), key = key_of(line);
    if (key.n)
      is_kept = !((o->license && cq_slice_equal(key, cq_slice_of("license"))) ||
                  (o->n_base_models && cq_slice_equal(key, cq_slice_of("base_model"))) ||
                  (o->n_languages && cq_slice_equal(key, cq_slice_of("language"))) ||
                  (o->n_datasets && cq_slice_equal(key, cq_slice_of("datasets"))));
    if (is_kept) cq_builder_bytes(out, line.data, line.n);
  }
}

static void write_matter(cq_builder *out, cq_slice matter, const cq_hub_put_options *o) {
  static const char *const tags[] = {"sentence-transformers", "sentence-similarity", "feature-extraction", "calque"};
  cq_builder_text(out, "---\n");
  copy_matter(out, matter, o);
  if (o->n_languages) write_list(out, "language", o->languages, o->n_languages);
  if (o->license) {
    cq_builder_text(out, "license: ");
    cq_hub_card_value(out, o->license);
    cq_builder_char(out, '\n');
  }
  if (o->n_base_models) write_list(out, "base_model", o->base_models, o->n_base_models);
  if (o->n_datasets) write_list(out, "datasets", o->datasets, o->n_datasets);
  if (!has_key(matter, "library_name")) cq_builder_text(out, "library_name: sentence-transformers\n");
  if (!has_key(matter, "pipeline_tag")) cq_builder_text(out, "pipeline_tag: sentence-similarity\n");
  if (!has_key(matter, "tags")) write_list(out, "tags", tags, sizeof tags / sizeof *tags);
  cq_builder_text(out, "---\n");
}

static bool has_usage(cq_slice text) {
  while (text.n) {
    cq_slice line = take_line(&text);
    if (!line.n || line.data[0] != '#') continue;
    while (line.n && (*line.data == '#' || *line.data == ' ')) line.data++, line.n--;
    if (line.n > 5 && !memcmp(line.data, "Usage", 5)) return true;
  }
  return false;
}

static void write_usage(cq_builder *out, const char *repository) {
  cq_builder_printf(out,
                    "\n## Usage\n\n"
                    "```python\n"
                    "from sentence_transformers import SentenceTransformer\n\n"
                    "model = SentenceTransformer(\"%s\")\n"
                    "vectors = model.encode([\"The train is late.\", \"Der Zug hat Verspätung.\"])\n"
                    "print(model.similarity(vectors, vectors))\n"
                    "```\n\n"
                    "Or with calque, without Python:\n\n"
                    "    calque model get %s\n"
                    "    calque similarity --model %s \"The train is late.\" \"Der Zug hat Verspätung.\"\n",
                    repository, repository, repository);
}

static void tell_what_is_missing(const cq_builder *card, const cq_hub_put_options *o) {
  static const char *const wanted[][2] = {
      {"license", "the card names no license: without one nobody may use the model (license)"},
      {"language", "the card names no language (language)"},
      {"base_model", "the card does not say which model it was made from (base_models)"}};
  cq_slice matter, text;
  if (part_card(&matter, &text, (cq_slice){card->data, card->n}, "", NULL)) return;
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
    if (o->notice && !has_key(matter, wanted[i][0])) o->notice(o->notice_context, wanted[i][1]);
}

cq_status cq_hub_card_write(cq_builder *out, const char *directory, const char *repository, const cq_hub_put_options *o,
                            cq_error *error) {
  char path[4096];
  cq_slice all = {0}, matter, text;
  cq_status status = cq_path_join(path, sizeof path, directory, "README.md", error);
  if (!status && cq_file_exists(path)) status = cq_file_read(&all, path, error);
  if (!status) status = part_card(&matter, &text, all, path, error);
  if (!status) {
    write_matter(out, matter, o);
    const char *slash = strrchr(repository, '/');
    if (cq_slice_trimmed(text).n == 0)
      cq_builder_printf(out, "\n# %s\n\nA sentence encoder, made with calque.\n", slash ? slash + 1 : repository);
    else
      cq_builder_bytes(out, text.data, text.n);
    if (out->n && out->data[out->n - 1] != '\n') cq_builder_char(out, '\n');
    if (!has_usage(text)) write_usage(out, repository);
    if (out->failed) status = cq_fail_memory(error, path);
  }
  if (!status) tell_what_is_missing(out, o);
  cq_free((void *)(uintptr_t)all.data);
  return status;
}
