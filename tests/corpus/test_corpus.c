/* What calque data does, under failing allocations; files that are written as text. */
#include "support/files.h"

#include "base/memory.h"
#include "base/text_writer.h"
#include "calque/corpus.h"
#include "calque/lines.h"
#include "corpus/key.h"

/* --- keys --- */

static void keys_of_sentences(void **state) {
  static const struct {
    const char *one, *other;
    bool same;
  } cases[] = {
      {"A cat.", "a CAT!", true},
      {"A cat.", "A cats.", false},
      {"\xc3\x89t\xc3\xa9", "e\xcc\x81te\xcc\x81", true},
      {"\xef\xbc\xa1\xef\xbc\x92", "a2", true},
      {"...", "!!!", false},
      {"...", "...", true},
      {"", "", true},
      {"", " ", false},
      {"caf\xc3\xa9", "cafe", false},
      {"Stra\xc3\x9f"
       "e 3",
       "stra\xc3\x9f"
       "e-3",
       true},
      {"Gru\xc3\x9f 3", "GRUSS-3", true},
      {"\xce\xa3\xce\x91\xce\xa3", "\xcf\x83\xce\xb1\xcf\x82", true}, /* a sigma at the end */
      {"\xe5\x9b\xbe\xe3\x80\x82", "\xe5\x9b\xbe", true},
  };
  (void)state;
  cq_builder room = {0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint64_t keys[2];
    for (int k = 0; k < 2; k++)
      assert_true(cq_key_of(&keys[k], cq_slice_of(k ? cases[i].other : cases[i].one), CQ_CORPUS_NORMALIZED, &room));
    if ((keys[0] == keys[1]) != cases[i].same) fail_msg("'%s' and '%s'", cases[i].one, cases[i].other);
    for (int k = 0; k < 2; k++)
      assert_true(cq_key_of(&keys[k], cq_slice_of(k ? cases[i].other : cases[i].one), CQ_CORPUS_EXACT, &room));
    assert_true((keys[0] == keys[1]) == !strcmp(cases[i].one, cases[i].other));
  }
  cq_builder_free(&room);
}

/* --- writing --- */

static void texts_are_written_whole(void **state) {
  static const char *const names[] = {"text", "text.gz", "text.zst"};
  enum { PIECE = 100003, N_PIECES = 9 }; /* no multiple of any buffer */
  static char piece[PIECE];
  (void)state;
  for (int i = 0; i < PIECE; i++) piece[i] = (char)(i % 61 == 60 ? '\n' : 'a' + i * 7 % 23);
  static const unsigned char first[] = {'a', 0x1f, 0x28};
  for (int zipped = 0; zipped < 3; zipped++) {
    char path[4096];
    snprintf(path, sizeof path, "%s", test_path(names[zipped]));
    cq_text_writer w;
    assert_int_equal(cq_text_writer_open(&w, path, NULL), CQ_OK);
    for (int i = 0; i < N_PIECES; i++) assert_int_equal(cq_text_writer_put(&w, piece, PIECE, NULL), CQ_OK);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(cq_text_writer_commit(&w, NULL), CQ_OK);
    cq_text_writer_abort(&w);
    size_t n;
    unsigned char *bytes = read_bytes(&n, path);
    assert_true(zipped ? n < PIECE : n == N_PIECES * PIECE);
    assert_int_equal(bytes[0], first[zipped]);
    free(bytes);
    cq_lines *lines;
    cq_slice line;
    size_t at = 0;
    assert_int_equal(cq_lines_open(&lines, path, NULL), CQ_OK);
    for (;;) {
      assert_int_equal(cq_lines_next(&line, lines, NULL), CQ_OK);
      if (!line.data) break;
      for (size_t i = 0; i < line.n; i++, at++) assert_int_equal(line.data[i], piece[at % PIECE]);
      at++;
    }
    assert_true(at >= N_PIECES * PIECE);
    cq_lines_close(lines);
  }
  cq_text_writer w;
  cq_error error = {0};
  assert_int_equal(cq_text_writer_open(&w, test_path("text.xz"), &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "not compressed as .xz, but as .gz or .zst"));
  assert_int_equal(cq_text_writer_open(&w, test_path("never"), NULL), CQ_OK);
  assert_int_equal(cq_text_writer_put(&w, piece, PIECE, NULL), CQ_OK);
  cq_text_writer_abort(&w);
  assert_int_not_equal(access(test_path("never"), F_OK), 0);
}

