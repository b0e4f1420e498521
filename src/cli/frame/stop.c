/* One thread waits for all signals, so that cleanup is not limited to async-signal-safe functions. See stop.h. */
#include "cli/frame/stop.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const int stopping[] = {SIGINT, SIGTERM, SIGHUP};
static sigset_t waited_for;
static atomic_bool is_caught, interrupt_is_ignored;
static void (*_Atomic told_of)(int signal);
static atomic_int asked_by; /* the signal; 0: none */

static void end_program(int number) {
  cq_remove_temporaries();
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  signal(number, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &one, NULL);
  kill(getpid(), number);
  _exit(128 + number);
}

/* The thread that receives all signals, without a signal handler's restrictions. */
static void *wait_for_signals(void *unused) {
  (void)unused;
  for (;;) {
    int number, none = 0;
    if (sigwait(&waited_for, &number) != 0) continue;
    void (*told)(int) = atomic_load(&told_of);
    if (told && (number == SIGHUP || atomic_compare_exchange_strong(&asked_by, &none, number))) {
      told(number);
      continue;
    }
    if (atomic_load(&is_caught) && atomic_compare_exchange_strong(&asked_by, &none, number)) continue;
    if (number == SIGINT && atomic_load(&interrupt_is_ignored) && !atomic_load(&is_caught)) continue;
    end_program(number);
  }
  return NULL;
}

void cli_stop_begin(void) {
  pthread_t thread;
  sigemptyset(&waited_for);
  for (size_t i = 0; i < sizeof stopping / sizeof *stopping; i++) {
    struct sigaction before;
    const bool is_ignored = sigaction(stopping[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN;
    if (stopping[i] == SIGINT) interrupt_is_ignored = is_ignored; /* as a shell does for background jobs */
    if (stopping[i] == SIGHUP && is_ignored) continue;            /* as nohup does */
    sigaddset(&waited_for, stopping[i]);
  }
  pthread_sigmask(SIG_BLOCK, &waited_for, NULL);
  if (pthread_create(&thread, NULL, wait_for_signals, NULL) == 0)
    pthread_detach(thread);
  else
    pthread_sigmask(SIG_UNBLOCK, &waited_for, NULL);
}

void cli_stop_catch(void) {
  atomic_store(&is_caught, true);
}

void cli_stop_call(void (*told)(int signal)) {
  atomic_store(&told_of, told);
}

bool cli_stop_asked(void) {
  return atomic_load(&asked_by) != 0;
}

int cli_stop_code(int code) {
  const int number = atomic_load(&asked_by);
  return code != CLI_OK && number ? 128 + number : code;
}

/* A word as a shell takes it. */
static void print_word(const char *word) {
  if (word[0] &&
      strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,+@%") == strlen(word)) {
    fprintf(stderr, " %s", word);
    return;
  }
  fputs(" '", stderr);
  for (; *word; word++) fputs(*word == '\'' ? "'\\''" : (char[]){*word, '\0'}, stderr);
  fputc('\'', stderr);
}

void cli_stop_tell_resume(const cli_call *call, bool resuming, int n_ranks) {
  fputs("Go on with:\n ", stderr);
  if (n_ranks > 1) fprintf(stderr, " mpirun -n %d", n_ranks);
  for (int i = 0; i < call->argc; i++) print_word(call->argv[i]);
  fputs(resuming ? "\n" : " --resume\n", stderr);
}
