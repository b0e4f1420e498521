/* Files in ranges, worked through by one to five ranks: the rows that one reader gives, in its order; what a run that ended
 * early has done is not done again. */
#include "support/files.h"
#include "support/wires.h"

#include "base/error.h"
#include "calque/extra/divided.h"
#include "calque/lines.h"

enum { HEADER = 8, ROW = 8, MAX_FILES = 3, MAX_OUTPUT = 4 << 20 };

/* --- texts --- */

static char text_paths[MAX_FILES][400], output_path[400];

static int make_paths(void **state) {
  if (make_test_directory(state)) return -1;
  for (int i = 0; i < MAX_FILES; i++) snprintf(text_paths[i], sizeof text_paths[i], "%s/text-%d", test_directory, i);
  snprintf(output_path, sizeof output_path, "%s/output", test_directory);
  return 0;
}

static const char *path_of(int file) {
  return text_paths[file];
}

static void write_lines(int file, size_t n, const char *end, bool ends) {
  FILE *f = fopen(path_of(file), "wb");
  for (size_t i = 0; i < n; i++)
    fprintf(f, "line %zu of %d\t%.*s%s", i, file, (int)(i % 50),
            "a text of some length that goes on and on and on.....", i + 1 < n || ends ? end : "");
  assert_int_equal(fclose(f), 0);
}

/* --- working through them --- */

typedef struct working {
  const char *const *paths;
  size_t n_paths;
  const char *identity;
  int column;
  bool skip_bad, is_text; /* rows of any length */
  int leave_after;        /* ranges; -1: never */
  int n_ranges;           /* that it has done */
  uint64_t n_done, n_rows, n_skipped;
  cq_status status;
  cq_error error;
} working;

/* A row: the number of the line, and how many bytes it has. */
static void write_row(FILE *out, bool is_text, uint64_t number, cq_slice line) {
  const uint32_t row[2] = {(uint32_t)number, (uint32_t)line.n};
  if (is_text)
    fprintf(out, "%llu:%.*s\n", (unsigned long long)number, (int)(line.n < 40 ? line.n : 40), line.data);
  else
    fwrite(row, sizeof row, 1, out);
}

static bool is_good(const working *w, cq_slice line) {
  cq_slice columns[4];
  return w->column == 0 || cq_tsv_split(columns, 4, line) >= (size_t)w->column;
}

/* The rows of all lines, as one reader gives them. */
static void write_whole(FILE *out, const working *w, cq_lines *lines) {
  for (;;) {
    cq_slice line;
    const cq_status status = cq_lines_next(&line, lines, NULL);
    if (!status && !line.data) break;
    if (!status && is_good(w, line)) write_row(out, w->is_text, cq_lines_number(lines), line);
  }
}

static cq_status work_on_range(const working *w, const cq_divided_range *r, cq_error *error) {
  cq_lines *lines;
  FILE *out = fopen(r->output, w->is_text ? "wb" : "r+b");
  assert_non_null(out);
  assert_int_equal(fseek(out, (long)r->at, SEEK_SET), 0);
  const cq_status status = cq_lines_open_part(&lines, r->path, r->begin, r->end, r->lines_before, error);
  if (!status) write_whole(out, w, lines);
  cq_lines_close(lines);
  assert_int_equal(fclose(out), 0);
  return status;
}

static void work_together(cq_ranks *ranks, void *item) {
  working *w = item;
  cq_divided *d;
  cq_divided_range range;
  const cq_divided_options o = {.paths = w->paths,
                                .n_paths = w->n_paths,
                                .column = w->column,
                                .skip_bad = w->skip_bad,
                                .output = output_path,
                                .identity = w->identity,
                                .header_bytes = w->is_text ? 0 : HEADER,
                                .row_bytes = w->is_text ? 0 : ROW,
                                .save_every_s = -1,
                                .ranks = ranks};
  w->status = cq_divided_open(&d, &o, &w->error);
  if (w->status) return;
  w->n_done = cq_divided_n_done(d), w->n_rows = cq_divided_n_rows(d), w->n_skipped = cq_divided_n_skipped(d);
  while (!w->status && w->n_ranges != w->leave_after && cq_divided_next(&range, d)) {
    w->status = work_on_range(w, &range, &w->error);
    if (!w->status) w->status = cq_divided_done(d, &w->error);
    w->n_ranges++;
  }
  if (w->leave_after < 0 && !w->status) w->status = cq_divided_finish(d, "a header", &w->error);
  cq_divided_close(d);
}

