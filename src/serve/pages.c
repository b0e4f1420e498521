/* The page, and the description of all routes. */
#include "serve/pages.h"
#include "serve/route.h"

#include <string.h>

static void prepare_page(serve_request *r) {
  const char *path = r->rest && *r->rest ? r->rest : "";
  for (const serve_page *p = serve_pages; p->path; p++) {
    if (strcmp(p->path + 1, path) != 0) continue;
    r->etag = p->etag, r->content_type = p->content_type;
    r->constant = p->data, r->n_constant = p->n;
    r->code = 200;
    if (r->if_none_match && !strcmp(r->if_none_match, p->etag)) r->code = 304, r->n_constant = 0;
    return;
  }
  serve_fail(r, SERVE_NOT_FOUND, NULL, "there is nothing at /%.300s (GET /openapi.json lists what there is)", path);
}

static void prepare_openapi(serve_request *r) {
  serve_put_openapi(&r->answer);
  serve_answer(r);
}

const serve_route serve_page_routes[] = {
    {.method = "GET",
     .path = "/openapi.json",
     .flags = SERVE_INLINE | SERVE_OPEN,
     .prepare = prepare_openapi,
     .summary = "This description",
     .answer_schema = "{}"},
    {.method = "GET",
     .path = "/",
     .flags = SERVE_INLINE | SERVE_OPEN | SERVE_HIDDEN,
     .prepare = prepare_page,
     .summary = "The page"},
    {0},
};
