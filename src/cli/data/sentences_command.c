/* calque data sentences: any text to sentences. */
#include "cli/data/data_command.h"

#include "base/memory.h"

#include <inttypes.h>

struct sentences_args {
  size_t size;
  bool json;
};

static const cq_option sentences_options[] = {
    {CQ_FLAG(struct sentences_args, "json", json, KEEPS, "print JSON objects: id, number, begin, end, sentence")},
};

/* What is reported at the end. */
typedef struct counts {
  uint64_t n_documents, n_sentences, n_unknown; /* n_unknown: documents of a language without rules */
  char unknown[32];                             /* the first such language */
} counts;

static void print_sentence(const cq_document *d, size_t number, const cq_sentence *at, bool json) {
  const cq_slice sentence = {d->text.data + at->begin, at->end - at->begin};
  if (json) {
    cli_json_text(stdout, "{\"id\": ", d->id);
    printf(", \"number\": %zu, \"begin\": %zu, \"end\": %zu", number, at->begin, at->end);
    cli_json_text(stdout, ", \"sentence\": ", sentence);
    puts("}");
  } else {
    cli_field(stdout, d->id);
    printf("\t%zu\t%zu\t", number, at->begin);
    cli_field(stdout, sentence);
    putchar('\n');
  }
}

static int print_document(counts *c, cq_sentence_splitter *s, const cq_document *d, bool json) {
  cq_error error = {0};
  const cq_sentence *items;
  size_t n;
  char language[32];
  cq_slice_copy(language, sizeof language, d->language);
  if (cq_sentence_splitter_run(&items, &n, s, d->text, language, &error)) return cli_fail_error(&error);
  for (size_t i = 0; i < n; i++) print_sentence(d, i + 1, &items[i], json);
  c->n_documents++, c->n_sentences += n;
  if (n && !cq_sentence_splitter_knows(language) && !c->n_unknown++) memcpy(c->unknown, language, sizeof language);
  return cli_flush_output() ? CLI_OK : CLI_FAILED;
}

static int run_sentences(const cli_call *call) {
  const struct sentences_args *args = call->options;
  cq_documents_options *o = call->library;
  cq_documents *in;
  cq_sentence_splitter *s = NULL;
  cq_error error = {0};
  cq_document d;
  counts c = {0};
  o->notice = cli_notice, o->whole = true;
  int code = cli_check_options(call);
  if (code) return code;
  const size_t n = call->n_arguments ? call->n_arguments : 1;
  const char *const *paths = call->n_arguments ? call->arguments : cli_data_standard_input;
  if (cq_documents_open(&in, paths, n, o, &error)) return cli_fail_error(&error);
  if (cq_sentence_splitter_open(&s, &error)) code = cli_fail_error(&error);
  while (code == CLI_OK) {
    if (cq_documents_next(&d, in, &error)) code = cli_fail_error(&error);
    if (code || !d.id.data) break;
    code = print_document(&c, s, &d, args->json);
  }
  const uint64_t n_skipped = cq_documents_n_skipped(in);
  if (n_skipped) cli_note("%" PRIu64 " documents, files or folders skipped", n_skipped);
  if (c.n_unknown)
    cli_note("no rules for %s%s: split at Unicode's boundaries (%" PRIu64 " of %" PRIu64 " documents)",
             *c.unknown ? "the language " : "an unknown language", c.unknown, c.n_unknown, c.n_documents);
  if (!code)
    cli_note("%" PRIu64 " sentence%s of %" PRIu64 " document%s", c.n_sentences, c.n_sentences == 1 ? "" : "s",
             c.n_documents, c.n_documents == 1 ? "" : "s");
  cq_sentence_splitter_free(s);
  cq_documents_close(in);
  return code;
}

const cli_command cli_data_sentences = {
    .name = "sentences",
    .summary = "sentence splitting: any text or documents to sentences, with their places in the text",
    CLI_ARGUMENTS("[FILE|FOLDER...]", 0, -1),
    .description =
        "Splits text in the formats of 'calque data documents' into sentences. Prints the document's id, the "
        "sentence's "
        "number from 1, its first byte in the document's text, and the sentence; tabs and ends of lines within it "
        "become "
        "blanks. Plain text is one document, and its bytes are those of the file (after a byte order mark). Between "
        "sentences there are only blanks. A line's end ends a sentence, unless the line was wrapped there.",
    .example = "calque data sentences --language de book.txt | cut -f 4 > sentences.txt",
    CLI_GROUP(&cq_group_documents),
    CLI_OPTIONS(struct sentences_args, sentences_options),
    .run = run_sentences,
};
