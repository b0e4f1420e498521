/* Pages with checks; see page_checks.h. */
#include "store/page_checks.h"

#include "base/hash.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define NAME "calque-page-checks"
enum { PAGE = CQ_PAGE_BYTES, CHECK = sizeof(uint64_t), HEADER = 100, RESERVED_AT = 20, ALIGNED = 16 };
enum { COUNT_END = 12, JOURNAL_CHECK_AT = 64, JOURNAL_HEAD = JOURNAL_CHECK_AT + CHECK };

/* Follows the system's file in the memory that SQLite gives us for both. */
typedef struct checked_file {
  sqlite3_io_methods methods;      /* the system's, except for reading and writing */
  const sqlite3_io_methods *below; /* the system's */
  sqlite3_int64 damaged;           /* the last page that did not fit; 0: none */
  bool is_checked;                 /* the journal */
} checked_file;

static sqlite3_vfs *below, checking; /* set once, with the mutex */

static int system_bytes(void) {
  return (below->szOsFile + ALIGNED - 1) / ALIGNED * ALIGNED;
}

static checked_file *checked_of(sqlite3_file *file) {
  return (checked_file *)(void *)((char *)file + system_bytes());
}

static uint64_t check_of_page(const char *page, sqlite3_int64 number) {
  return cq_check64(page, PAGE - CHECK, (uint64_t)number);
}

static int read_page(sqlite3_file *file, char page[PAGE], sqlite3_int64 number) {
  checked_file *c = checked_of(file);
  uint64_t check;
  const int code = c->below->xRead(file, page, PAGE, (number - 1) * PAGE);
  const bool is_short = code == SQLITE_IOERR_SHORT_READ; /* the rest is zeros */
  if ((code != SQLITE_OK && !is_short) || (is_short && !page[0] && !memcmp(page, page + 1, PAGE - 1))) return code;
  memcpy(&check, page + PAGE - CHECK, CHECK);
  if (check == check_of_page(page, number)) return SQLITE_OK;
  c->damaged = number;
  return SQLITE_IOERR_DATA;
}

/* SQLite reads whole pages, except for the header before it has a lock, and long texts in some versions. The header is
 * compared when its page is read. */
static int read_checked(sqlite3_file *file, void *bytes, int n, sqlite3_int64 at) {
  char whole[PAGE], *to = bytes;
  if (at + n <= HEADER) return checked_of(file)->below->xRead(file, bytes, n, at);
  while (n > 0) {
    const int from = (int)(at % PAGE), part = n < PAGE - from ? n : PAGE - from;
    char *page = part == PAGE ? to : whole;
    const int code = read_page(file, page, at / PAGE + 1);
    if (code == SQLITE_IOERR_SHORT_READ) memset(to, 0, (size_t)n);
    if (code != SQLITE_OK) return code;
    if (page == whole) memcpy(to, whole + from, (size_t)part);
    to += part, at += part, n -= part;
  }
  return SQLITE_OK;
}

static int write_checked(sqlite3_file *file, const void *bytes, int n, sqlite3_int64 at) {
  char page[PAGE];
  if (n != PAGE || at % PAGE || (at == 0 && ((const char *)bytes)[RESERVED_AT] != CHECK)) return SQLITE_IOERR_WRITE;
  memcpy(page, bytes, PAGE - CHECK);
  const uint64_t check = check_of_page(page, at / PAGE + 1);
  memcpy(page + PAGE - CHECK, &check, CHECK);
  return checked_of(file)->below->xWrite(file, page, PAGE, at);
}

/* --- the journal --- */

/* The check of a journal with these bytes at its head. */
static int check_of_journal(uint64_t *check, sqlite3_file *file, const char head[JOURNAL_HEAD]) {
  const sqlite3_io_methods *system = checked_of(file)->below;
  char part[PAGE];
  sqlite3_int64 n = 0;
  int code = system->xFileSize(file, &n);
  *check = cq_check64(head, JOURNAL_CHECK_AT, (uint64_t)n);
  for (sqlite3_int64 at = JOURNAL_HEAD; code == SQLITE_OK && at < n; at += PAGE) {
    const int n_part = n - at < PAGE ? (int)(n - at) : PAGE;
    code = system->xRead(file, part, n_part, at);
    *check = cq_hash64(part, (size_t)n_part, *check);
  }
  return code;
}

