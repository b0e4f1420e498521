/* gettext's catalogs, as text (.po) and compiled (.mo), plain or compressed, in the encoding that their header names:
 *
 *   # a comment                                  .mo: eight numbers of 32 bits, in either byte order: 0x950412de,
 *   #, fuzzy                                          revision, n, where the table of ids begins, that of the texts
 *   msgctxt "menu"                                    (each n pairs: length, position), size and position of a hash
 *   msgid "%d file"                                   table; with revision 0.1 also strings that depend on the system
 *   msgid_plural "%d files"
 *   msgstr[0] "%d Datei"                              id     "menu" EOT "%d file" NUL "%d files"
 *   msgstr[1] "%d Dateien"                            text   "%d Datei" NUL "%d Dateien"
 *   #~ msgid "obsolete"
 *
 * A message with a plural gives two rows: the singular with the first form, the plural with the last. If a language has
 * only one form, there is only the plural's row. The header, the text of the empty id, gives none. */
#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "corpus/catalogs.h"
#include "text/decode.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { ENCODING_NAME = 64, MO_HEADER = 28, MO_HEADER_1 = 48 };

/* --- messages --- */

typedef struct message {
  cq_slice context, id, plural; /* data NULL: missing */
  cq_slice first, last;         /* forms; first has data if it is there at all */
  size_t n_forms;
} message;

static cq_status put_message(cq_catalogs *c, const message *m, const char *path, cq_error *error) {
  cq_builder key = {0};
  if (m->id.n == 0 && !m->context.data) return CQ_OK; /* the header */
  if (m->first.n == 0 && m->last.n == 0) return cq_catalogs_drop(c, "untranslated", error);
  if (m->context.data) {
    cq_builder_bytes(&key, m->context.data, m->context.n);
    cq_builder_char(&key, '\4');
  }
  cq_builder_bytes(&key, m->id.data, m->id.n);
  cq_status status = key.failed ? cq_fail_memory(error, path) : CQ_OK;
  if (!status && (!m->plural.data || m->n_forms > 1))
    status = cq_catalogs_put(c, (cq_slice){key.data, key.n}, m->id, m->first, path, error);
  cq_builder_bytes(&key, "", 1);
  if (!status && m->plural.data)
    status = key.failed ? cq_fail_memory(error, path)
                        : cq_catalogs_put(c, (cq_slice){key.data, key.n}, m->plural, m->last, path, error);
  cq_builder_free(&key);
  return status;
}

/* The first place of a word; NULL: it is not there. */
static const char *find_word(cq_slice text, const char *word) {
  const size_t n = strlen(word);
  for (const char *at = text.data; text.n >= n && at <= text.data + text.n - n; at++) {
    at = memchr(at, *word, (size_t)(text.data + text.n - n - at) + 1);
    if (!at || !memcmp(at, word, n)) return at;
  }
  return NULL;
}

/* The encoding that a header names; "": UTF-8, or a template's "CHARSET". */
static cq_status find_encoding(char name[ENCODING_NAME], cq_slice header, const char *path, cq_error *error) {
  static const char field[] = "charset=";
  name[0] = '\0';
  const char *at = find_word(header, field);
  if (!at) return CQ_OK;
  at += sizeof field - 1;
  const char *end = header.data + header.n;
  size_t n = 0;
  while (at + n < end && n + 1 < ENCODING_NAME && (unsigned char)at[n] > ' ' && !strchr("\\\";", at[n])) n++;
  memcpy(name, at, n), name[n] = '\0';
  if (!strcasecmp(name, "UTF-8") || !strcasecmp(name, "UTF8") || !strcmp(name, "CHARSET")) name[0] = '\0';
  if (name[0] && !cq_encoding_is_known(name))
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "the encoding '%s' is not known", name);
  return CQ_OK;
}

/* --- compiled --- */

