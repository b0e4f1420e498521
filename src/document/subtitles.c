/* Subtitles, SubRip and WebVTT: the text of the cues.
 *
 *   1                                        a number or a name, which may be missing
 *   00:00:01,000 --> 00:00:02,500            WebVTT: with a point, hours may be missing, settings may follow
 *   <i>I went to the</i>                     one or more lines; tags and {\an8} are left out
 *
 * An empty line ends a cue. A sentence may go over several cues: those before one that ends with a mark are on one line. */
#include "base/error.h"
#include "document/reader.h"
#include "format/markup.h"

static cq_slice take_line(cq_slice *rest) {
  const char *newline = memchr(rest->data, '\n', rest->n);
  const cq_slice line = {rest->data, newline ? (size_t)(newline - rest->data) : rest->n};
  const size_t n = line.n + (newline != NULL);
  rest->data += n, rest->n -= n;
  return cq_slice_trimmed(line);
}

static bool is_time(cq_slice line) {
  const char *end = line.data + line.n, *arrow = line.data;
  for (; end - arrow > 3 && memcmp(arrow, "-->", 3) != 0; arrow++)
    if (!strchr("0123456789:., \t", *arrow)) return false;
  return end - arrow > 3 && arrow > line.data;
}

/* Appends text without <tags> and {commands}. */
static void put_cue_line(cq_builder *out, cq_slice line) {
  for (size_t i = 0; i < line.n;) {
    const char close = line.data[i] == '<'                                                 ? '>'
                       : line.data[i] == '{' && i + 1 < line.n && line.data[i + 1] == '\\' ? '}'
                                                                                           : 0;
    const char *end = close ? memchr(line.data + i, close, line.n - i) : NULL;
    if (end) {
      i = (size_t)(end + 1 - line.data);
    } else {
      size_t n = 1;
      while (i + n < line.n && line.data[i + n] != '<' && line.data[i + n] != '{') n++;
      cq_markup_text(out, (cq_slice){line.data + i, n});
      i += n;
    }
  }
}

/* Whether a cue's text ends a sentence: with one of these, and quotation marks or brackets after it. */
static bool ends_sentence(cq_slice text) {
  static const char *const closing[] = {"\"", "'", ")", "]", "”", "’", "»", "」", "』", "）"},
                           *const marks[] = {".", "!", "?", "…", ":", "♪", "。", "！", "？", "؟", "।", "۔", ")", "]"};
  for (size_t i = 0; i < sizeof closing / sizeof *closing; i++) {
    const size_t n = strlen(closing[i]);
    if (text.n <= n || memcmp(text.data + text.n - n, closing[i], n) != 0) continue;
    if (*closing[i] == ')' || *closing[i] == ']') return true;
    text.n -= n, i = (size_t)-1;
  }
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
    const size_t n = strlen(marks[i]);
    if (text.n >= n && !memcmp(text.data + text.n - n, marks[i], n)) return true;
  }
  return false;
}

static cq_status read_subtitles(bool *found, void *state, cq_document_file *file, cq_error *error) {
  cq_builder *out = &file->room->role[CQ_ROLE_TEXT];
  cq_slice rest = file->bytes;
  bool in_cue = false;
  uint64_t n_cues = 0;
  (void)state, *found = true;
  while (rest.n) {
    const cq_slice line = take_line(&rest);
    if (is_time(line)) {
      in_cue = true, n_cues++;
      if (out->n && !cq_is_blank(out->data[out->n - 1]))
        cq_builder_char(out, ends_sentence(cq_built(out)) ? '\n' : ' ');
      continue;
    }
    in_cue &= line.n > 0;
    const size_t before = out->n;
    if (in_cue && out->n && !cq_is_blank(out->data[out->n - 1]))
      cq_builder_char(out, line.data[0] == '-' ? '\n' : ' '); /* another speaker */
    if (in_cue) put_cue_line(out, line);
    while (out->n > before && cq_is_blank(out->data[out->n - 1])) out->n--;
  }
  while (out->n && cq_is_blank(out->data[out->n - 1])) out->n--;
  return n_cues
             ? CQ_OK
             : cq_fail_file(error, CQ_ERR_FORMAT, file->path, "no cue in it, with a line as 00:01.000 --> 00:02.000");
}

const cq_document_type cq_document_type_subtitles = {
    .name = "subtitles", .endings = " .srt .vtt ", .is_one = true, .most_bytes = CQ_WHOLE_FILE, .read = read_subtitles};
