/* Counters of responses, in Prometheus's format (text format 0.0.4).
 *
 * Threads: any thread may count and print. */
#ifndef SERVE_METRICS_H
#define SERVE_METRICS_H

#include "base/json_writer.h"

#include <stdint.h>

typedef struct serve_metrics serve_metrics;
struct serve_shared;
struct serve_route;

serve_metrics *serve_metrics_new(const struct serve_route *const *tables); /* NULL: out of memory */
void serve_metrics_free(serve_metrics *metrics);

typedef struct serve_counted {
  const struct serve_route *route; /* NULL: there was none */
  int code;
  uint64_t took_us, n_tokens, n_truncated;
} serve_counted;
void serve_metrics_count(serve_metrics *metrics, const serve_counted *request);
void serve_metrics_connection(serve_metrics *metrics, int change); /* +1, -1 */
void serve_metrics_reload(serve_metrics *metrics, bool failed);

void serve_put_metrics(cq_builder *b, const struct serve_shared *shared);

#endif
