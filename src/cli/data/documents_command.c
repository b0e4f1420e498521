/* calque data documents: documents of any format as JSON lines. */
#include "base/utf8.h"
#include "cli/frame/command.h"
#include "cli/frame/report.h"

#include <inttypes.h>
#include <stdlib.h>

static int print_documents(cq_documents *in) {
  cq_error error = {0};
  cq_document document;
  uint64_t n = 0, n_empty = 0, n_skipped;
  for (;;) {
    char *json;
    if (cq_documents_next(&document, in, &error)) return cli_fail_error(&error);
    if (!document.id.data) break;
    n_empty += document.text.n == 0;
    if (cq_document_json(&json, &document, &error)) return cli_fail_error(&error);
    cq_print_text(stdout, cq_slice_of(json)), putchar('\n');
    cq_free(json);
    if (!cli_flush_output()) return CLI_FAILED;
    n++;
  }
  if (n_empty) cli_note("%" PRIu64 " document%s empty", n_empty, n_empty == 1 ? " is" : "s are");
  n_skipped = cq_documents_n_skipped(in);
  if (n_skipped)
    cli_note("%" PRIu64 " %s skipped", n_skipped,
             n_skipped == 1 ? "document, file or folder was" : "documents, files or folders were");
  cli_note("%" PRIu64 " document%s", n, n == 1 ? "" : "s");
  return CLI_OK;
}

static int run_documents(const cli_call *call) {
  static const char *const standard_input[] = {"-"};
  cq_documents_options *o = call->library;
  cq_documents *in;
  cq_error error = {0};
  o->notice = cli_notice;
  int code = cli_check_options(call);
  if (code) return code;
  const bool given = call->n_arguments > 0;
  if (cq_documents_open(&in, given ? call->arguments : standard_input, given ? call->n_arguments : 1, o, &error))
    return cli_fail_error(&error);
  code = print_documents(in);
  cq_documents_close(in);
  return code;
}

const cli_command cli_data_documents = {
    .name = "documents",
    .summary = "documents of any format (text, HTML, PDF, DOCX, CSV, ...), or a folder of them, to JSON lines",
    CLI_ARGUMENTS("[FILE|FOLDER...]", 0, -1),
    .description =
        "Prints each document as a JSON object on a line: id, title, text, url, language, and its metadata. "
        "This is what 'calque index add' would add. Files may be compressed (gzip, bzip2, xz, Zstandard); without "
        "one, or for \"-\", standard "
        "input is read.",
    .example = "calque data documents handbook/ news.csv.zst > documents.jsonl",
    CLI_GROUP(&cq_group_documents),
    .run = run_documents,
};
