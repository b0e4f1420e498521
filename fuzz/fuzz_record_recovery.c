/* Files of a hundred records, of which one is damaged: where malformed records are skipped, every other is read.
 *
 *   format | record | place | n bytes deleted there | bytes inserted there
 *
 * Formats whose files are aligned line by line, or that are one record, are not among them: there a line too many moves
 * all that follow. */
#include "fuzz.h"

#include "base/memory.h"
#include "calque/document.h"
#include "corpus/format.h"
#include "text/encoding.h"

#include <string.h>

enum { N = 100 };

/* --- formats: %1$d is the record's number; the reader's text or source is "number %d, read" --- */

typedef struct form {
  const char *head, *record, *between, *tail;
  cq_document_format documents; /* AUTO: parallel text */
  const cq_format *pairs;
  const char *columns[2];
} form;

#define TEXT "number %1$d, read"
static const form forms[] = {
    {"", TEXT, "\n", "\n", .documents = CQ_DOCUMENTS_LINES},
    {"id\ttext\ttitle\n", "r%1$d\t" TEXT "\tTitle %1$d", "\n", "\n", .documents = CQ_DOCUMENTS_TSV},
    {"id,text,title\n", "r%1$d,\"" TEXT "\",Title %1$d", "\n", "\n", .documents = CQ_DOCUMENTS_CSV},
    {"\"id\";\"text\"\r\n", "\"r%1$d\";\"" TEXT "\"", "\r\n", "\r\n", .documents = CQ_DOCUMENTS_CSV},
    {"", "{\"id\": \"r%1$d\", \"text\": \"" TEXT "\", \"more\": [1, {}]}", "\n", "\n", .documents = CQ_DOCUMENTS_JSONL},
    {"[", "{\"id\": \"r%1$d\", \"text\": \"" TEXT "\"}", ",\n ", "]\n", .documents = CQ_DOCUMENTS_JSON},
    {"[\n", "  {\n    \"id\": \"r%1$d\",\n    \"more\": {\"id\": [1]},\n    \"text\": \"" TEXT "\"\n  }", ",\n",
     "\n]\n", .documents = CQ_DOCUMENTS_JSON},
    {"", "<DOC>\n<DOCNO>r%1$d</DOCNO>\n<TEXT>" TEXT "</TEXT>\n</DOC>", "\n", "\n", .documents = CQ_DOCUMENTS_TREC},
    {"", TEXT, "", "", .documents = CQ_DOCUMENTS_PARQUET},
    {"", TEXT "\tNummer %1$d", "\n", "\n", .pairs = &cq_format_tsv, .columns = {"1", "2"}},
    {"en\tde\n", TEXT "\tNummer %1$d", "\n", "\n", .pairs = &cq_format_ted2020, .columns = {"en", "de"}},
    {"", "1.2\t" TEXT "\tNummer %1$d", "\n", "\n", .pairs = &cq_format_wikimatrix},
    {"<?xml version=\"1.0\"?>\n<tmx version=\"1.4\"><header/><body>\n",
     "<tu><tuv xml:lang=\"en\"><seg>" TEXT "</seg></tuv><tuv xml:lang=\"de\"><seg>Nummer %1$d</seg></tuv></tu>", "\n",
     "\n</body></tmx>\n", .pairs = &cq_format_tmx, .columns = {"en", "de"}},
    {"<?xml version=\"1.0\"?>\n<TEI><text><body>\n",
     "<entry><form><orth>" TEXT "</orth></form><sense><cit type=\"trans\"><quote>Nummer %1$d</quote></cit></sense>"
     "</entry>",
     "\n", "\n</body></text></TEI>\n", .pairs = &cq_format_tei},
};
enum { N_FORMS = sizeof forms / sizeof *forms };

/* --- Parquet: one page of a required column --- */

static void put_number(cq_builder *out, uint64_t n) { /* Thrift's zigzag */
  for (n <<= 1; n >= 128; n >>= 7) cq_builder_char(out, (char)(n | 128));
  cq_builder_char(out, (char)n);
}

static void put_field(cq_builder *out, int step, int type) {
  cq_builder_char(out, (char)(step << 4 | type));
}

static void put_integer(cq_builder *out, int step, int type, uint64_t n) {
  put_field(out, step, type);
  put_number(out, n);
}

enum { I32 = 5, I64 = 6, BINARY = 8, LIST = 9, STRUCT = 12 };

static void put_name(cq_builder *out, int step, const char *name) {
  put_field(out, step, BINARY);
  cq_builder_char(out, (char)strlen(name));
  cq_builder_text(out, name);
}

static void put_list(cq_builder *out, int step, int n, int type) {
  put_field(out, step, LIST);
  cq_builder_char(out, (char)(n << 4 | type));
}

static void end_struct(cq_builder *out) {
  cq_builder_char(out, 0);
}

