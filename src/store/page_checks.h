/* A check in each page of an SQLite database, by a VFS over the system's. Any changed byte is an error when SQLite reads
 * its page: neither rows nor entries of an index go missing silently.
 *
 *   page     4096 bytes; SQLite leaves the last 8 to others (reserved bytes)
 *   check    of the 4088 before, numbered by the page, from 1 (cq_check64)
 *
 * From the rollback journal, pages are written again, with new checks. So it has a check of its own, at byte 64, where
 * SQLite leaves zeros: of its size, the 64 bytes before, and all bytes after it. There is no WAL. */
#ifndef STORE_PAGE_CHECKS_H
#define STORE_PAGE_CHECKS_H

#include <sqlite3.h>

/* Opens a database file. Reading a damaged page or journal is SQLITE_IOERR_DATA. As with sqlite3_open_v2(), *out has to be closed
 * after an error, too. */
int cq_page_checks_open(sqlite3 **out, const char *path, int flags);
/* The last page, from 1, that was damaged when it was read; 0: none, or the journal. */
long long cq_page_checks_damaged(sqlite3 *db);

enum { CQ_PAGE_BYTES = 4096 };

#endif
