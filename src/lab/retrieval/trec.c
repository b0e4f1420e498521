/* Reads and writes TREC's relevance judgments and runs. See trec.h. */
#include "lab/retrieval/trec.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/slice.h"
#include "calque/lines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMNS = 6 };

/* Splits columns at blanks; returns their number and stores at most n of them. */
static size_t split_blanks(cq_slice *columns, size_t n, cq_slice line) {
  size_t count = 0;
  for (size_t i = 0; i < line.n;) {
    size_t end = i;
    while (end < line.n && line.data[end] != ' ' && line.data[end] != '\t') end++;
    if (end > i) {
      if (count < n) columns[count] = (cq_slice){line.data + i, end - i};
      count++;
    }
    i = end + 1;
  }
  return count;
}

/* BEIR's judgments have three columns with the names "query-id", "corpus-id", "score". Converts them to TREC's four. */
static bool is_beir_head(const cq_slice *columns, size_t n) {
  return n == 3 && cq_slice_equal(columns[0], cq_slice_of("query-id")) &&
         cq_slice_equal(columns[1], cq_slice_of("corpus-id"));
}
static size_t widen_beir(cq_slice *columns, size_t n) {
  if (n != 3) return n;
  columns[3] = columns[2], columns[2] = columns[1], columns[1] = (cq_slice){"0", 1};
  return 4;
}

/* Calls add for every line, with its columns, which are in the arena. */
static cq_status read_trec_lines(cq_arena *text, const char *path, size_t n_columns, const char *expected,
                                 cq_status (*add)(void *out, const cq_slice *columns, const cq_lines *at,
                                                  cq_error *error),
                                 void *out, cq_error *error) {
  bool is_beir = false;
  cq_lines *lines;
  cq_slice line;
  cq_status status = cq_lines_open(&lines, path, error);
  if (status) return status;
  while (!(status = cq_lines_next(&line, lines, error)) && line.data) {
    cq_slice columns[MAX_COLUMNS];
    if (line.n && line.data[0] == '#') continue;
    const char *copy = cq_arena_strndup(text, line.data, line.n);
    if (!copy) status = cq_fail_memory(error, path);
    if (status) break;
    size_t n = split_blanks(columns, MAX_COLUMNS, (cq_slice){copy, line.n});
    if (n == 0) continue;
    if (n_columns == 4 && cq_lines_number(lines) == 1 && is_beir_head(columns, n)) {
      is_beir = true;
      continue;
    }
    if (is_beir) n = widen_beir(columns, n);
    if (n != n_columns)
      status = cq_fail_line(error, CQ_ERR_FORMAT, path, cq_lines_number(lines), "%zu column%s, expected %s", n,
                            n == 1 ? "" : "s", expected);
    if (!status) status = add(out, columns, lines, error);
    if (status) break;
  }
  cq_lines_close(lines);
  return status;
}

static cq_status fail_twice(cq_slice topic, cq_slice document, const char *path, cq_error *error) {
  return cq_fail_file(error, CQ_ERR_FORMAT, path, "document '%.*s' appears twice under topic '%.*s'", (int)document.n,
                      document.data, (int)topic.n, topic.data);
}

/* --- judgements --- */

typedef struct judgement_list {
  cq_judgements *out;
  size_t capacity;
} judgement_list;

static cq_status add_judgement(void *context, const cq_slice *columns, const cq_lines *at, cq_error *error) {
  judgement_list *list = context;
  double relevance;
  if (!cq_slice_number(&relevance, columns[3]) || relevance != floor(relevance) || fabs(relevance) > 1000000)
    return cq_fail_line(error, CQ_ERR_FORMAT, cq_lines_path(at), cq_lines_number(at),
                        "the relevance is '%.*s', expected a whole number up to 1000000", (int)columns[3].n,
                        columns[3].data);
  if (!cq_reserve((void **)&list->out->items, &list->capacity, list->out->n + 1, sizeof *list->out->items))
    return cq_fail_memory(error, cq_lines_path(at));
  list->out->items[list->out->n++] = (cq_judgement){columns[0], columns[2], (int32_t)relevance};
  return CQ_OK;
}

static int by_topic_and_document(const void *a, const void *b) {
  const cq_judgement *p = a, *q = b;
  const int topic = cq_slice_compare(p->topic, q->topic);
  return topic ? topic : cq_slice_compare(p->document, q->document);
}