/* --- stopping, failing --- */

static char paths[20][4096], directory[4096];
static const char *file(int i, const char *name, const char *text) {
  snprintf(paths[i], sizeof paths[i], "%s", test_path(name));
  write_text(paths[i], text);
  return paths[i];
}

static bool refuse(void *context, uint64_t n_read) {
  *(uint64_t *)context = n_read;
  return false;
}

static void progress_may_stop(void **state) {
  (void)state;
  cq_builder text = {0};
  uint64_t told = 0;
  for (int i = 0; i < 20000; i++) cq_builder_printf(&text, "%d\t%d\n", i, i);
  const char *in = file(0, "many.tsv", text.data);
  cq_builder_free(&text);
  cq_corpus_sample_options o = cq_corpus_sample_default_options();
  cq_corpus_counts counts;
  snprintf(paths[1], sizeof paths[1], "%s", test_path("stopped.tsv"));
  o.inputs = &in, o.n_inputs = 1, o.share = 1;
  o.output = paths[1], o.progress = refuse, o.progress_context = &told;
  assert_int_equal(cq_corpus_sample(&counts, &o, NULL), CQ_ERR_STOPPED);
  assert_true(told > 0 && told < 20000);
  assert_int_not_equal(access(paths[1], F_OK), 0);
}

typedef cq_status (*job)(cq_corpus_counts *counts, const char *output, cq_error *error);

static cq_status convert(cq_corpus_counts *counts, const char *output, cq_error *error, const char *format,
                         const char *first, const char *second, bool columns) {
  const char *const inputs[] = {first, second}, *const languages[] = {"en", "de"};
  cq_corpus_convert_options o = cq_corpus_convert_default_options();
  o.format = format, o.inputs = inputs, o.n_inputs = second ? 2 : 1;
  o.columns = languages, o.n_columns = columns ? 2 : 0, o.output = output;
  return cq_corpus_convert(counts, &o, error);
}