static uint32_t read_u32(const unsigned char *at, bool is_big) {
  return is_big ? (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3]
                : (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

static cq_status mo_string(cq_slice *out, cq_slice file, size_t at, bool is_big, const char *path, cq_error *error) {
  const size_t n = read_u32((const unsigned char *)file.data + at, is_big),
               begin = read_u32((const unsigned char *)file.data + at + 4, is_big);
  if (begin > file.n || n > file.n - begin)
    return cq_fail_byte(error, CQ_ERR_FORMAT, path, at, "a string of %zu bytes at byte %zu, the file has %zu", n, begin,
                        file.n);
  *out = (cq_slice){file.data + begin, n};
  return CQ_OK;
}

/* Takes the part up to a separator off the front of a string; all of it if there is none. */
static cq_slice take_part(cq_slice *rest, char separator) {
  const char *end = rest->n ? memchr(rest->data, separator, rest->n) : NULL;
  const cq_slice part = {rest->data, end ? (size_t)(end - rest->data) : rest->n};
  const size_t n = part.n + (end != NULL);
  *rest = end ? (cq_slice){rest->data + n, rest->n - n} : (cq_slice){0};
  return part;
}

static cq_status put_mo_pair(cq_catalogs *c, cq_slice id, cq_slice text, const char *path, cq_error *error) {
  message m = {0};
  cq_slice rest = id;
  const char *context = id.n ? memchr(id.data, '\4', id.n) : NULL;
  if (context) m.context = take_part(&rest, '\4');
  m.id = take_part(&rest, '\0');
  if (rest.data) {
    m.plural = take_part(&rest, '\0');
    do {
      m.last = take_part(&text, '\0');
      if (m.n_forms++ == 0) m.first = m.last;
    } while (text.data);
  } else {
    m.first = m.last = text, m.n_forms = 1;
  }
  return put_message(c, &m, path, error);
}

static cq_status read_mo(cq_catalogs *c, cq_slice file, bool is_big, const char *path, cq_error *error) {
  const unsigned char *bytes = (const unsigned char *)file.data;
  if (file.n < MO_HEADER) return cq_fail_byte(error, CQ_ERR_FORMAT, path, file.n, "truncated: no complete header");
  const uint32_t revision = read_u32(bytes + 4, is_big), n = read_u32(bytes + 8, is_big);
  const size_t tables[] = {read_u32(bytes + 12, is_big), read_u32(bytes + 16, is_big)};
  if (revision >> 16 > 1)
    return cq_fail_byte(error, CQ_ERR_FORMAT, path, 4, "revision %u.%u, expected 0 or 1", revision >> 16,
                        revision & 0xFFFF);
  for (int i = 0; i < 2; i++)
    if (tables[i] > file.n || n > (file.n - tables[i]) / 8)
      return cq_fail_byte(error, CQ_ERR_FORMAT, path, 12 + 4 * (size_t)i,
                          "a table of %u strings at byte %zu, the file has %zu", n, tables[i], file.n);
  char encoding[ENCODING_NAME] = "";
  cq_builder decoded = {0};
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < n; i++) {
    cq_slice pair[2] = {{0}};
    for (size_t k = 0; !status && k < 2; k++)
      status = mo_string(&pair[k], file, tables[k] + 8 * i, is_big, path, error);
    if (!status && pair[0].n == 0) status = find_encoding(encoding, pair[1], path, error);
    if (!status && encoding[0] && pair[0].n) {
      cq_builder_clear(&decoded);
      status = cq_decode_all(&decoded, pair[0], encoding, error);
      const size_t n_id = decoded.n;
      if (!status) status = cq_decode_all(&decoded, pair[1], encoding, error);
      pair[0] = (cq_slice){decoded.data, n_id}, pair[1] = (cq_slice){decoded.data + n_id, decoded.n - n_id};
    }
    if (!status) status = put_mo_pair(c, pair[0], pair[1], path, error);
  }
  cq_builder_free(&decoded);
  const uint32_t n_of_system = (revision & 0xFFFF) >= 1 && file.n >= MO_HEADER_1 ? read_u32(bytes + 36, is_big) : 0;
  for (uint32_t i = 0; !status && i < cq_min(n_of_system, file.n); i++)
    status = cq_catalogs_drop(c, "dependent on the system", error);
  return status;
}

/* --- text --- */

typedef enum { PO_NONE, PO_CONTEXT, PO_ID, PO_PLURAL, PO_TEXT, N_PO_PARTS = PO_TEXT + 2 } po_part;

typedef struct po {
  const char *at, *end, *path;
  uint64_t line;
  /* the entry that is read: the first form in PO_TEXT, the last in PO_TEXT + 1 */
  cq_builder parts[N_PO_PARTS];
  bool is_there[N_PO_PARTS];
  size_t part;
  size_t n_forms;
  bool is_fuzzy, is_obsolete;
} po;

static cq_status fail_po(const po *p, cq_error *error, const char *expected) {
  const char *end = memchr(p->at, '\n', (size_t)(p->end - p->at));
  const size_t n = cq_min((size_t)((end ? end : p->end) - p->at), 40);
  return cq_fail_line(error, CQ_ERR_FORMAT, p->path, p->line, "expected %s before '%.*s'", expected,
                      (int)cq_utf8_invalid_at(p->at, n), p->at);
}

static cq_status end_entry(cq_catalogs *c, po *p, cq_error *error) {
  cq_slice parts[N_PO_PARTS];
  cq_status status = CQ_OK;
  if (p->is_there[PO_ID] && !p->is_there[PO_TEXT]) return fail_po(p, error, "msgstr");
  for (size_t i = 0; i < N_PO_PARTS; i++) {
    const cq_builder *b = &p->parts[i];
    if (b->failed) return cq_fail_memory(error, p->path);
    parts[i] = (cq_slice){!p->is_there[i] ? NULL : b->data ? b->data : "", b->n};
  }
  const bool is_header = parts[PO_ID].n == 0 && !parts[PO_CONTEXT].data;
  if (p->is_there[PO_ID] && p->is_obsolete)
    status = cq_catalogs_drop(c, "obsolete", error);
  else if (p->is_there[PO_ID] && p->is_fuzzy && !is_header)
    status = cq_catalogs_drop(c, "fuzzy", error);
  else if (p->is_there[PO_ID])
    status = put_message(c,
                         &(message){.context = parts[PO_CONTEXT],
                                    .id = parts[PO_ID],
                                    .plural = parts[PO_PLURAL],
                                    .first = parts[PO_TEXT],
                                    .last = parts[p->n_forms > 1 ? PO_TEXT + 1 : PO_TEXT],
                                    .n_forms = p->n_forms},
                         p->path, error);
  for (size_t i = 0; i < N_PO_PARTS; i++) cq_builder_clear(&p->parts[i]), p->is_there[i] = false;
  p->n_forms = 0, p->part = PO_NONE, p->is_fuzzy = p->is_obsolete = false;
  return status;
}

/* 16: it is none. */
static unsigned hex_digit(char c) {
  const char lower = (char)(c | 32);
  return c >= '0' && c <= '9' ? (unsigned)(c - '0') : lower >= 'a' && lower <= 'f' ? (unsigned)(lower - 'a') + 10 : 16;
}

/* A character after a backslash, as in C. */
static void take_escape(po *p, cq_builder *out) {
  static const char names[] = "ntrabfv", values[] = "\n\t\r\a\b\f\v";
  const char c = *p->at++;
  const char *name = c ? strchr(names, c) : NULL;
  unsigned value = 0;
  int n = 0;
  if (name) {
    cq_builder_char(out, values[name - names]);
  } else if (c >= '0' && c <= '7') {
    for (p->at--; n < 3 && p->at < p->end && *p->at >= '0' && *p->at <= '7'; n++)
      value = value * 8 + (unsigned)(*p->at++ - '0');
    cq_builder_char(out, (char)value);
  } else if (c == 'x' && p->at < p->end && hex_digit(*p->at) < 16) {
    while (p->at < p->end && hex_digit(*p->at) < 16) value = value * 16 + hex_digit(*p->at++);
    cq_builder_char(out, (char)value);
  } else {
    cq_builder_char(out, c); /* a quotation mark, a backslash */
  }
}

static cq_status take_string(po *p, cq_error *error) {
  cq_builder *out = &p->parts[p->part];
  if (p->part == PO_NONE) return fail_po(p, error, "msgid");
  const char *begin = p->at++;
  while (p->at < p->end && *p->at != '"' && *p->at != '\n') {
    const char c = *p->at++;
    if (c == '\\' && p->at < p->end)
      take_escape(p, out);
    else
      cq_builder_char(out, c);
  }
  if (p->at == p->end || *p->at != '"') {
    p->at = begin;
    return cq_fail_line(error, CQ_ERR_FORMAT, p->path, p->line, "a string has no '\"' at its end");
  }
  p->at++;
  return CQ_OK;
}

static cq_status take_keyword(cq_catalogs *c, po *p, cq_error *error) {
  static const struct {
    const char *name;
    po_part part;
  } keywords[] = {{"msgctxt", PO_CONTEXT}, {"msgid_plural", PO_PLURAL}, {"msgid", PO_ID}, {"msgstr", PO_TEXT}};
  size_t i = 0;
  while (i < 4 && ((size_t)(p->end - p->at) < strlen(keywords[i].name) ||
                   memcmp(p->at, keywords[i].name, strlen(keywords[i].name)) != 0))
    i++;
  if (i == 4) return fail_po(p, error, "msgid, msgstr or a string");
  po_part part = keywords[i].part;
  const bool is_obsolete = p->is_obsolete;
  cq_status status = CQ_OK;
  if (p->is_there[PO_TEXT] && (part == PO_CONTEXT || part == PO_ID)) {
    status = end_entry(c, p, error);
    p->is_obsolete = is_obsolete;
  }
  if (status) return status;
  if ((part != PO_TEXT && p->is_there[part]) || (part == PO_TEXT && !p->is_there[PO_ID]) ||
      (part == PO_TEXT && p->is_there[part] && !p->is_there[PO_PLURAL]))
    return fail_po(p, error, "another part of the entry");
  p->at += strlen(keywords[i].name);
  while (p->at < p->end &&
         (cq_is_blank(*p->at) || (part == PO_TEXT && *p->at != '"' && strchr("[0123456789]", *p->at))))
    p->line += *p->at++ == '\n';
  if (p->at == p->end || *p->at != '"') return fail_po(p, error, "a string");
  if (part == PO_TEXT && p->n_forms++ > 0) part++;
  cq_builder_clear(&p->parts[part]);
  p->part = part, p->is_there[part] = true;
  return CQ_OK;
}

/* A comment; one after the text of an entry ends it. Text after "#~" is read as an obsolete entry. */
static cq_status take_comment(cq_catalogs *c, po *p, cq_error *error) {
  const char *end = memchr(p->at, '\n', (size_t)(p->end - p->at));
  if (!end) end = p->end;
  const bool is_obsolete = end - p->at >= 2 && p->at[1] == '~' && !(end - p->at > 2 && p->at[2] == '|');
  cq_status status = CQ_OK;
  if (p->is_there[PO_TEXT] && (!is_obsolete || !p->is_obsolete)) status = end_entry(c, p, error);
  if (!status && is_obsolete) {
    p->is_obsolete = true, p->at += 2;
    return CQ_OK;
  }
  if (end - p->at > 1 && p->at[1] == ',')
    p->is_fuzzy |= find_word((cq_slice){p->at, (size_t)(end - p->at)}, "fuzzy") != NULL;
  p->at = end;
  return status;
}

static cq_status read_po(cq_catalogs *c, cq_slice file, const char *path, cq_error *error) {
  po p = {.at = file.data, .end = file.data + file.n, .path = path, .line = 1};
  cq_status status = CQ_OK;
  while (!status && p.at < p.end) {
    if (cq_is_blank(*p.at))
      p.line += *p.at++ == '\n';
    else if (*p.at == '#')
      status = take_comment(c, &p, error);
    else if (*p.at == '"')
      status = take_string(&p, error);
    else
      status = take_keyword(c, &p, error);
  }
  if (!status) status = end_entry(c, &p, error);
  for (size_t i = 0; i < N_PO_PARTS; i++) cq_builder_free(&p.parts[i]);
  return status;
}

/* As UTF-8, because a byte of a character may be a backslash in other encodings. */
static cq_status read_encoded_po(cq_catalogs *c, cq_slice file, const char *path, cq_error *error) {
  char encoding[ENCODING_NAME] = "";
  const char *marked = cq_encoding_marked(file), *type = NULL;
  cq_status status = CQ_OK;
  if (marked)
    snprintf(encoding, sizeof encoding, "%s", marked);
  else if ((type = find_word(file, "\"Content-Type:")))
    status = find_encoding(encoding, (cq_slice){type, cq_min((size_t)(file.data + file.n - type), 200)}, path, error);
  if (status) return status;
  cq_builder decoded = {0};
  if (encoding[0]) {
    status = cq_decode_all(&decoded, file, encoding, error);
    file = (cq_slice){decoded.data ? decoded.data : "", decoded.n};
  }
  if (file.n >= 3 && !memcmp(file.data, "\xEF\xBB\xBF", 3)) file.data += 3, file.n -= 3;
  if (!status) status = read_po(c, file, path, error);
  cq_builder_free(&decoded);
  return status;
}

static cq_status read_gettext(cq_catalogs *c, cq_slice file, const char *path, cq_error *error) {
  const bool is_little = file.n >= 4 && !memcmp(file.data, "\xDE\x12\x04\x95", 4);
  const bool is_big = file.n >= 4 && !memcmp(file.data, "\x95\x04\x12\xDE", 4);
  return is_little || is_big ? read_mo(c, file, is_big, path, error) : read_encoded_po(c, file, path, error);
}

static cq_status open_gettext(cq_format_reader *reader, cq_error *error) {
  return cq_catalogs_open((cq_catalogs *)reader, read_gettext, true, error);
}

const cq_format cq_format_gettext = {
    .about = {.name = "gettext",
              .inputs = "FILE...",
              .min_inputs = 1,
              .max_inputs = 65536,
              .has_columns = true,
              .help = "catalogs, .po or .mo: message id and translation; or all catalogs of a directory, as "
                      "/usr/share/locale: --columns en,ko (en: the message ids), --columns ko,de"},
    .endings = ".po .pot .mo .gmo",
    .size = sizeof(cq_catalogs),
    .open = open_gettext,
    .next = cq_catalogs_next,
    .close = cq_catalogs_close,
};
