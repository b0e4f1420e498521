/* Any bytes, plain or gzip, come as lines of UTF-8 with growing numbers, or as errors with a place; and it ends. */
#include "fuzz.h"

#include "base/utf8.h"
#include "calque/lines.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  cq_lines *lines;
  cq_slice line, columns[4];
  cq_error error = {0};
  uint64_t number = 0;
  if (cq_lines_open(&lines, input_file(data, n), &error)) { /* another compression */
    CHECK(error.status == CQ_ERR_FORMAT && strstr(error.message, "decompress it first"));
    return 0;
  }
  for (;;) {
    cq_status status = cq_lines_next(&line, lines, &error);
    if (status) {
      CHECK(status == CQ_ERR_FORMAT && !line.data && error.message[0]);
      CHECK(error.line == cq_lines_number(lines) || (error.line == 0 && error.byte <= n));
      if (cq_lines_broken(lines)) break;
    } else if (!line.data) {
      break;
    } else {
      CHECK(cq_utf8_invalid_at(line.data, line.n) == line.n);
      CHECK(!memchr(line.data, '\n', line.n) && !memchr(line.data, '\0', line.n));
      size_t n_columns = cq_tsv_split(columns, 4, line), bytes = 0;
      for (size_t i = 0; i < n_columns && i < 4; i++) bytes += columns[i].n + 1;
      CHECK(n_columns > 4 ? bytes <= line.n : bytes == line.n + 1);
    }
    number++;
    CHECK(cq_lines_number(lines) == number);
  }
  cq_lines_close(lines);
  return 0;
}
