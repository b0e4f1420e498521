/* The objects that searches open for a snapshot: its approximate index and its lexical index, shared by all users, and
 * the analyzer that splits documents and queries into words, one for all languages. */
#include "recipe/index/index.h"

#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void cq_index_approximation_free(cq_index_approximation *a) {
  if (!a) return;
  cq_approximate_free(a->it);
  cq_free(a);
}

/* --- the analyzer --- */

/* An index contains documents in many languages, and the language of a query is unknown. */
cq_status cq_index_need_analyzer(const cq_analyzer **out, const cq_index *index, cq_error *error) {
  _Atomic(cq_analyzer *) *place = &index->shared->analyzer;
  cq_analyzer *analyzer = atomic_load(place);
  cq_status status = CQ_OK;
  if (!analyzer) {
    pthread_mutex_lock(&index->shared->opening);
    if (!(analyzer = atomic_load(place))) {
      status = cq_analyzer_open_forms(&analyzer, error);
      if (!status) atomic_store(place, analyzer);
    }
    pthread_mutex_unlock(&index->shared->opening);
  }
  *out = status ? NULL : analyzer;
  return status;
}

/* --- approximations --- */

/* The approximate index of a snapshot, to be released; opened if it is not yet open. Errors: CQ_ERR_IO if it no longer
 * exists, CQ_ERR_UNSUPPORTED without the plugin. */
static cq_status hold_approximation(cq_index_approximation **out, const cq_index *index,
                                    const cq_index_snapshot *snapshot, cq_error *error) {
  const cq_index_info info = cq_index_snapshot_info(snapshot);
  cq_index_shared *s = index->shared;
  cq_index_approximation *mine = NULL, *gone = NULL;
  char path[PATH_MAX];
  cq_status status = CQ_OK;
  pthread_mutex_lock(&s->holding);
  if (s->approximation && s->approximation->generation == info.approximate) {
    mine = s->approximation;
    mine->n_users++;
  } else if (s->has_no_plugin) {
    status = CQ_ERR_UNSUPPORTED;
  } else {
    mine = cq_alloc_zeroed(sizeof *mine);
    status = mine ? cq_index_store_approximate(path, index->store, info.approximate, error)
                  : cq_fail_memory(error, index->directory);
    if (!status) status = cq_index_snapshot_verify_approximate(snapshot, path, error);
    if (!status) status = cq_approximate_open(&mine->it, path, (size_t)info.n_approximate, (size_t)info.dim, error);
    s->has_no_plugin = status == CQ_ERR_UNSUPPORTED;
    if (status) {
      cq_free(mine);
      mine = NULL;
    } else {
      mine->generation = info.approximate, mine->n_users = 1;
      if (!s->approximation || s->approximation->generation < mine->generation) {
        if (s->approximation && --s->approximation->n_users == 0) gone = s->approximation;
        s->approximation = mine;
        mine->n_users++;
      }
    }
  }
  pthread_mutex_unlock(&s->holding);
  cq_index_approximation_free(gone);
  *out = mine;
  return status;
}

void cq_index_release_approximation(const cq_index *index, cq_index_approximation *a) {
  if (!a) return;
  pthread_mutex_lock(&index->shared->holding);
  const bool is_last = --a->n_users == 0;
  pthread_mutex_unlock(&index->shared->holding);
  if (is_last) cq_index_approximation_free(a);
}

static void tell_once(const cq_index *index, const char *reason) {
  pthread_mutex_lock(&index->shared->holding);
  const bool is_told = index->shared->is_told;
  index->shared->is_told = true;
  pthread_mutex_unlock(&index->shared->holding);
  if (!is_told) CQ_NOTIFY(index, "the approximation cannot be used, searching exactly: %s", reason);
}

/* A snapshot and, unless `exact` is set, its approximate index (NULL: none, or unusable). If another process has
 * replaced that index, there is a newer snapshot. */
cq_status cq_index_hold_newest(cq_index_snapshot **snapshot, cq_index_approximation **out, const cq_index *index,
                               bool exact, cq_error *error) {
  *snapshot = cq_index_store_hold(index->store);
  *out = NULL;
  for (;;) {
    const cq_index_info info = cq_index_snapshot_info(*snapshot);
    cq_error e = {0};
    bool changed;
    if (exact || info.n_approximate == 0) return CQ_OK;
    const cq_status status = hold_approximation(out, index, *snapshot, &e);
    if (status != CQ_ERR_IO && status != CQ_ERR_UNSUPPORTED) {
      if (status && error) *error = e;
      return status;
    }
    if (status == CQ_ERR_IO && !cq_index_store_refresh(index->store, &changed, NULL)) {
      cq_index_snapshot_release(*snapshot);
      *snapshot = cq_index_store_hold(index->store);
      if (cq_index_snapshot_info(*snapshot).approximate != info.approximate) continue;
    }
    tell_once(index, e.message);
    return CQ_OK;
  }
}

