/* Counters by route and status code, and their text for Prometheus. */
#include "serve/metrics.h"
#include "serve/route.h"

#include "calque/process.h"
#include "calque/version.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int codes[] = {200, 304, 400, 401, 403, 404, 405, 408, 413, 414, 415, 422, 429, 500, 501, 503, 504};
static const double bounds_s[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};
enum { N_CODES = sizeof codes / sizeof *codes, N_BOUNDS = sizeof bounds_s / sizeof *bounds_s };

typedef struct route_metrics {
  atomic_uint_fast64_t n[N_CODES + 1]; /* the last: any other code */
  atomic_uint_fast64_t buckets[N_BOUNDS + 1], took_us;
} route_metrics;

struct serve_metrics {
  const serve_route *const *tables;
  route_metrics routes[SERVE_MAX_ROUTES + 1]; /* the last: no route */
  atomic_uint_fast64_t n_tokens, n_truncated, n_reloads, n_failed_reloads;
  atomic_int n_connections;
};

serve_metrics *serve_metrics_new(const serve_route *const *tables) {
  serve_metrics *m = calloc(1, sizeof *m);
  if (m) m->tables = tables;
  return m;
}

void serve_metrics_free(serve_metrics *metrics) {
  free(metrics);
}

void serve_metrics_count(serve_metrics *m, const serve_counted *request) {
  route_metrics *r = &m->routes[request->route ? serve_route_number(m->tables, request->route) : SERVE_MAX_ROUTES];
  size_t code = 0, bucket = 0;
  while (code < N_CODES && codes[code] != request->code) code++;
  while (bucket < N_BOUNDS && (double)request->took_us * 1e-6 > bounds_s[bucket]) bucket++;
  atomic_fetch_add(&r->n[code], 1);
  atomic_fetch_add(&r->buckets[bucket], 1);
  atomic_fetch_add(&r->took_us, request->took_us);
  atomic_fetch_add(&m->n_tokens, request->n_tokens);
  atomic_fetch_add(&m->n_truncated, request->n_truncated);
}

void serve_metrics_connection(serve_metrics *m, int change) {
  atomic_fetch_add(&m->n_connections, change);
}

void serve_metrics_reload(serve_metrics *m, bool failed) {
  atomic_fetch_add(failed ? &m->n_failed_reloads : &m->n_reloads, 1);
}

/* ---- printing ---- */

static void put_head(cq_builder *b, const char *name, const char *type, const char *help) {
  cq_builder_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_value(cq_builder *b, const char *name, const char *type, const char *help, double value) {
  put_head(b, name, type, help);
  cq_builder_printf(b, "%s %.17g\n", name, value);
}

static const serve_route *route_at(const serve_metrics *m, size_t i) {
  static const serve_route other = {.method = "any", .path = "other"};
  return i < SERVE_MAX_ROUTES ? serve_route_at(m->tables, i) : &other;
}

/* The routes, then requests without one. */
static void put_requests(cq_builder *b, serve_metrics *m) {
  put_head(b, "calque_requests_total", "counter", "Requests answered, by route and HTTP code.");
  for (size_t i = 0; i <= SERVE_MAX_ROUTES; i++) {
    const serve_route *route = route_at(m, i);
    if (!route) continue;
    for (size_t c = 0; c <= N_CODES; c++) {
      const uint64_t n = atomic_load(&m->routes[i].n[c]);
      if (!n) continue;
      cq_builder_printf(b, "calque_requests_total{method=\"%s\",route=\"%s\",code=\"", route->method, route->path);
      if (c < N_CODES)
        cq_builder_printf(b, "%d\"} %" PRIu64 "\n", codes[c], n);
      else
        cq_builder_printf(b, "other\"} %" PRIu64 "\n", n);
    }
  }
}

static void put_latencies(cq_builder *b, serve_metrics *m) {
  static const char name[] = "calque_request_duration_seconds";
  put_head(b, name, "histogram", "From a request's headers to the end of its answer.");
  for (size_t i = 0; i <= SERVE_MAX_ROUTES; i++) {
    const serve_route *route = route_at(m, i);
    uint64_t n = 0, n_all = 0;
    for (size_t k = 0; k <= N_BOUNDS; k++) n_all += atomic_load(&m->routes[i].buckets[k]);
    if (!n_all || !route) continue;
    for (size_t k = 0; k <= N_BOUNDS; k++) {
      n += atomic_load(&m->routes[i].buckets[k]);
      cq_builder_printf(b, "%s_bucket{method=\"%s\",route=\"%s\",le=\"", name, route->method, route->path);
      if (k < N_BOUNDS)
        cq_builder_printf(b, "%g\"} %" PRIu64 "\n", bounds_s[k], n);
      else
        cq_builder_printf(b, "+Inf\"} %" PRIu64 "\n", n);
    }
    cq_builder_printf(b, "%s_sum{method=\"%s\",route=\"%s\"} %.6f\n", name, route->method, route->path,
                      (double)atomic_load(&m->routes[i].took_us) * 1e-6);
    cq_builder_printf(b, "%s_count{method=\"%s\",route=\"%s\"} %" PRIu64 "\n", name, route->method, route->path, n);
  }
}

void serve_put_metrics(cq_builder *b, const serve_shared *shared) {
  serve_metrics *m = shared->metrics;
  serve_queue_stats q = {0};
  if (shared->queue) serve_queue_read_stats(&q, shared->queue);
  put_head(b, "calque_build_info", "gauge", "The version that runs.");
  cq_builder_printf(b, "calque_build_info{version=\"%s\",simd=\"%s\"} 1\n", cq_version(), cq_simd_level());
  put_requests(b, m);
  put_latencies(b, m);
  put_value(b, "calque_tokens_total", "counter", "Tokens of texts that were encoded.",
            (double)atomic_load(&m->n_tokens));
  put_value(b, "calque_truncated_total", "counter", "Texts that were truncated to the model's length.",
            (double)atomic_load(&m->n_truncated));
  put_value(b, "calque_batches_total", "counter", "Batches that were encoded.", (double)q.n_batches);
  put_value(b, "calque_batch_sequences_total", "counter", "Sequences in them.", (double)q.n_batch_sequences);
  put_value(b, "calque_batch_tokens_total", "counter", "Tokens in them.", (double)q.n_batch_tokens);
  put_value(b, "calque_queue_requests", "gauge", "Requests that wait or are being encoded.", (double)q.n_waiting);
  put_value(b, "calque_queue_tokens", "gauge", "Their tokens.", (double)q.n_waiting_tokens);
  put_value(b, "calque_queue_limit_tokens", "gauge", "Tokens that may wait.", (double)shared->limits.queue_tokens);
  put_value(b, "calque_tokens_per_second", "gauge", "How fast the last batches were encoded.", q.tokens_per_s);
  put_value(b, "calque_connections", "gauge", "Open connections.", (double)atomic_load(&m->n_connections));
  put_value(b, "calque_reloads_total", "counter", "Times that model and index were opened again.",
            (double)atomic_load(&m->n_reloads));
  put_value(b, "calque_failed_reloads_total", "counter", "Times that they could not be.",
            (double)atomic_load(&m->n_failed_reloads));
  put_value(b, "process_resident_memory_bytes", "gauge", "Resident memory.", cq_process_memory());
}
