/* Runs this test program again in a new process. A process that has threads must not fork and
 * go on: a lock that another thread held, such as the allocator's, would stay locked in the child forever. */
#ifndef SUPPORT_AGAIN_H
#define SUPPORT_AGAIN_H

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

typedef struct again {
  pid_t pid;
  int to, from; /* its standard input and output; -1 when they are ours */
} again;

/* Starts this program with one argument, which main acts on. */
static inline again start_again(const char *role, bool has_pipes) {
  char name[] = "test";
  char *const argv[] = {name, (char *)(uintptr_t)role, NULL};
  int to[2] = {-1, -1}, from[2] = {-1, -1};
  again child = {.to = -1, .from = -1};
  posix_spawn_file_actions_t actions;
  assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
  if (has_pipes) {
    assert_int_equal(pipe(to), 0);
    assert_int_equal(pipe(from), 0);
    fcntl(to[1], F_SETFD, FD_CLOEXEC), fcntl(from[0], F_SETFD, FD_CLOEXEC);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, to[0]);
    posix_spawn_file_actions_addclose(&actions, from[1]);
    child.to = to[1], child.from = from[0];
  }
  assert_int_equal(posix_spawn(&child.pid, "/proc/self/exe", &actions, NULL, argv, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  if (has_pipes) close(to[0]), close(from[1]);
  return child;
}

/* Its exit status, once it has ended; the end of its standard input is what it may wait for. */
static inline int end_again(again *child) {
  int code = -1;
  if (child->to >= 0) close(child->to), close(child->from);
  return waitpid(child->pid, &code, 0) == child->pid && WIFEXITED(code) ? WEXITSTATUS(code) : -1;
}

#endif
