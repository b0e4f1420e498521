/* Damage to the journal of a killed writer: the database goes back to what it was, or it cannot be read. */
#include "support/files.h"

#include "store/page_checks.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROWS = 400 };

static int end_before_unlink(const char *path) {
  (void)path;
  _exit(0);
}

static void run(sqlite3 *db, const char *sql) {
  char *message = NULL;
  if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s: %s", sql, message);
}

static void fill(sqlite3 *db, const char *what) {
  char sql[300];
  snprintf(sql, sizeof sql,
           "BEGIN; WITH n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT OR REPLACE INTO t "
           "SELECT i, '%s ' || i || hex(zeroblob(100)) FROM n; COMMIT",
           ROWS - 1, what);
  run(db, sql);
}

/* The child is gone when its transaction is in the file, and the journal, too. */
static void kill_a_writer(const char *path) {
  sqlite3 *db;
  assert_int_equal(cq_page_checks_open(&db, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE), SQLITE_OK);
  run(db, "CREATE TABLE t(i INTEGER PRIMARY KEY, text TEXT); CREATE INDEX x ON t(text)");
  fill(db, "old");
  sqlite3_close(db);
  const pid_t child = fork();
  if (child == 0) {
    if (cq_page_checks_open(&db, path, SQLITE_OPEN_READWRITE) != SQLITE_OK) _exit(1);
    run(db, "PRAGMA synchronous = EXTRA; PRAGMA cache_spill = OFF");
    sqlite3_vfs *vfs = sqlite3_vfs_find("unix");
    vfs->xSetSystemCall(vfs, "unlink", (sqlite3_syscall_ptr)end_before_unlink);
    fill(db, "new");
    _exit(1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

static long count(sqlite3 *db, const char *sql) {
  sqlite3_stmt *s = NULL;
  long n = -1;
  if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
    n = (long)sqlite3_column_int64(s, 0);
  if (sqlite3_finalize(s) != SQLITE_OK) n = -1;
  return n;
}

/* Whether the database is as it was before the killed transaction; false: it cannot be read. */
static bool is_as_before(const char *path) {
  sqlite3 *db;
  assert_int_equal(cq_page_checks_open(&db, path, SQLITE_OPEN_READWRITE), SQLITE_OK);
  const long n = count(db, "SELECT count(*) FROM t NOT INDEXED WHERE text = 'old ' || i || hex(zeroblob(100))");
  const long found = count(db, "SELECT count(*) FROM t INDEXED BY x WHERE text >= 'old'");
  sqlite3_close(db);
  assert_true(n == -1 || n == ROWS);
  assert_true(found == -1 || found == ROWS);
  return n == ROWS && found == ROWS;
}

static void a_damaged_journal_is_noticed(void **state) {
  (void)state;
  size_t n, n_database;
  char path[300], journal_path[320];
  snprintf(path, sizeof path, "%s", test_path("d.sqlite"));
  snprintf(journal_path, sizeof journal_path, "%s-journal", path);
  kill_a_writer(path);
  unsigned char *database = read_bytes(&n_database, path), *journal = read_bytes(&n, journal_path);
  assert_true(n > 20 * CQ_PAGE_BYTES);
  assert_true(is_as_before(path));
  assert_int_not_equal(access(journal_path, F_OK), 0);
  size_t n_refused = 0, n_tried = 0;
  for (size_t i = 1; i < n; i += i < 100 || (i > 510 && i < 530) ? 1 : 997) {
    for (int is_cut = i % 2 ? 0 : 1; is_cut >= 0; is_cut--) {
      journal[i] ^= (unsigned char)(1 << i % 8);
      write_bytes(path, database, n_database);
      write_bytes(journal_path, journal, is_cut ? i : n);
      journal[i] ^= (unsigned char)(1 << i % 8);
      n_refused += !is_as_before(path);
      n_tried++;
    }
  }
  assert_int_equal(n_refused, n_tried);
  free(database);
  free(journal);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_damaged_journal_is_noticed)};
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
