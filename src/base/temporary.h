/* The names of temporary files and directories, which are renamed once they are written. A process that a signal ends
 * removes them. See calque/process.h. */
#ifndef BASE_TEMPORARY_H
#define BASE_TEMPORARY_H

#include <stdbool.h>

const char *cq_temporary_directory(void); /* $TMPDIR, or /tmp */
/* "PATH.TAG-PID-N": a name next to the target, so that rename stays within one file system; NULL: out of memory. */
char *cq_name_beside(const char *path, const char *tag);
/* PATH.tmp-PID-N, which cq_remove_temporaries removes until the name is released. */
char *cq_temporary_name(const char *path);
/* Whether this process is at work on a file or directory with this last component. */
bool cq_temporary_is_open(const char *last);
void cq_temporary_release(char *name); /* frees it; NULL and other names are legal */

#endif