static void work_as(working all[MAX_WIRED_RANKS], int n_ranks, const working *how) {
  for (int i = 0; i < n_ranks; i++) all[i] = *how;
  run_ranks(n_ranks, work_together, all, sizeof *all);
}

static char *expected_output(size_t *n, const working *w) {
  char *bytes = NULL;
  FILE *f = open_memstream(&bytes, n);
  if (!w->is_text) fputs("a header", f);
  for (size_t i = 0; i < w->n_paths; i++) {
    cq_lines *lines;
    assert_int_equal(cq_lines_open(&lines, w->paths[i], NULL), CQ_OK);
    write_whole(f, w, lines);
    cq_lines_close(lines);
  }
  fclose(f);
  return bytes;
}

static void assert_output(const working *w) {
  size_t n, n_expected;
  char *expected = expected_output(&n_expected, w);
  unsigned char *bytes = read_bytes(&n, output_path);
  assert_int_equal(n, n_expected);
  assert_memory_equal(bytes, expected, n);
  free(bytes);
  free(expected);
  assert_int_equal(count_files("output"), 1); /* nothing is left beside it */
  assert_int_equal(unlink(output_path), 0);
}

static void check_work(const working *how) {
  for (int is_text = 0; is_text < 2; is_text++)
    for (int n_ranks = 1; n_ranks <= MAX_WIRED_RANKS; n_ranks++) {
      working all[MAX_WIRED_RANKS], w = *how;
      w.is_text = is_text, w.leave_after = -1, w.identity = "the same";
      work_as(all, n_ranks, &w);
      for (int i = 0; i < n_ranks; i++) assert_int_equal(all[i].status, CQ_OK);
      assert_output(&w);
    }
}

static void rows_are_those_of_one_reader(void **state) {
  (void)state;
  const char *const paths[] = {path_of(0), path_of(1), path_of(2)};
  write_lines(0, 2000, "\n", true), write_lines(1, 1, "\n", false), write_lines(2, 1500, "\r\n", false);
  check_work(&(working){.paths = paths, .n_paths = 3});
  check_work(&(working){.paths = paths + 1, .n_paths = 1}); /* fewer lines than ranks */
  write_text(path_of(1), "\xEF\xBB\xBF\n\n\n");
  check_work(&(working){.paths = paths, .n_paths = 3});
}

static void one_line_may_be_all(void **state) {
  (void)state;
  const char *const paths[] = {path_of(0), path_of(1)};
  FILE *f = fopen(path_of(0), "wb");
  for (int i = 0; i < 300000; i++) fputc('x', f);
  assert_int_equal(fclose(f), 0);
  write_lines(1, 3, "\n", true);
  check_work(&(working){.paths = paths, .n_paths = 2});
}

static void bad_lines_are_counted_or_told(void **state) {
  (void)state;
  const char *const paths[] = {path_of(0), path_of(1)};
  write_lines(0, 3000, "\n", true);
  FILE *f = fopen(path_of(1), "wb");
  for (int i = 0; i < 3000; i++) fputs(i == 2500 ? "not \xFF text\n" : i == 2900 ? "no column\n" : "some\ttext\n", f);
  assert_int_equal(fclose(f), 0);
  check_work(&(working){.paths = paths, .n_paths = 2, .skip_bad = true, .column = 2});
  for (int n_ranks = 1; n_ranks <= MAX_WIRED_RANKS; n_ranks++) {
    working all[MAX_WIRED_RANKS], w = {.paths = paths, .n_paths = 2, .column = 2, .identity = "", .leave_after = -1};
    work_as(all, n_ranks, &w);
    assert_int_equal(all[0].status, CQ_ERR_FORMAT); /* the one that tells */
    assert_int_equal(all[0].error.line, 2501);
    assert_string_equal(all[0].error.file, paths[1]);
    for (int i = 1; i < n_ranks; i++) assert_int_equal(all[i].status, CQ_ERR_IO);
    w.skip_bad = true, w.column = 3;
    work_as(all, n_ranks, &w);
    assert_int_equal(all[0].status, CQ_ERR_FORMAT);
    assert_string_equal(all[0].error.message, "no sentence is left, 6000 lines were skipped");
  }
  assert_int_equal(count_files("output"), 0);
}

