/* The page, and the description of all routes. */
#include "serve/pages.h"
#include "serve/route.h"

#include <string.h>
#include <strings.h>

/* Whether an Accept-Encoding header accepts gzip (without q=0). */
static bool accepts_gzip(const char *header) {
  for (const char *at = header; at && *at; at += *at == ',') {
    const size_t n = strcspn(at, ",");
    size_t space = strspn(at, " \t");
    if (space > n) space = n;
    const char *coding = at + space, *end = at + n;
    const size_t n_name = strcspn(coding, " \t;,");
    if (n_name == 4 && !strncasecmp(coding, "gzip", 4)) {
      const char *q = coding + n_name;
      while (q < end && strchr(" \t;", *q)) q++;
      if (end - q < 3 || strncasecmp(q, "q=0", 3) != 0) return true;
      for (q += 3; q < end; q++)
        if (*q >= '1' && *q <= '9') return true;
      return false;
    }
    at = end;
  }
  return false;
}

static void prepare_page(serve_request *r) {
  const char *path = r->rest && *r->rest ? r->rest : "";
  for (const serve_page *p = serve_pages; p->path; p++) {
    if (strcmp(p->path + 1, path) != 0) continue;
    const bool zipped = accepts_gzip(r->accept_encoding);
    const serve_page_bytes *bytes = zipped ? &p->gzipped : &p->plain;
    if (zipped) r->content_encoding = "gzip";
    r->etag = bytes->etag, r->content_type = p->content_type;
    r->constant = bytes->data, r->n_constant = bytes->n;
    r->code = 200;
    /* A list of ETags, possibly with weak ones from a proxy: the quotation marks make an ETag unambiguous. */
    if (r->if_none_match && strstr(r->if_none_match, bytes->etag)) r->code = 304, r->n_constant = 0;
    return;
  }
  serve_fail(r, SERVE_NOT_FOUND, NULL, "there is nothing at /%.300s (GET /openapi.json lists all routes)", path);
}

static void prepare_openapi(serve_request *r) {
  serve_put_openapi(&r->answer, r->shared->routes);
  serve_answer(r);
}

const serve_route serve_page_routes[] = {
    {"GET", "/openapi.json", SERVE_OURS, SERVE_INLINE | SERVE_OPEN, prepare_openapi, NULL,
     .summary = "This description", .answer_schema = "{}"},
    {"GET", "/", SERVE_OURS, SERVE_INLINE | SERVE_OPEN | SERVE_HIDDEN, prepare_page, NULL, .summary = "The page"},
    {0},
};