static cq_status convert_moses(cq_corpus_counts *counts, const char *output, cq_error *error) {
  return convert(counts, output, error, "moses", paths[0], paths[1], false);
}
static cq_status convert_tmx(cq_corpus_counts *counts, const char *output, cq_error *error) {
  return convert(counts, output, error, "tmx", paths[2], NULL, true);
}
static cq_status convert_opus(cq_corpus_counts *counts, const char *output, cq_error *error) {
  return convert(counts, output, error, "opus", paths[3], directory, false);
}
static cq_status convert_ids(cq_corpus_counts *counts, const char *output, cq_error *error) {
  return convert(counts, output, error, "ids", paths[5], directory, false);
}
static cq_status convert_tatoeba(cq_corpus_counts *counts, const char *output, cq_error *error) {
  return convert(counts, output, error, "tatoeba", paths[6], paths[7], true);
}
static cq_status convert_wikititles(cq_corpus_counts *counts, const char *output, cq_error *error) {
  return convert(counts, output, error, "wikititles", paths[8], paths[9], true);
}
static cq_status convert_xquad(cq_corpus_counts *counts, const char *output, cq_error *error) {
  return convert(counts, output, error, "xquad", paths[10], paths[10], false);
}
static cq_status convert_gettext(cq_corpus_counts *counts, const char *output, cq_error *error) {
  return convert(counts, output, error, "gettext", paths[16], paths[17], false);
}
static cq_status convert_tree(cq_corpus_counts *counts, const char *output, cq_error *error) {
  return convert(counts, output, error, "gettext", paths[16], NULL, true);
}
static cq_status convert_json_messages(cq_corpus_counts *counts, const char *output, cq_error *error) {
  return convert(counts, output, error, "json-messages", paths[18], paths[18], false);
}
static cq_status convert_xliff(cq_corpus_counts *counts, const char *output, cq_error *error) {
  return convert(counts, output, error, "xliff", paths[19], NULL, true);
}
static cq_status pivot_rows(cq_corpus_counts *counts, const char *output, cq_error *error, const char *on,
                            double memory_gb, cq_corpus_match match) {
  cq_corpus_pivot_options o = cq_corpus_pivot_default_options();
  o.first = o.second = paths[11], o.on = on, o.match = match, o.memory_gb = memory_gb, o.output = output;
  return cq_corpus_pivot(counts, &o, error);
}
static cq_status pivot(cq_corpus_counts *counts, const char *output, cq_error *error) {
  return pivot_rows(counts, output, error, "1,1", 1, CQ_CORPUS_NORMALIZED);
}
static cq_status pivot_on_disk(cq_corpus_counts *counts, const char *output, cq_error *error) {
  return pivot_rows(counts, output, error, "1,2", 1e-8, CQ_CORPUS_EXACT);
}
static cq_status sample(cq_corpus_counts *counts, const char *output, cq_error *error) {
  const char *in = paths[11];
  cq_corpus_sample_options o = cq_corpus_sample_default_options();
  o.inputs = &in, o.n_inputs = 1, o.n = 2, o.output = output;
  return cq_corpus_sample(counts, &o, error);
}
static cq_status dedup(cq_corpus_counts *counts, const char *output, cq_error *error) {
  const char *in = paths[11], *held_out = paths[0];
  cq_corpus_dedup_options o = cq_corpus_dedup_default_options();
  o.inputs = &in, o.n_inputs = 1, o.held_out = &held_out, o.n_held_out = 1, o.repeats = CQ_REPEATS_ANY;
  o.output = output;
  return cq_corpus_dedup(counts, &o, error);
}
static cq_status filter(cq_corpus_counts *counts, const char *output, cq_error *error) {
  const char *in = paths[11], *rejected = test_path("rejected.tsv");
  cq_corpus_filter_options o = cq_corpus_filter_default_options();
  o.inputs = &in, o.n_inputs = 1, o.output = output, o.rejected = rejected;
  o.clean = CQ_CLEAN_MARKUP | CQ_CLEAN_ACCELERATORS | CQ_CLEAN_PLACEHOLDERS | CQ_CLEAN_ELLIPSES;
  return cq_corpus_filter(counts, &o, error);
}
static cq_status gloss(cq_corpus_counts *counts, const char *output, cq_error *error) {
  const char *in = paths[0], *dictionary = paths[12];
  cq_corpus_gloss_options o = cq_corpus_gloss_default_options();
  o.inputs = &in, o.n_inputs = 1, o.dictionaries = &dictionary, o.n_dictionaries = 1, o.output = output;
  return cq_corpus_gloss(counts, &o, error);
}
static cq_status inflect(cq_corpus_counts *counts, const char *output, cq_error *error) {
  const char *text = paths[0], *dictionary = paths[13];
  cq_corpus_inflect_options o = cq_corpus_inflect_default_options();
  o.inputs = &dictionary, o.n_inputs = 1, o.texts = &text, o.n_texts = 1, o.output = output, o.min_support = 1;
  return cq_corpus_inflect(counts, &o, error);
}

static cq_status transliterate(cq_corpus_counts *counts, const char *output, cq_error *error) {
  const char *dictionary = paths[14], *text = paths[15];
  cq_corpus_transliterate_options o = cq_corpus_transliterate_default_options();
  o.inputs = &dictionary, o.n_inputs = 1, o.texts = &text, o.n_texts = 1, o.output = output, o.min_pairs = 1;
  return cq_corpus_transliterate(counts, &o, error);
}

/* A row has up to 256 columns, also one that is joined from two. */
static void joined_rows_have_a_limit(void **state) {
  (void)state;
  cq_corpus_counts counts;
  cq_error error = {0};
  cq_corpus_pivot_options o = cq_corpus_pivot_default_options();
  o.on = "1,1", o.output = paths[12];
  snprintf(paths[12], sizeof paths[12], "%s", test_path("joined.tsv"));
  for (int wider = 0; wider < 2; wider++) {
    cq_builder text = {0};
    for (int i = 0; i < 129; i++) cq_builder_printf(&text, "%d\t", i);
    cq_builder_printf(&text, "129%s\n", wider ? "\t130" : "");
    o.first = file(wider, wider ? "131.tsv" : "130.tsv", text.data);
    text.n = 0;
    for (int i = 0; i < 127; i++) cq_builder_printf(&text, "%d\t", i);
    cq_builder_printf(&text, "127\n");
    o.second = file(2, "128.tsv", text.data);
    cq_builder_free(&text);
    if (wider) unlink(o.output);
    assert_int_equal(cq_corpus_pivot(&counts, &o, &error), wider ? CQ_ERR_LIMIT : CQ_OK);
    assert_int_equal(access(o.output, F_OK), wider ? -1 : 0);
  }
  assert_string_equal(error.message, "a row of more than 256 columns");
  unlink(o.output);
}

