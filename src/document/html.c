/* HTML by libxml2's parser, which takes anything for HTML: the text that is shown, a line for each block. */
#include "base/error.h"
#include "base/memory.h"
#include "document/reader.h"
#include "format/json.h"

#include <libxml/HTMLparser.h>
#include <string.h>

static bool is_among(const char *names, const xmlChar *name) {
  char padded[40];
  return snprintf(padded, sizeof padded, " %s ", (const char *)name) < (int)sizeof padded && strstr(names, padded);
}

/* What is not shown, or is the same on every page. */
static bool is_left_out(const xmlNode *node) {
  return is_among(" head script style noscript template svg math iframe object select button nav aside footer ",
                  node->name);
}

static bool is_block(const xmlNode *node) {
  return is_among(
      " address article blockquote br caption dd details div dl dt fieldset figcaption figure form h1 h2 h3 h4 "
      "h5 h6 header hr legend li main ol option p pre section summary table td th tr ul ",
      node->name);
}

/* White space of any length is one blank, and none at a line's start. */
static void put_shown(cq_builder *out, const char *text) {
  for (; *text; text++) {
    const bool blank = cq_is_blank(*text);
    if (blank && (out->n == 0 || cq_is_blank(out->data[out->n - 1]))) continue;
    cq_builder_char(out, blank ? ' ' : *text);
  }
}

static void end_line(cq_builder *out) {
  while (out->n && out->data[out->n - 1] == ' ') out->n--;
  if (out->n && out->data[out->n - 1] != '\n') cq_builder_char(out, '\n');
}

/* The text below a node, which libxml2 nests 256 deep at most. */
static void put_text(cq_builder *out, const xmlNode *node) {
  for (const xmlNode *n = node; n; n = n->next) {
    if (n->type == XML_TEXT_NODE && n->content) put_shown(out, (const char *)n->content);
    if (n->type != XML_ELEMENT_NODE || is_left_out(n)) continue;
    const bool block = is_block(n);
    if (block) end_line(out);
    put_text(out, n->children);
    if (block) end_line(out);
  }
}

static const xmlNode *find_element(const xmlNode *node, const char *name) {
  for (const xmlNode *n = node; n; n = n->next) {
    if (n->type != XML_ELEMENT_NODE) continue;
    if (!strcmp((const char *)n->name, name)) return n;
    const xmlNode *below = find_element(n->children, name);
    if (below) return below;
  }
  return NULL;
}

/* <meta name=... content=...> that say something about the document. */
static cq_status take_metadata(cq_document_file *file, const xmlNode *head, cq_error *error) {
  json_t *metadata = json_object();
  bool any = false;
  for (const xmlNode *n = head ? head->children : NULL; n; n = n->next) {
    if (n->type != XML_ELEMENT_NODE || strcmp((const char *)n->name, "meta") != 0) continue;
    xmlChar *name = xmlGetProp(n, BAD_CAST "name"), *content = xmlGetProp(n, BAD_CAST "content");
    if (name && content && is_among(" author date description keywords ", name)) {
      cq_json_set(&metadata, (const char *)name, json_string((const char *)content));
      any = true;
    }
    xmlFree(name);
    xmlFree(content);
  }
  if (!metadata) return cq_fail_memory(error, file->path);
  if (any) cq_json_append(&file->room->metadata, metadata, -1);
  json_decref(metadata);
  return CQ_OK;
}

static void put_attribute(cq_builder *out, const xmlNode *node, const char *name) {
  xmlChar *value = node ? xmlGetProp(node, BAD_CAST name) : NULL;
  if (value) put_shown(out, (const char *)value);
  xmlFree(value);
}

static cq_status take_page(cq_document_file *file, const xmlNode *root, cq_error *error) {
  cq_builder *text = &file->room->role[CQ_ROLE_TEXT], *title = &file->room->role[CQ_ROLE_TITLE];
  const xmlNode *head = find_element(root, "head"), *named = find_element(head ? head->children : NULL, "title");
  put_text(text, root);
  end_line(text);
  if (text->n) text->n--;
  if (!named) named = find_element(root, "h1");
  if (named) put_text(title, named->children);
  while (title->n && cq_is_blank(title->data[title->n - 1])) title->n--;
  put_attribute(&file->room->role[CQ_ROLE_LANGUAGE], find_element(root, "html"), "lang");
  for (const xmlNode *n = head ? head->children : NULL; n; n = n->next) {
    if (n->type != XML_ELEMENT_NODE || strcmp((const char *)n->name, "link") != 0) continue;
    xmlChar *rel = xmlGetProp(n, BAD_CAST "rel");
    if (rel && !strcmp((const char *)rel, "canonical")) put_attribute(&file->room->role[CQ_ROLE_URL], n, "href");
    xmlFree(rel);
  }
  return take_metadata(file, head, error);
}

static cq_status read_html(bool *found, void *state, cq_document_file *file, cq_error *error) {
  htmlParserCtxtPtr parser = htmlNewParserCtxt();
  htmlDocPtr page = NULL;
  (void)state;
  *found = true;
  if (parser)
    page = htmlCtxtReadMemory(parser, file->bytes.data, (int)file->bytes.n, NULL, file->is_utf8 ? "UTF-8" : NULL,
                              HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING | HTML_PARSE_NONET);
  const xmlError *problem = parser ? xmlCtxtGetLastError(parser) : NULL;
  cq_status status = CQ_OK;
  if (!parser || (problem && problem->code == XML_ERR_NO_MEMORY))
    status = cq_fail_memory(error, file->path);
  else if (problem && problem->level == XML_ERR_FATAL)
    status = cq_fail_line(error, CQ_ERR_FORMAT, file->path, (uint64_t)problem->line,
                          "HTML that cannot be read on: %.*s", (int)strcspn(problem->message, "\n"), problem->message);
  else if (page)
    status = take_page(file, xmlDocGetRootElement(page), error);
  xmlFreeDoc(page);
  htmlFreeParserCtxt(parser);
  return status;
}

const cq_document_type cq_document_type_html = {
    .name = "html", .endings = " .html .htm .xhtml ", .is_whole = true, .read = read_html};
