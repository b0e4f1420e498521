/* A work item's memory, and one vector for each of its texts. */
#include "serve/queue.h"

#include "calque/embedding.h"

#include <stdlib.h>
#include <string.h>

serve_work *serve_work_new(serve_model *model) {
  serve_work *w = calloc(1, sizeof *w);
  if (w) w->model = serve_model_use(model), w->n_users = 1;
  return w;
}

static void destroy_work(serve_work *w) {
  cq_token_ids_free(&w->ids);
  free(w->text_starts);
  free(w->vectors);
  free(w->prompt_name);
  serve_model_leave(w->model);
  free(w);
}

void serve_work_free(serve_work *w) {
  if (w && __atomic_sub_fetch(&w->n_users, 1, __ATOMIC_ACQ_REL) == 0) destroy_work(w);
}

size_t serve_work_n_tokens(const serve_work *w) {
  return w->ids.n ? w->ids.starts[w->ids.n] - w->ids.starts[0] : 0;
}

void serve_work_join_windows(serve_work *w) {
  if (!w->text_starts) return;
  const size_t dim = w->model->dim;
  for (size_t i = 0; i < w->n_texts; i++) {
    const size_t first = w->text_starts[i], end = w->text_starts[i + 1];
    float *to = w->vectors + i * dim; /* never past what is still to be read: first >= i */
    if (end - first == 1) {
      memmove(to, w->vectors + first * dim, dim * sizeof *to);
      continue;
    }
    double all = 0;
    for (size_t s = first; s < end; s++) all += (double)(w->ids.starts[s + 1] - w->ids.starts[s]);
    for (size_t d = 0; d < dim; d++) {
      double sum = 0;
      for (size_t s = first; s < end; s++)
        sum += (double)(w->ids.starts[s + 1] - w->ids.starts[s]) * (double)w->vectors[s * dim + d];
      to[d] = (float)(sum / all);
    }
    cq_normalize(to, 1, dim);
  }
}
