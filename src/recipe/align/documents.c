/* Documents in sentences: read, split, and all blanks within and between sentences made one. See alignment.h. */
#include "recipe/align/alignment.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/slice.h"

#include <string.h>

static void document_free(cq_align_document *d) {
  cq_free(d->id), cq_free(d->text), cq_free(d->sentences), cq_free(d->numbers);
  cq_free(d->blocks), cq_free(d->mean);
}

void cq_align_documents_free(cq_align_documents *documents) {
  for (size_t i = 0; i < documents->n; i++) document_free(&documents->items[i]);
  cq_free(documents->items);
  *documents = (cq_align_documents){0};
}

static cq_status take_lines(cq_align_document *d, cq_slice text, cq_error *error) {
  size_t n_lines = 1, line = 0;
  for (size_t i = 0; i < text.n; i++) n_lines += text.data[i] == '\n';
  d->sentences = cq_alloc_array(n_lines, sizeof *d->sentences);
  d->numbers = cq_alloc_array(n_lines, sizeof *d->numbers);
  if (!d->sentences || !d->numbers) return cq_fail_memory(error, "lines");
  for (size_t begin = 0; begin <= text.n; line++) {
    const char *end = begin < text.n ? memchr(text.data + begin, '\n', text.n - begin) : NULL;
    const size_t n = end ? (size_t)(end - text.data) - begin : text.n - begin;
    const cq_slice kept = cq_slice_trimmed((cq_slice){text.data + begin, n});
    if (kept.n) {
      const size_t at = (size_t)(kept.data - text.data);
      d->sentences[d->n] = (cq_sentence){at, at + kept.n};
      d->numbers[d->n++] = (uint32_t)line;
    }
    begin += n + 1;
  }
  return CQ_OK;
}

static cq_status take_sentences(cq_align_document *d, cq_slice text, cq_sentence_splitter *splitter, cq_error *error) {
  const cq_sentence *found;
  const cq_status status = cq_sentence_splitter_run(&found, &d->n, splitter, text, d->language, error);
  if (status) return status;
  d->sentences = cq_alloc_array(d->n, sizeof *d->sentences);
  d->numbers = cq_alloc_array(d->n, sizeof *d->numbers);
  if (!d->sentences || !d->numbers) return cq_fail_memory(error, "sentences");
  for (size_t i = 0; i < d->n; i++) d->sentences[i] = found[i], d->numbers[i] = (uint32_t)i;
  return CQ_OK;
}

/* A sentence begins a block after a blank line, or after any line's end in a text whose lines are not wrapped: no sentence
 * has a line's end within it. */
static cq_status find_blocks(cq_align_document *d, bool lines, cq_error *error) {
  bool is_wrapped = lines; /* there, each sentence is on its own line */
  d->blocks = cq_alloc_array_zeroed(d->n, sizeof *d->blocks);
  if (d->n && !d->blocks) return cq_fail_memory(error, "blocks of text");
  for (size_t i = 0; !is_wrapped && i < d->n; i++)
    is_wrapped = memchr(d->text + d->sentences[i].begin, '\n', d->sentences[i].end - d->sentences[i].begin);
  for (size_t i = 1; i < d->n; i++) {
    size_t n_ends = 0;
    for (size_t at = d->sentences[i - 1].end; at < d->sentences[i].begin; at++) n_ends += d->text[at] == '\n';
    d->blocks[i] = d->blocks[i - 1] + (n_ends > is_wrapped);
  }
  return CQ_OK;
}

/* Keeps the sentences alone, in place: one blank for several, also between sentences where there is any. */
static void compact(cq_align_document *d) {
  size_t n = 0, last_end = 0;
  for (size_t i = 0; i < d->n; i++) {
    cq_sentence *s = &d->sentences[i];
    const size_t begin = n + (i && s->begin > last_end);
    last_end = s->end;
    if (begin > n) d->text[n++] = ' ';
    for (size_t at = s->begin; at < s->end; at++)
      if (!cq_is_blank(d->text[at]))
        d->text[n++] = d->text[at];
      else if (!cq_is_blank(d->text[at - 1]))
        d->text[n++] = ' ';
    s->begin = begin, s->end = n;
  }
  d->text[n] = '\0';
}

static cq_status take_document(cq_align_document *d, const cq_document *from, const cq_align_options *o, cq_side side,
                               cq_sentence_splitter *splitter, cq_error *error) {
  const cq_slice language = o->n_languages == 2 ? cq_slice_of(o->languages[side]) : from->language;
  *d = (cq_align_document){0};
  cq_slice_copy(d->language, sizeof d->language, language);
  d->id = cq_strndup(from->id.data, from->id.n), d->text = cq_strndup(from->text.data, from->text.n);
  if (!d->id || !d->text) return cq_fail_memory(error, "a document");
  if (from->text.n > UINT32_MAX) return cq_fail(error, CQ_ERR_LIMIT, "%s: more than 4 GiB of text", d->id);
  const cq_slice text = {d->text, from->text.n};
  cq_status status = o->lines ? take_lines(d, text, error) : take_sentences(d, text, splitter, error);
  if (!status) status = find_blocks(d, o->lines, error);
  if (!status) compact(d);
  return status;
}

static cq_align_document *add(cq_align_documents *documents) {
  if (!cq_reserve((void **)&documents->items, &documents->capacity, documents->n + 1, sizeof *documents->items))
    return NULL;
  return &documents->items[documents->n++];
}

cq_status cq_align_documents_read(cq_align_documents *out, const cq_align_options *o, cq_side side, cq_error *error) {
  const char *const path = side == CQ_SOURCE ? o->source : o->target;
  cq_documents_options reading = o->documents ? *o->documents : cq_documents_default_options();
  cq_sentence_splitter *splitter = NULL;
  cq_documents *in = NULL;
  uint64_t n_blank = 0;
  reading.whole = true, reading.relative = true, reading.language = o->n_languages == 2 ? o->languages[side] : "auto";
  reading.notice = o->notice, reading.notice_context = o->notice_context;
  cq_status status = cq_documents_open(&in, (const char *[]){path}, 1, &reading, error);
  if (!status) status = cq_sentence_splitter_open(&splitter, error);
  for (cq_document d; !status;) {
    status = cq_documents_next(&d, in, error);
    if (status || !d.id.data) break;
    cq_align_document *next = add(out);
    if (!next) {
      status = cq_fail_memory(error, "documents");
      break;
    }
    status = take_document(next, &d, o, side, splitter, error);
    if (!status && !next->n) document_free(next), out->n--, n_blank++;
  }
  if (!status && !out->n) status = cq_fail_file(error, CQ_ERR_ARGUMENT, path, "there is no sentence in it");
  if (!status && n_blank)
    CQ_NOTIFY(o, "%s: %llu documents without a sentence were left out", path, (unsigned long long)n_blank);
  cq_sentence_splitter_free(splitter);
  cq_documents_close(in);
  return status;
}