static void write_parquet(cq_builder *out, const cq_slice *values) {
  size_t n_data = 0;
  for (int i = 0; i < N; i++) n_data += 4 + values[i].n;
  cq_builder_text(out, "PAR1");
  put_integer(out, 1, I32, 0), put_integer(out, 1, I32, n_data), put_integer(out, 1, I32, n_data);
  put_field(out, 2, STRUCT);
  put_integer(out, 1, I32, N), put_integer(out, 1, I32, 0), put_integer(out, 1, I32, 3), put_integer(out, 1, I32, 3);
  end_struct(out), end_struct(out);
  for (int i = 0; i < N; i++) {
    const uint32_t n = (uint32_t)values[i].n;
    for (int k = 0; k < 4; k++) cq_builder_char(out, (char)(n >> 8 * k));
    cq_builder_bytes(out, values[i].data, values[i].n);
  }
  const size_t begin = out->n;
  put_integer(out, 1, I32, 1);
  put_list(out, 1, 2, STRUCT);
  put_name(out, 4, "schema"), put_integer(out, 1, I32, 1), end_struct(out);
  put_integer(out, 1, I32, 6), put_integer(out, 2, I32, 0), put_name(out, 1, "text"), put_integer(out, 2, I32, 0);
  end_struct(out);
  put_integer(out, 1, I64, N);
  put_list(out, 1, 1, STRUCT);
  put_list(out, 1, 1, STRUCT);
  put_integer(out, 2, I64, 4), put_field(out, 1, STRUCT);
  put_integer(out, 1, I32, 6);
  put_list(out, 1, 1, I32), cq_builder_char(out, 0);
  put_list(out, 1, 1, BINARY), cq_builder_char(out, 4), cq_builder_text(out, "text");
  put_integer(out, 1, I32, 0), put_integer(out, 1, I64, N);
  put_integer(out, 1, I64, begin - 4), put_integer(out, 1, I64, begin - 4), put_integer(out, 2, I64, 4);
  end_struct(out), end_struct(out);
  put_integer(out, 1, I64, begin - 4), put_integer(out, 1, I64, N), end_struct(out);
  end_struct(out);
  const uint32_t n_footer = (uint32_t)(out->n - begin);
  for (int k = 0; k < 4; k++) cq_builder_char(out, (char)(n_footer >> 8 * k));
  cq_builder_text(out, "PAR1");
}

/* --- the file --- */

static void damage(cq_builder *out, const char *record, const uint8_t *data, size_t n, bool keeps_length) {
  const size_t length = strlen(record), at = data[0] % (length + 1), left = length - at,
               n_deleted = data[1] % (left + 1);
  const size_t n_inserted = keeps_length ? cq_min(n - 2, n_deleted) : n - 2;
  cq_builder_bytes(out, record, at);
  cq_builder_bytes(out, (const char *)data + 2, n_inserted);
  const size_t n_cut = keeps_length ? n_inserted : n_deleted;
  cq_builder_bytes(out, record + at + n_cut, left - n_cut);
}

static void write_file(cq_builder *out, const form *f, int damaged, const uint8_t *data, size_t n) {
  const bool is_parquet = f->documents == CQ_DOCUMENTS_PARQUET;
  cq_slice values[N];
  size_t ends[N + 1] = {0};
  cq_builder_text(out, f->head);
  for (int i = 0; i < N; i++) {
    char record[300];
    if (i) cq_builder_text(out, f->between);
    snprintf(record, sizeof record, f->record, i);
    if (i == damaged)
      damage(out, record, data, n, is_parquet);
    else
      cq_builder_text(out, record);
    ends[i + 1] = out->n;
  }
  cq_builder_text(out, f->tail);
  if (!is_parquet) return;
  cq_builder file = {0};
  for (int i = 0; i < N; i++) values[i] = (cq_slice){out->data + ends[i], ends[i + 1] - ends[i]};
  write_parquet(&file, values);
  cq_builder_free(out);
  *out = file;
}

/* --- reading it --- */

/* The next record that is expected. */
static void take_text(int *expected, int damaged, cq_slice text) {
  char wanted[40];
  snprintf(wanted, sizeof wanted, TEXT, *expected);
  if (cq_slice_equal(text, cq_slice_of(wanted))) ++*expected;
  if (*expected == damaged) ++*expected;
}

static cq_status read_documents(int *expected, int damaged, const form *f, const char *path, cq_error *error) {
  cq_documents_options o = cq_documents_default_options();
  cq_documents *in;
  cq_document d;
  o.format = f->documents, o.skip_bad = true;
  CHECK(cq_documents_open(&in, &path, 1, &o, error) == CQ_OK);
  cq_status status;
  while (!(status = cq_documents_next(&d, in, error)) && d.id.data) take_text(expected, damaged, d.text);
  cq_documents_close(in);
  return status;
}

static cq_status read_pairs(int *expected, int damaged, const form *f, const char *path, cq_error *error) {
  cq_corpus_convert_options o = cq_corpus_convert_default_options();
  cq_corpus_counts counts = {0};
  cq_row row;
  o.inputs = &path, o.n_inputs = 1;
  o.columns = f->columns, o.n_columns = f->columns[0] ? 2 : 0;
  cq_format_reader *reader = cq_alloc_zeroed(f->pairs->size);
  *reader = (cq_format_reader){.format = f->pairs, .o = &o, .flow = {.skip_bad = true}, .counts = &counts};
  cq_status status = f->pairs->open(reader, error);
  while (!status && !(status = f->pairs->next(&row, reader, error)) && row.n)
    take_text(expected, damaged, row.columns[0]);
  f->pairs->close(reader);
  cq_free(reader);
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  cq_builder file = {0};
  cq_error error = {0};
  if (n < 4) return 0;
  const form *f = &forms[data[0] % N_FORMS];
  const int damaged = data[1] % N;
  int expected = damaged == 0;
  write_file(&file, f, damaged, data + 2, n - 2);
  if (cq_encoding_marked((cq_slice){file.data, file.n})) { /* it decides for the whole file */
    cq_builder_free(&file);
    return 0;
  }
  const char *path = input_file((const uint8_t *)file.data, file.n);
  const cq_status status =
      f->pairs ? read_pairs(&expected, damaged, f, path, &error) : read_documents(&expected, damaged, f, path, &error);
  if (status || expected != N)
    fprintf(stderr, "form %d, record %d is damaged: the next of %d was not read: %s\n", (int)(f - forms), damaged,
            expected, status ? error.message : "");
  CHECK(status == CQ_OK && expected == N);
  cq_builder_free(&file);
  return 0;
}