/* --- the index by words --- */

void cq_index_word_set_free(cq_index_word_set *w) {
  if (!w) return;
  cq_lexical_set_free(w->set);
  cq_free(w->parts);
  cq_free(w);
}

static bool is_set_of(const cq_index_word_set *w, const cq_index_info *info) {
  return w && w->n_parts == info->n_words &&
         (w->n_parts == 0 || memcmp(w->parts, info->words, w->n_parts * sizeof *w->parts) == 0);
}

cq_status cq_index_open_parts(cq_lexical_set **out, const cq_index *index, const cq_index_words *parts, size_t n,
                              const cq_lexical_set *shared, cq_error *error) {
  const cq_analyzer *analyzer;
  char(*paths)[PATH_MAX] = cq_alloc_array(n, sizeof *paths);
  const char **names = cq_alloc_array(n, sizeof *names);
  *out = NULL;
  cq_status status =
      paths && names ? cq_index_need_analyzer(&analyzer, index, error) : cq_fail_memory(error, index->directory);
  for (size_t i = 0; !status && i < n; i++) {
    names[i] = paths[i];
    status = cq_index_store_words(paths[i], index->store, parts[i].number, error);
  }
  if (!status) status = cq_lexical_set_open(out, analyzer, names, n, shared, error);
  for (size_t i = 0; !status && i < n; i++) {
    const uint64_t n_passages = cq_lexical_set_first(*out, i + 1) - cq_lexical_set_first(*out, i);
    if (n_passages != (uint64_t)parts[i].n)
      status = cq_fail_file(error, CQ_ERR_FORMAT, paths[i], "it has %" PRIu64 " passages, the manifest says %" PRId64,
                            n_passages, parts[i].n);
  }
  if (status) {
    cq_lexical_set_free(*out);
    *out = NULL;
  }
  cq_free(names);
  cq_free(paths);
  return status;
}

static cq_status open_words(cq_index_word_set **out, const cq_index *index, const cq_index_info *info,
                            const cq_lexical_set *shared, cq_error *error) {
  cq_index_word_set *w = cq_alloc_zeroed(sizeof *w);
  *out = NULL;
  if (w) w->parts = cq_alloc_array(info->n_words, sizeof *w->parts);
  cq_status status = w && w->parts ? cq_index_open_parts(&w->set, index, info->words, info->n_words, shared, error)
                                   : cq_fail_memory(error, index->directory);
  if (status) {
    cq_index_word_set_free(w);
    return status;
  }
  if (info->n_words) memcpy(w->parts, info->words, info->n_words * sizeof *w->parts);
  w->n_parts = info->n_words, w->n_users = 1;
  *out = w;
  return CQ_OK;
}

cq_status cq_index_hold_words(cq_index_word_set **out, const cq_index *index, const cq_index_snapshot *snapshot,
                              cq_error *error) {
  const cq_index_info info = cq_index_snapshot_info(snapshot);
  cq_index_shared *s = index->shared;
  cq_index_word_set *gone = NULL;
  cq_status status = CQ_OK;
  *out = NULL;
  pthread_mutex_lock(&s->holding);
  if (!is_set_of(s->words, &info)) {
    cq_index_word_set *fresh;
    status = open_words(&fresh, index, &info, s->words ? s->words->set : NULL, error);
    if (!status) {
      if (s->words && --s->words->n_users == 0) gone = s->words;
      s->words = fresh;
    }
  }
  if (!status) {
    *out = s->words;
    s->words->n_users++;
  }
  pthread_mutex_unlock(&s->holding);
  cq_index_word_set_free(gone);
  return status;
}

void cq_index_release_words(const cq_index *index, cq_index_word_set *w) {
  if (!w) return;
  pthread_mutex_lock(&index->shared->holding);
  const bool is_last = --w->n_users == 0;
  pthread_mutex_unlock(&index->shared->holding);
  if (is_last) cq_index_word_set_free(w);
}
