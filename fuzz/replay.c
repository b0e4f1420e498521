/* Stands in for libFuzzer in the normal build: replays a corpus, then mutates it from a fixed seed.
 *
 *   replay_X CORPUS_DIRECTORY N_MUTATIONS [SEED]
 *
 * Each mutation starts from one corpus file and changes it one to four times. When the target aborts, the input is kept
 * in a file whose path is printed: put into the corpus, it becomes a fixture. */
#include "fuzz.h"

#include "base/random.h"

#include <dirent.h>
#include <signal.h>
#include <string.h>

#define MAX_FILES 1000
#define MAX_BYTES ((size_t)1 << 16)

static struct {
  uint8_t *data;
  size_t n;
} corpus[MAX_FILES];
static size_t n_files;
static uint8_t input[MAX_BYTES];
static size_t input_n;

static void keep_input(int signal_number) {
  char path[100];
  snprintf(path, sizeof path, "/tmp/calque-crash-%ld", (long)getpid());
  FILE *f = fopen(path, "wb");
  if (f) {
    fwrite(input, 1, input_n, f);
    fclose(f);
    fprintf(stderr, "the input that broke it: %s (%zu bytes)\n", path, input_n);
  }
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static void read_corpus(const char *directory) {
  char *names[MAX_FILES];
  DIR *dir = opendir(directory);
  CHECK(dir);
  for (struct dirent *e; (e = readdir(dir));) {
    if (e->d_name[0] == '.') continue;
    CHECK(n_files < MAX_FILES && (names[n_files] = strdup(e->d_name)));
    n_files++;
  }
  closedir(dir);
  qsort(names, n_files, sizeof *names, by_name); /* the same order everywhere */
  for (size_t i = 0; i < n_files; i++) {
    char path[2000];
    snprintf(path, sizeof path, "%s/%s", directory, names[i]);
    FILE *f = fopen(path, "rb");
    CHECK(f && (corpus[i].data = malloc(MAX_BYTES)));
    corpus[i].n = fread(corpus[i].data, 1, MAX_BYTES, f);
    CHECK(feof(f) && !ferror(f)); /* corpus files are small */
    fclose(f);
    free(names[i]);
  }
}

static void run(void) {
  /* A copy of its own size, so that the sanitizer sees a read past the end. */
  uint8_t *copy = malloc(input_n ? input_n : 1);
  CHECK(copy);
  memcpy(copy, input, input_n);
  LLVMFuzzerTestOneInput(copy, input_n);
  free(copy);
}

static size_t below(cq_random *r, size_t bound) {
  return (size_t)cq_random_below(r, bound);
}

static void insert(size_t at, const uint8_t *bytes, size_t n) {
  if (n > MAX_BYTES - input_n) return;
  memmove(input + at + n, input + at, input_n - at);
  memcpy(input + at, bytes, n);
  input_n += n;
}

static void delete (size_t at, size_t n) {
  memmove(input + at, input + at + n, input_n - at - n);
  input_n -= n;
}

static void mutate(cq_random *r) {
  static const uint64_t numbers[] = {0,
                                     1,
                                     127,
                                     128,
                                     255,
                                     256,
                                     32767,
                                     65535,
                                     INT32_MAX,
                                     UINT32_MAX,
                                     INT64_MAX,
                                     UINT64_MAX,
                                     (uint64_t)1 << 32,
                                     (uint64_t)1 << 62,
                                     UINT64_MAX - 7,
                                     (uint64_t)-64};
  static const char *const texts[] = {"0",
                                      "-1",
                                      "9",
                                      "99999999999",
                                      "9223372036854775807",
                                      "9223372036854775808",
                                      "[",
                                      "]",
                                      "{",
                                      "}",
                                      "\"",
                                      ",",
                                      ":",
                                      "(",
                                      ")",
                                      "\\u0000",
                                      "\xFF",
                                      "\xED\xA0\x80",
                                      "\n",
                                      "\r\n",
                                      "1e999",
                                      "null"};
  size_t at = input_n ? below(r, input_n) : 0, left = input_n - at;
  switch (left ? below(r, 9) : 6) {
  case 0: input[at] ^= (uint8_t)(1u << below(r, 8)); break;
  case 1: input[at] = (uint8_t)cq_random_u64(r); break;
  case 2: input[at] = (uint8_t)(input[at] + (below(r, 2) ? 1 : -1)); break;
  case 3: delete (at, 1 + below(r, left < 32 ? left : 32)); break;
  case 4: input_n = at; break;
  case 5: { /* a number, as wide as there is room */
    uint64_t number = numbers[below(r, sizeof numbers / sizeof *numbers)];
    memcpy(input + at, &number, left < sizeof number ? left : sizeof number);
    break;
  }
  case 6: {
    const char *text = texts[below(r, sizeof texts / sizeof *texts)];
    insert(at, (const uint8_t *)text, strlen(text));
    break;
  }
  case 7: { /* a piece of the same input again */
    uint8_t piece[64];
    size_t from = below(r, input_n), n = 1 + below(r, sizeof piece);
    if (n > input_n - from) n = input_n - from;
    memcpy(piece, input + from, n);
    insert(at, piece, n);
    break;
  }
  default: { /* a piece of another */
    size_t other = below(r, n_files);
    if (!corpus[other].n) break;
    size_t from = below(r, corpus[other].n), n = 1 + below(r, 64);
    if (n > corpus[other].n - from) n = corpus[other].n - from;
    insert(at, corpus[other].data + from, n);
  }
  }
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: %s CORPUS_DIRECTORY N_MUTATIONS [SEED]\n", argv[0]);
    return 2;
  }
  signal(SIGABRT, keep_input);
  signal(SIGSEGV, keep_input);
  signal(SIGBUS, keep_input);
  read_corpus(argv[1]);
  CHECK(n_files > 0);
  for (size_t i = 0; i < n_files; i++) {
    memcpy(input, corpus[i].data, input_n = corpus[i].n);
    run();
  }
  uint64_t n_mutations = strtoull(argv[2], NULL, 10), seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
  for (uint64_t item = 0; item < n_mutations; item++) {
    cq_random r = cq_random_seeded(seed, item);
    size_t i = below(&r, n_files);
    memcpy(input, corpus[i].data, input_n = corpus[i].n);
    for (size_t k = 1 + below(&r, 4); k; k--) mutate(&r);
    run();
  }
  printf("%zu corpus files and %llu mutations of them\n", n_files, (unsigned long long)n_mutations);
  for (size_t i = 0; i < n_files; i++) free(corpus[i].data);
  return 0;
}
