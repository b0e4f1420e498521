/* The imitation of the hub as a program, for scripts: imitate KIND REPOSITORY DIRECTORY prints where it listens, and
 * ends with its standard input. */
#include "support/hub.h"

int main(int argc, char **argv) {
  static hub_imitation h;
  if (argc != 4 || !hub_open(&h, argv[1], argv[2])) return 2;
  hub_add_directory(&h, argv[3], "");
  printf("%s\n", h.endpoint);
  fflush(stdout);
  while (getchar() != EOF) continue;
  hub_close(&h);
  return 0;
}
