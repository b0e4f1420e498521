/** @file Sentence alignment: which sentences of two documents, in order, are translations of one another.
 *
 *      cq_align_options o = cq_align_default_options();
 *      o.source = "book.de.txt", o.target = "book.en.html";
 *      cq_align(&alignment, &o, ctx, &err);
 *      const cq_bead *beads = cq_alignment_beads(&n, alignment, 0);
 *      cq_alignment_write(alignment, "book.tmx", &err);
 *      cq_alignment_free(alignment);
 *
 * A bead is a group of sentences of each side that translate one another, or a sentence without a translation. The
 * beads of a pair of documents are in order and cover both of them. For sentences in no order, see calque/mine.h.
 *
 * @source Thompson & Koehn 2019 (Vecalign), Liu & Zhu 2023 (Bertalign).
 *
 * @threads Calls are independent of one another; a cq_alignment may be read by any number of threads at once. */
#ifndef CALQUE_ALIGN_H
#define CALQUE_ALIGN_H

#include "calque/document.h"
#include "calque/mine.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_bead {
  uint32_t source, n_source; /**< the first sentence and how many; 0: a target sentence without a translation */
  uint32_t target, n_target;
  double score; /**< the cosine of the two groups, scaled: 0 is that of unrelated sentences of these documents, 1 the
                 * highest; 0 without a translation */
} cq_bead;

typedef struct cq_align_options {
  size_t size;
  const char *source, *target; /**< files or folders of documents (calque/document.h); several documents on a side are
                                * paired first, by their names, then by their mean vectors */
  const char *model;           /**< a directory, or a name in the cache */
  const char *cache_directory; /**< cache of the vectors; NULL: $XDG_CACHE_HOME/calque or ~/.cache/calque */
  cq_precision precision;
  size_t max_group;             /**< most sentences on one side of a bead */
  bool lines;                   /**< each line is a sentence; false: text is split into sentences */
  const char *const *languages; /**< [n_languages] 2 codes; none: those that the documents state, or identified */
  size_t n_languages;
  const cq_documents_options *documents; /**< NULL: the defaults */
  cq_notice_fn notice; /**< receives what does not fit: gaps, passages in another order, documents left out */
  void *notice_context;
  cq_mine_progress_fn progress;
  void *progress_context;
} cq_align_options;
CQ_DEFAULT_OPTIONS(cq_align_options, cq_align_default_options, align) /**< group "align" */

typedef struct cq_alignment cq_alignment;

/** Aligns two documents, or pairs of documents. Time and memory grow with the length of the documents; a sentence is
 * encoded once, and so is each group that could be part of the best path (about one for each sentence).
 * Documents that are not translations of each other, because too few of their most similar sentences are in the same
 * order, are left out with a notice; an alignment may have no documents.
 * @errors Those of reading documents and opening models; CQ_ERR_ARGUMENT for a side without a sentence. */
CQ_API CQ_MUST_USE cq_status cq_align(cq_alignment **out, const cq_align_options *options, cq_context *ctx,
                                      cq_error *error);
CQ_API void cq_alignment_free(cq_alignment *alignment);

/** The number of pairs of documents. */
CQ_API size_t cq_alignment_n_documents(const cq_alignment *alignment);
/** The beads of a pair of documents, in order; borrowed. */
CQ_API const cq_bead *cq_alignment_beads(size_t *n, const cq_alignment *alignment, size_t document);
/** The text of a group of n sentences, as it stands in the document, but one blank for several. Borrowed. */
CQ_API cq_slice cq_alignment_text(const cq_alignment *alignment, size_t document, cq_side side, uint32_t first,
                                  uint32_t n);
/** A document's id. */
CQ_API cq_slice cq_alignment_id(const cq_alignment *alignment, size_t document, cq_side side);

/** Whether there is a format for a name: as cq_alignment_write() would say, before the work. */
CQ_API CQ_MUST_USE cq_status cq_alignment_check_path(const char *path, cq_error *error);
/** Writes the alignment in the format of the name's ending, compressed if .gz or .zst follows; NULL or "-": standard
 * output. A name without a known ending is tab-separated.
 *
 * - .tsv, .jsonl, .tmx, .xlf, .csv, .po: the pairs, with their scores; JSON has sentences without a translation, too,
 *   and the documents' ids
 * - .moses: a file for each language (cq_pair_path())
 * - .beads: "[0,1]:[0]:0.43", the numbers of sentences, or of lines, from 0, and 1 - score, as Vecalign writes them; a
 *   line "# source id TAB target id" before each of several documents
 * - .html: a page to read, side by side
 * @errors CQ_ERR_ARGUMENT as for cq_pair_format_of() and cq_pair_path(); CQ_ERR_IO; CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_alignment_write(const cq_alignment *alignment, const char *path, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