static void every_allocation_may_fail(void **state) {
  static const struct {
    job run;
    uint64_t n_written;
  } jobs[] = {{convert_moses, 2},   {convert_tmx, 1},     {convert_opus, 1},
              {convert_ids, 1},     {convert_tatoeba, 1}, {convert_wikititles, 1},
              {convert_xquad, 2},   {pivot, 3},           {pivot_on_disk, 1},
              {convert_gettext, 4}, {convert_tree, 3},    {convert_json_messages, 2},
              {convert_xliff, 1},   {sample, 2},          {dedup, 2},
              {filter, 3},          {gloss, 2},           {inflect, 1},
              {transliterate, 1}};
  char output[4096], links[16384];
  (void)state;
  file(0, "x.en", "A cat.\nA dog.\n");
  file(1, "x.de", "Eine Katze.\nEin Hund.\n");
  file(2, "x.tmx", "<tmx><tu><tuv xml:lang='en'><seg>A</seg></tuv><tuv xml:lang='de'><seg>B</seg></tuv></tu></tmx>");
  file(4, "d.xml", "<t><s id='1'>A</s><s id='2'><w>B</w> <w>c</w></s></t>");
  snprintf(links, sizeof links, "<linkGrp fromDoc='%s' toDoc='%s'><link xtargets='1;1 2'/></linkGrp>", "d.xml",
           "d.xml");
  file(3, "links.xml", links);
  snprintf(links, sizeof links, "%s\t%s\t1 2\t1\n", "d.xml", "d.xml");
  file(5, "links.tsv", links);
  file(6, "links.csv", "1\t2\n2\t1\n");
  file(7, "sentences.csv", "1\ten\tA house.\n2\tde\tEin Haus.\n");
  file(8, "page.sql", "INSERT INTO `page` VALUES (1,0,'Old_town');\n");
  file(9, "langlinks.sql", "INSERT INTO `langlinks` VALUES (1,'de','Altstadt');\n");
  file(10, "q.json", "{\"data\":[{\"paragraphs\":[{\"context\":\"C\",\"qas\":[{\"id\":\"1\",\"question\":\"Q\"}]}]}]}");
  file(11, "rows.tsv", "A cat.\tkitty\n\xc3\xa9t\xc3\xa9\tsummer\nsummer\thot\n");
  file(12, "words.tsv", "a\tein\teine\nCAT\tKatze\n");
  file(13, "lemmas.tsv", "cat\tcats\npet\tCatty\n");
  file(14, "names.tsv", "Boris\tБорис\nMartin\tМартин\nTomas\tТомас\nSimon\tСимон\n");
  file(15, "names.txt", "Borist met Boris.\n");
  file(16, "x.po",
       "msgctxt \"c\"\nmsgid \"A\"\nmsgid_plural \"As\"\nmsgstr[0] \"B\"\nmsgstr[1] \"Bs\"\n"
       "msgid \"C\"\nmsgstr \"D\"\n");
  file(17, "y.po", "msgid \"\"\nmsgstr \"Content-Type: text/plain; charset=UTF-8\"\nmsgid \"A\"\nmsgstr \"B\"\n");
  file(18, "m.json", "{\"a\": \"A\", \"b\": {\"c\": [\"C\"]}}");
  file(19, "x.xlf", "<xliff><trans-unit><source>A</source><target>B</target></trans-unit></xliff>");
  snprintf(output, sizeof output, "%s", test_path("out.tsv.gz"));
  snprintf(directory, sizeof directory, "%s", test_path("."));
  for (size_t j = 0; j < sizeof jobs / sizeof *jobs; j++)
    for (long n = 1;; n++) {
      cq_corpus_counts counts;
      cq_error error = {0};
      cq_alloc_fail_at(n);
      const cq_status status = jobs[j].run(&counts, output, &error);
      const bool failed = cq_alloc_failed();
      cq_alloc_fail_at(0);
      if (status != (failed ? CQ_ERR_MEMORY : CQ_OK)) fail_msg("job %zu, allocation %ld: %s", j, n, error.message);
      assert_true(access(output, F_OK) == (failed ? -1 : 0));
      if (failed) continue;
      if (counts.n_written != jobs[j].n_written)
        fail_msg("job %zu: %llu rows", j, (unsigned long long)counts.n_written);
      unlink(output);
      break;
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(keys_of_sentences),         cmocka_unit_test(texts_are_written_whole),
      cmocka_unit_test(progress_may_stop),         cmocka_unit_test(joined_rows_have_a_limit),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
