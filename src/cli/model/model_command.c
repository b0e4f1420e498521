/* calque model get | put | new | info | check | quantize | trim | center | export: the group, and `info`. */
#include "base/utf8.h"
#include "cli/frame/command.h"
#include "cli/frame/report.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

extern const cli_command cli_model_get, cli_model_put, cli_model_new, cli_model_check, cli_model_quantize,
    cli_model_trim, cli_model_center, cli_model_export;

struct info_args {
  size_t size;
  bool json;
};

static const cq_option info_options[] = {CLI_JSON(struct info_args, json)};

/* Prints one level of a JSON description as indented "name value" lines; arrays of plain values stay on one line. */
static void print_json_value(const char *name, const json_t *value, int indent) {
  const char *key;
  json_t *child;
  size_t i;
  int left = 24 - indent;
  if (json_is_null(value) || (json_is_object(value) && json_object_size(value) == 0)) {
    printf("%*s%-*s none\n", indent, "", left, name);
  } else if (json_is_object(value)) {
    printf("%*s%s\n", indent, "", name);
    json_object_foreach((json_t *)(uintptr_t)value, key, child) {
      if (strcmp(key, "type") != 0 || !strstr(name, ": "))
        print_json_value(key, child, indent + 2); /* said in the name */
    }
  } else if (json_is_array(value) && json_array_size(value) && json_is_object(json_array_get(value, 0))) {
    json_array_foreach(value, i, child) {
      char item[96];
      const char *type = json_string_value(json_object_get(child, "type"));
      if (type)
        snprintf(item, sizeof item, "module %zu: %s", i + 1, type);
      else
        snprintf(item, sizeof item, "%s %zu", name, i + 1);
      print_json_value(item, child, indent);
    }
  } else if (json_is_string(value)) {
    printf("%*s%-*s ", indent, "", left, name);
    cq_print_text(stdout, (cq_slice){json_string_value(value), json_string_length(value)}), putchar('\n');
  } else {
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
    printf("%*s%-*s %s\n", indent, "", left, name, text ? text : "");
    free(text);
  }
}

static int run_model_info(const cli_call *call) {
  const struct info_args *args = call->options;
  cq_error error = {0};
  cq_encoder *encoder = NULL;
  cq_encoder_options o = cq_encoder_default_options();
  char *text = NULL, fingerprint[33];
  json_t *json = NULL;
  int code = CLI_FAILED;
  o.notice = cli_notice;
  if (cq_encoder_open(&encoder, call->arguments[0], &o, &error) || cq_encoder_describe(&text, encoder, &error) ||
      cq_encoder_fingerprint(fingerprint, encoder, &error)) {
    cli_fail_error(&error);
    goto done;
  }
  json = json_loads(text, 0, NULL);
  if (!json || json_object_set_new(json, "fingerprint", json_string(fingerprint)) != 0) {
    cli_fail("out of memory");
    goto done;
  }
  if (args->json) {
    json_dumpf(json, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    putchar('\n');
  } else {
    const char *key;
    json_t *child;
    json_object_foreach(json, key, child) print_json_value(key, child, 0);
  }
  code = CLI_OK;
done:
  json_decref(json);
  cq_free(text);
  cq_encoder_free(encoder);
  return code;
}

static const cli_command model_info = {
    .name = "info",
    .summary = "show a model: modules, pooling, dimensions, tokenizer, prompts",
    CLI_ARGUMENTS("MODEL", 1, 1),
    .description = "Shows a model's modules (transformer, pooling and others), dimensions, tokenizer and prompts. Two "
                   "models have the same fingerprint if and only if configuration, vocabulary and weights are equal.",
    .example = "calque model info all-MiniLM-L6-v2",
    CLI_OPTIONS(struct info_args, info_options),
    .run = run_model_info,
};

static const cli_command *const children[] = {
    &cli_model_get,      &cli_model_put,  &cli_model_new,    &model_info,       &cli_model_check,
    &cli_model_quantize, &cli_model_trim, &cli_model_center, &cli_model_export, NULL};

const cli_command cli_model = {
    .name = "model",
    .summary =
        "fetch, make, show, compare, quantize, trim, center, export or publish models: get, new, info, check, ...",
    .description =
        "Fetches, makes, shows, compares, quantizes, trims, centers, exports and publishes model directories.",
    .example = "calque model info all-MiniLM-L6-v2",
    .children = children,
};