/* The number of pages that count is written last, before the database changes: with it, the check. */
static int write_journal(sqlite3_file *file, const void *bytes, int n, sqlite3_int64 at) {
  const sqlite3_io_methods *system = checked_of(file)->below;
  char head[JOURNAL_HEAD];
  uint64_t check;
  if (at != 0 || n != COUNT_END) return system->xWrite(file, bytes, n, at);
  int code = system->xRead(file, head, JOURNAL_HEAD, 0);
  memcpy(head, bytes, COUNT_END);
  if (code == SQLITE_OK) code = check_of_journal(&check, file, head);
  if (code != SQLITE_OK) return code;
  memcpy(head + JOURNAL_CHECK_AT, &check, CHECK);
  return system->xWrite(file, head, JOURNAL_HEAD, 0);
}

/* SQLite would take a damaged journal for one that ends early, and keep the pages after that. */
static int read_journal(sqlite3_file *file, void *bytes, int n, sqlite3_int64 at) {
  checked_file *c = checked_of(file);
  char head[JOURNAL_HEAD];
  uint64_t check = 0, kept;
  const int code = c->below->xRead(file, bytes, n, at);
  if (code != SQLITE_OK || c->is_checked) return code;
  if (c->below->xRead(file, head, JOURNAL_HEAD, 0) != SQLITE_OK) return SQLITE_IOERR_DATA;
  memcpy(&kept, head + JOURNAL_CHECK_AT, CHECK); /* 0: no page counts yet, or an older version's */
  if (kept && (check_of_journal(&check, file, head) != SQLITE_OK || check != kept)) return SQLITE_IOERR_DATA;
  c->is_checked = true;
  return SQLITE_OK;
}

static int open_checked(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *opened) {
  (void)vfs;
  const int code = below->xOpen(below, name, file, flags, opened);
  const bool is_journal = flags & SQLITE_OPEN_MAIN_JOURNAL;
  if (code != SQLITE_OK || !(flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_MAIN_JOURNAL))) return code;
  checked_file *c = checked_of(file);
  *c = (checked_file){.methods = *file->pMethods, .below = file->pMethods};
  c->methods.iVersion = 1; /* neither WAL nor mapped files, which would not be read here */
  c->methods.xRead = is_journal ? read_journal : read_checked;
  c->methods.xWrite = is_journal ? write_journal : write_checked;
  file->pMethods = &c->methods;
  return SQLITE_OK;
}

static int register_checking(void) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  int code = SQLITE_OK;
  pthread_mutex_lock(&mutex);
  if (!sqlite3_vfs_find(NAME)) {
    below = sqlite3_vfs_find(NULL);
    if (below) {
      checking = *below;
      checking.zName = NAME, checking.pNext = NULL, checking.xOpen = open_checked;
      checking.szOsFile = system_bytes() + (int)sizeof(checked_file);
    }
    code = below ? sqlite3_vfs_register(&checking, 0) : SQLITE_NOMEM;
  }
  pthread_mutex_unlock(&mutex);
  return code;
}

int cq_page_checks_open(sqlite3 **out, const char *path, int flags) {
  int n_reserved = CHECK;
  *out = NULL;
  int code = register_checking();
  if (code == SQLITE_OK) code = sqlite3_open_v2(path, out, flags, NAME);
  return code == SQLITE_OK ? sqlite3_file_control(*out, "main", SQLITE_FCNTL_RESERVE_BYTES, &n_reserved) : code;
}

long long cq_page_checks_damaged(sqlite3 *db) {
  sqlite3_file *file = NULL;
  sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  return file && file->pMethods && file->pMethods->xRead == read_checked ? checked_of(file)->damaged : 0;
}
