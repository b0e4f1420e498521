#include "cli/frame/stop.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static volatile sig_atomic_t stop_asked;

static void ask_to_stop(int signal_number) {
  (void)signal_number;
  stop_asked = 1;
}

void cli_stop_catch(void) {
  struct sigaction action = {.sa_handler = ask_to_stop, .sa_flags = (int)SA_RESETHAND};
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

bool cli_stop_asked(void) {
  return stop_asked != 0;
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

void cli_stop_tell_resume(const cli_call *call, bool resuming) {
  fputs("Go on with:\n ", stderr);
  for (int i = 0; i < call->argc; i++) print_word(call->argv[i]);
  fputs(resuming ? "\n" : " --resume\n", stderr);
}
