/* /openapi.json from the table of routes. */
#include "serve/option_fields.h"
#include "serve/route.h"

#include "calque/version.h"

#include <string.h>

/* The id at the end of the path, and the query's arguments. */
static void put_parameters(cq_builder *b, const serve_route *r) {
  bool is_first = true;
  if (r->path[strlen(r->path) - 1] == '/') {
    cq_builder_text(b, "{\"name\":\"id\",\"in\":\"path\",\"required\":true,\"schema\":{\"type\":\"string\"}}");
    is_first = false;
  }
  for (const char *name = r->arguments; name && *name;) {
    const int n = (int)strcspn(name, " *");
    const bool is_required = name[n] == '*';
    cq_builder_printf(b, "%s{\"name\":\"%.*s\",\"in\":\"query\",\"required\":%s,\"schema\":{\"type\":\"string\"}}",
                      is_first ? "" : ",", n, name, is_required ? "true" : "false");
    is_first = false;
    name += n + is_required;
    name += *name == ' ';
  }
  for (const serve_field *f = r->body ? NULL : r->fields; f && f->name; f++) {
    cq_builder_printf(b, "%s{\"name\":\"%s\",\"in\":\"query\",\"required\":false,\"schema\":", is_first ? "" : ",",
                      f->name);
    serve_put_field_schema(b, f);
    cq_builder_char(b, '}');
    is_first = false;
  }
}

/* The properties of the body: r->body and its fields. */
static void put_properties(cq_builder *b, const serve_route *r) {
  cq_builder_bytes(b, r->body, strlen(r->body) - 1);
  for (const serve_field *f = r->fields; f && f->name; f++) {
    cq_builder_printf(b, ",\"%s\":", f->name);
    serve_put_field_schema(b, f);
  }
  cq_builder_char(b, '}');
}

static void put_operation(cq_builder *b, const serve_route *r) {
  static const char *const tags[] = {"calque", "TEI", "OpenAI", "Ollama", "Cohere"}; /* by serve_style */
  cq_builder_printf(b, "\"%s\":{",
                    !strcmp(r->method, "GET")    ? "get"
                    : !strcmp(r->method, "POST") ? "post"
                    : !strcmp(r->method, "PUT")  ? "put"
                                                 : "delete");
  cq_json_member(b, "\"summary\":", cq_slice_of(r->summary));
  cq_builder_printf(b, ",\"tags\":[\"%s\"]", tags[r->style]);
  cq_builder_text(b, ",\"parameters\":[");
  put_parameters(b, r);
  cq_builder_text(b, "]");
  if (r->flags & SERVE_OPEN) cq_builder_text(b, ",\"security\":[]");
  if (r->body) {
    cq_builder_text(b, ",\"requestBody\":{\"required\":true,\"content\":{\"application/json\":{\"schema\":{\"type\":"
                       "\"object\",\"properties\":");
    put_properties(b, r);
    cq_builder_text(b, "}}}}");
  } else if (r->flags & SERVE_FILE) {
    cq_builder_text(b, ",\"requestBody\":{\"required\":true,\"content\":{\"application/octet-stream\":{},\"multipart/"
                       "form-data\":{}}}");
  }
  cq_builder_text(b, ",\"responses\":{\"200\":{\"description\":\"done\"");
  if (r->answer_schema && r->answer_schema[0] == '{') {
    cq_builder_text(b, ",\"content\":{\"application/json\":{\"schema\":{\"type\":\"object\",\"properties\":");
    cq_builder_text(b, r->answer_schema);
    cq_builder_text(b, "}}}");
  } else if (r->answer_schema) {
    cq_builder_text(b, ",\"content\":{\"application/json\":{\"schema\":{\"type\":\"array\"}}}");
  }
  cq_builder_printf(b, "},\"default\":{\"$ref\":\"#/components/responses/%s\"}}}",
                    r->style == SERVE_OPENAI   ? "OpenAIError"
                    : r->style == SERVE_COHERE ? "CohereError"
                                               : "Error");
}

/* Whether an earlier row has the same path and was already described with it. */
static bool is_described(const serve_route *const *tables, size_t i) {
  for (size_t k = 0; k < i; k++)
    if (!strcmp(serve_route_at(tables, k)->path, serve_route_at(tables, i)->path)) return true;
  return false;
}

void serve_put_openapi(cq_builder *b, const serve_route *const *tables) {
  bool is_first = true;
  cq_builder_printf(
      b,
      "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"calque\",\"version\":\"%s\",\"description\":\"Sentence "
      "embeddings, through the interfaces of OpenAI, text-embeddings-inference, Ollama, Cohere, and calque's own.\"},"
      "\"security\":[{\"key\":[]}],\"paths\":{",
      cq_version());
  for (size_t i = 0; serve_route_at(tables, i); i++) {
    const serve_route *r = serve_route_at(tables, i);
    if (r->flags & SERVE_HIDDEN || is_described(tables, i)) continue;
    const bool is_below = r->path[strlen(r->path) - 1] == '/';
    cq_builder_printf(b, "%s\"%s%s\":{", is_first ? "" : ",", r->path, is_below ? "{id}" : "");
    is_first = false;
    for (size_t k = i; serve_route_at(tables, k); k++) {
      if (strcmp(serve_route_at(tables, k)->path, r->path) != 0) continue;
      if (k > i) cq_builder_text(b, ",");
      put_operation(b, serve_route_at(tables, k));
    }
    cq_builder_text(b, "}");
  }
  cq_builder_text(
      b, "},\"components\":{\"securitySchemes\":{\"key\":{\"type\":\"http\",\"scheme\":\"bearer\"}},\"responses\":{"
         "\"Error\":{\"description\":\"what is wrong\",\"content\":{\"application/json\":{\"schema\":{\"type\":"
         "\"object\",\"properties\":{\"error\":{\"type\":\"string\"},\"error_type\":{\"enum\":[\"validation\","
         "\"overloaded\",\"too_large\",\"not_found\",\"internal\",\"unsupported\"]}}}}}},"
         "\"CohereError\":{\"description\":\"what is wrong\",\"content\":{\"application/json\":{\"schema\":{\"type\":"
         "\"object\",\"properties\":{\"message\":{\"type\":\"string\"},\"error_type\":{\"type\":\"string\"}}}}}},"
         "\"OpenAIError\":{\"description\":\"what is wrong\",\"content\":{\"application/json\":{\"schema\":{\"type\":"
         "\"object\",\"properties\":{\"error\":{\"type\":\"object\",\"properties\":{\"message\":{\"type\":\"string\"},"
         "\"type\":{\"type\":\"string\"},\"param\":{},\"code\":{}}}}}}}}}}}");
}
