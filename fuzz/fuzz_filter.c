/* Any text as a filter is an error with a place, or an expression that SQLite takes. */
#include "fuzz.h"

#include "store/document_store.h"

#include <string.h>

static void ignore(void *context, int64_t first) {
  (void)context, (void)first;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static cq_document_store *store;
  cq_filter filter;
  cq_error error = {0};
  if (!store) {
    static const char metadata[] = "{\"year\": 2020, \"a\": [1, \"b\"]}";
    const cq_document d = {.id = {"a", 1}, .language = {"de", 2}, .metadata = {metadata, sizeof metadata - 1}};
    CHECK(cq_document_store_open(&store, NULL, true, NULL) == CQ_OK);
    CHECK(cq_document_store_append(store, &d, (const int64_t[]){0}, 1, NULL) == CQ_OK);
  }
  cq_status status = cq_filter_parse(&filter, (cq_slice){(const char *)data, n}, &error);
  if (status) {
    CHECK(status == CQ_ERR_MEMORY || (status == CQ_ERR_ARGUMENT && !strncmp(error.message, "filter: ", 8)));
    return 0;
  }
  status = cq_document_store_select(store, &filter, 1, ignore, NULL, &error);
  CHECK(!status || status == CQ_ERR_MEMORY);
  cq_filter_free(&filter);
  return 0;
}
