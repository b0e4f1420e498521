/* Topics of a file to a TREC run by words. */
#include "lab/retrieval/trec_run.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/options.h"
#include "format/collection.h"
#include "lab/retrieval/trec.h"
#include "lexical/score.h"

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

cq_status cq_hits_write_run(const char *run, const cq_slice *topics, size_t n, const cq_lexical_hit *hits, size_t k,
                            const char *tag, cq_error *error) {
  cq_text_writer out;
  cq_status status = cq_run_check_tag(tag, error);
  if (!status) status = cq_text_writer_open(&out, run, error);
  if (status) return status;
  for (size_t i = 0; !status && i < n; i++, hits += k)
    for (size_t rank = 0; !status && rank < k && hits[rank].id.data; rank++)
      status = cq_run_put(&out, topics[i], hits[rank].id, rank + 1, hits[rank].score, tag, error);
  if (!status) status = cq_text_writer_commit(&out, error);
  cq_text_writer_abort(&out);
  return status;
}

cq_status cq_lexical_run(const char *run, const cq_lexical *index, const char *path, const char *fields,
                         const cq_lexical_options *options, const char *tag, cq_context *ctx, cq_error *error) {
  cq_lexical_options o;
  cq_topics topics;
  cq_lexical_hit *hits = NULL;
  if (!fields) fields = "t";
  if (!*fields || strspn(fields, "tdn") != strlen(fields))
    return cq_fail(error, CQ_ERR_ARGUMENT, "fields are '%s', expected letters of t, d and n", fields);
  cq_status status = cq_options_take(&o, &cq_group_lexical, options, error);
  if (!status) status = cq_run_check_tag(tag, error);
  if (!status) status = cq_text_writer_check(run, error);
  if (!status) status = cq_topics_read(&topics, path, error);
  if (status) return status;
  cq_lexical_query *queries = cq_alloc_array_zeroed(topics.n, sizeof *queries);
  cq_slice *ids = cq_alloc_array(topics.n, sizeof *ids);
  if (!queries || !ids) status = cq_fail_memory(error, path);
  for (size_t i = 0; !status && i < topics.n; i++) {
    ids[i] = topics.items[i].id;
    status = fill_query(&queries[i], index, &topics.items[i], fields, error);
  }
  if (!status) status = cq_lexical_search(&hits, index, queries, topics.n, &o, ctx, error);
  if (!status) status = cq_hits_write_run(run, ids, topics.n, hits, o.k, tag, error);
  for (size_t i = 0; queries && i < topics.n; i++) cq_lexical_query_free(&queries[i]);
  cq_free(queries);
  cq_free(ids);
  cq_free(hits);
  cq_topics_free(&topics);
  return status;
}