cq_status cq_judgements_read(cq_judgements *out, const char *path, cq_error *error) {
  *out = (cq_judgements){0};
  judgement_list list = {.out = out};
  cq_status status =
      read_trec_lines(&out->text, path, 4, "topic, iteration, document and relevance", add_judgement, &list, error);
  if (!status && out->n) qsort(out->items, out->n, sizeof *out->items, by_topic_and_document);
  for (size_t i = 1; !status && i < out->n; i++)
    if (by_topic_and_document(&out->items[i - 1], &out->items[i]) == 0)
      status = fail_twice(out->items[i].topic, out->items[i].document, path, error);
  return status;
}

void cq_judgements_free(cq_judgements *judgements) {
  cq_free(judgements->items);
  cq_arena_free(&judgements->text);
  *judgements = (cq_judgements){0};
}

int cq_judgement_find(const cq_judgements *judgements, size_t first, size_t n, cq_slice document) {
  size_t low = first, high = first + n;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const int order = cq_slice_compare(judgements->items[middle].document, document);
    if (order == 0) return judgements->items[middle].relevance;
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return CQ_NOT_JUDGED;
}

static int highest_relevance_first(const void *a, const void *b) {
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x < y) - (x > y);
}

size_t cq_judgements_relevances(int32_t *relevance, const cq_judgements *judgements, size_t first, size_t n) {
  size_t n_judged = 0;
  for (size_t i = first; i < first + n; i++)
    if (judgements->items[i].relevance >= 0) relevance[n_judged++] = judgements->items[i].relevance;
  if (n_judged) qsort(relevance, n_judged, sizeof *relevance, highest_relevance_first);
  return n_judged;
}

/* --- runs --- */

typedef struct ranked_list {
  cq_run *out;
  bool in_f32;
  size_t capacity;
} ranked_list;

static cq_status add_ranked(void *context, const cq_slice *columns, const cq_lines *at, cq_error *error) {
  ranked_list *list = context;
  double score;
  if (!cq_slice_number(&score, columns[4]))
    return cq_fail_line(error, CQ_ERR_FORMAT, cq_lines_path(at), cq_lines_number(at),
                        "the score is '%.*s', expected a number", (int)columns[4].n, columns[4].data);
  if (!cq_reserve((void **)&list->out->items, &list->capacity, list->out->n + 1, sizeof *list->out->items))
    return cq_fail_memory(error, cq_lines_path(at));
  list->out->items[list->out->n++] = (cq_ranked){columns[0], columns[2], list->in_f32 ? (double)(float)score : score};
  return CQ_OK;
}

static int by_document(const void *a, const void *b) {
  const cq_ranked *p = a, *q = b;
  const int topic = cq_slice_compare(p->topic, q->topic);
  return topic ? topic : cq_slice_compare(p->document, q->document);
}

static int best_ranked_first(const void *a, const void *b) {
  const cq_ranked *p = a, *q = b;
  const int topic = cq_slice_compare(p->topic, q->topic);
  if (topic) return topic;
  if (p->score != q->score) return p->score > q->score ? -1 : 1;
  return cq_slice_compare(q->document, p->document);
}

cq_status cq_run_read(cq_run *out, const char *path, bool in_f32, cq_error *error) {
  *out = (cq_run){0};
  ranked_list list = {.out = out, .in_f32 = in_f32};
  cq_status status =
      read_trec_lines(&out->text, path, 6, "topic, Q0, document, rank, score and tag", add_ranked, &list, error);
  if (!status && out->n) qsort(out->items, out->n, sizeof *out->items, by_document);
  for (size_t i = 1; !status && i < out->n; i++)
    if (by_document(&out->items[i - 1], &out->items[i]) == 0)
      status = fail_twice(out->items[i].topic, out->items[i].document, path, error);
  if (!status && out->n) qsort(out->items, out->n, sizeof *out->items, best_ranked_first);
  return status;
}

void cq_run_free(cq_run *run) {
  cq_free(run->items);
  cq_arena_free(&run->text);
  *run = (cq_run){0};
}

cq_status cq_run_check_tag(const char *tag, cq_error *error) {
  bool ok = *tag != 0;
  for (const char *p = tag; *p; p++) ok &= !cq_is_blank(*p);
  return ok ? CQ_OK : cq_fail(error, CQ_ERR_ARGUMENT, "the tag '%s' is empty or has blanks", tag);
}

cq_status cq_run_put(cq_text_writer *out, cq_slice topic, cq_slice document, size_t rank, double score, const char *tag,
                     cq_error *error) {
  char end[64];
  const int n = cq_snprintf(end, sizeof end, " %zu %.12g ", rank, score);
  const cq_slice parts[] = {topic, {" Q0 ", 4}, document, {end, (size_t)n}, cq_slice_of(tag), {"\n", 1}};
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < sizeof parts / sizeof *parts; i++)
    status = cq_text_writer_put(out, parts[i].data, parts[i].n, error);
  return status;
}