static void empty_files_are_refused(void **state) {
  (void)state;
  const char *const paths[] = {path_of(0), path_of(1)};
  static const char *const empty[] = {"", "\xEF\xBB\xBF"};
  write_lines(0, 10, "\n", true);
  for (int i = 0; i < 2; i++)
    for (int n_ranks = 1; n_ranks <= MAX_WIRED_RANKS; n_ranks += 2) {
      working all[MAX_WIRED_RANKS];
      char expected[500];
      write_text(path_of(1), empty[i]);
      work_as(all, n_ranks, &(working){.paths = paths, .n_paths = 2, .identity = "", .leave_after = -1});
      snprintf(expected, sizeof expected, "%s: the file is empty", paths[1]);
      assert_int_equal(all[0].status, CQ_ERR_FORMAT);
      assert_string_equal(all[0].error.message, expected);
    }
}

/* --- runs that end early --- */

/* One rank ends after `ranges` ranges, which ends all; how many are done then. */
static uint64_t work_in_part(int n_ranks, const working *how, int ranges) {
  working all[MAX_WIRED_RANKS];
  uint64_t n = 0;
  working w = *how;
  w.leave_after = ranges;
  work_as(all, n_ranks, &w);
  for (int i = 0; i < n_ranks; i++) n += (uint64_t)all[i].n_ranges;
  assert_int_equal(access(output_path, F_OK), -1); /* it is not there before it is whole */
  return n;
}

static void what_is_done_stays_done(void **state) {
  (void)state;
  const char *const paths[] = {path_of(0), path_of(1)};
  write_lines(0, 4000, "\n", true), write_lines(1, 3000, "\n", false);
  for (int is_text = 0; is_text < 2; is_text++)
    for (int first = 1; first <= MAX_WIRED_RANKS; first++)
      for (int second = 1; second <= MAX_WIRED_RANKS; second += 2) {
        working all[MAX_WIRED_RANKS],
            w = {.paths = paths, .n_paths = 2, .identity = "a", .is_text = is_text, .leave_after = -1};
        uint64_t n_ranges = work_in_part(first, &w, 1);
        assert_int_equal(n_ranges, first);
        n_ranges += work_in_part(second, &w, 1);
        work_as(all, 3, &w);
        uint64_t n_all = n_ranges;
        for (int i = 0; i < 3; i++) {
          assert_int_equal(all[i].status, CQ_OK);
          assert_true(all[i].n_done > 0 && all[i].n_done < all[i].n_rows);
          n_all += (uint64_t)all[i].n_ranges;
        }
        assert_output(&w);
        working one = w; /* all ranges were worked on once */
        work_as(all, 1, &one);
        assert_int_equal(n_all, all[0].n_ranges);
        assert_output(&w);
      }
}

static void another_run_begins_anew(void **state) {
  (void)state;
  const char *const paths[] = {path_of(0), path_of(1)};
  for (int is_text = 0; is_text < 2; is_text++)
    for (int what = 0; what < 3; what++) {
      working all[MAX_WIRED_RANKS],
          w = {.paths = paths, .n_paths = 2, .identity = "a", .is_text = is_text, .leave_after = -1};
      write_lines(0, 4000, "\n", true), write_lines(1, 3000, "\n", false);
      const uint64_t n = work_in_part(2, &w, 2);
      assert_int_equal(n, 4);
      if (what == 0) w.identity = "b";
      if (what == 1) write_lines(0, 3999, "\n", true); /* another text */
      if (what == 2) w.n_paths = 1;
      work_as(all, 2, &w);
      assert_int_equal(all[0].status, CQ_OK);
      assert_int_equal(all[0].n_done, 0);
      assert_int_equal(all[1].n_done, 0);
      assert_output(&w);
    }
}

static void a_place_that_is_no_file_is_refused(void **state) {
  (void)state;
  const char *const paths[] = {path_of(0)};
  working all[MAX_WIRED_RANKS];
  write_lines(0, 10, "\n", true);
  assert_int_equal(symlink("/dev/null", output_path), 0);
  work_as(all, 2, &(working){.paths = paths, .n_paths = 1, .identity = "", .leave_after = -1});
  assert_int_equal(all[0].status, CQ_ERR_ARGUMENT);
  assert_non_null(strstr(all[0].error.message, "not a regular file"));
  assert_int_equal(unlink(output_path), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_are_those_of_one_reader),
      cmocka_unit_test(one_line_may_be_all),
      cmocka_unit_test(bad_lines_are_counted_or_told),
      cmocka_unit_test(empty_files_are_refused),
      cmocka_unit_test(what_is_done_stays_done),
      cmocka_unit_test(another_run_begins_anew),
      cmocka_unit_test(a_place_that_is_no_file_is_refused),
  };
  return cmocka_run_group_tests(tests, make_paths, remove_test_directory);
}
