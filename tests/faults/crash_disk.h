/* What test_crashes.sh knows of a directory on a disk: its files and directories (nodes), and what a program did to them
 * (operations), in order. crash_record.c records, crash_states.c makes the states that a crash may leave. */
#ifndef FAULTS_CRASH_DISK_H
#define FAULTS_CRASH_DISK_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { MAX_NODES = 65536, MAX_OPERATIONS = 65536 };

typedef struct node { /* a file or a directory */
  ino_t number;
  bool is_directory;
} node;

typedef enum kind { WRITE, TRUNCATE, SYNC, ADD, REMOVE, RENAME, EXCHANGE } kind;

typedef struct operation {
  kind kind;
  int node;         /* the file, or the directory whose names change; 0 is the directory that is looked at */
  int child, other; /* what gets the name: ADD: `name`, RENAME: `to`, EXCHANGE: child gets `to`, other gets `name` */
  char name[NAME_MAX + 1], to[NAME_MAX + 1];
  unsigned char *data; /* WRITE */
  size_t n;            /* its bytes; TRUNCATE: the size */
  size_t at;
} operation;

extern node nodes[MAX_NODES];
extern operation operations[MAX_OPERATIONS];
extern int n_nodes, n_operations;
extern int n_syncs; /* of what the command did */

/* Ends with 2. */
void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void *more(void *old, size_t n); /* realloc */

/* What is in a directory now; all of it is certain. Returns the directory's node, 0. */
int record_tree(const char *path);
/* Runs a command, which must end with 0, and records what it does. The sync of number left_out, from 1, is not recorded. */
void record_command(char **command, int left_out);

#endif
