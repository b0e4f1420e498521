/* Topics of a file to a TREC run by words. */
#include "calque/lexical.h"

#include "base/error.h"
#include "base/memory.h"
#include "format/collection.h"
#include "format/trec.h"

#include <stdlib.h>

static cq_status fill_query(cq_lexical_query *out, const cq_lexical *index, const cq_topic *topic, const char *fields,
                            cq_error *error) {
  cq_builder text = {0};
  for (const char *f = fields; *f; f++) {
    const cq_slice field = *f == 't' ? topic->title : *f == 'd' ? topic->description : topic->narrative;
    cq_builder_bytes(&text, field.data, field.n);
    cq_builder_char(&text, ' ');
  }
  cq_status status = text.failed ? cq_fail_memory(error, "a topic")
                                 : cq_lexical_parse(out, index, (cq_slice){text.data, text.n}, error);
  cq_builder_free(&text);
  return status;
}

cq_status cq_lexical_run(FILE *out, const cq_lexical *index, const char *path, const char *fields,
                         const cq_lexical_options *options, const char *tag, cq_context *ctx, cq_error *error) {
  const cq_lexical_options o = options ? *options : cq_lexical_default_options();
  cq_topics topics;
  cq_lexical_query *queries = NULL;
  cq_lexical_hit *hits = NULL;
  if (!fields) fields = "t";
  if (!*fields || strspn(fields, "tdn") != strlen(fields))
    return cq_fail(error, CQ_ERR_ARGUMENT, "fields are '%s', expected letters of t, d and n", fields);
  cq_status status = cq_run_check_tag(tag, error);
  if (!status) status = cq_topics_read(&topics, path, error);
  if (status) return status;
  queries = cq_alloc_array_zeroed(topics.n, sizeof *queries);
  if (!queries) status = cq_fail_memory(error, path);
  for (size_t i = 0; !status && i < topics.n; i++)
    status = fill_query(&queries[i], index, &topics.items[i], fields, error);
  if (!status) status = cq_lexical_search(&hits, index, queries, topics.n, &o, ctx, error);
  for (size_t i = 0; !status && i < topics.n; i++)
    for (size_t rank = 0; rank < o.k && hits[i * o.k + rank].id.data; rank++)
      cq_run_write(out, topics.items[i].id, hits[i * o.k + rank].id, rank + 1, hits[i * o.k + rank].score, tag);
  if (!status && ferror(out)) status = cq_fail(error, CQ_ERR_IO, "the run cannot be written");
  for (size_t i = 0; queries && i < topics.n; i++) cq_lexical_query_free(&queries[i]);
  cq_free(queries);
  cq_free(hits);
  cq_topics_free(&topics);
  return status;
}
