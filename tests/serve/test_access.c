/* Who may use a server: keys of any length, hosts that are addresses, and pages of the server's own origin only. Each
 * limit from both sides. */
#include "support/files.h"

#include "serve/access.h"
#include "serve/route.h"

static const serve_route open_route = {.method = "GET", .path = "/health", .flags = SERVE_OPEN};

/* The code of a request with these headers; 0: it may go on. */
static int code_of(const serve_access *a, const serve_credentials *given, const serve_route *route) {
  serve_request r = {.route = route};
  const bool may = serve_check_access(&r, a, given);
  const int code = r.code;
  assert_true(may == (code == 0));
  serve_request_clear(&r);
  return code;
}

static void hosts_are_addresses_or_localhost(void **state) {
  static const char *const fine[] = {"localhost",  "LOCALHOST:80",      "127.0.0.1", "127.0.0.1:8080", "[::1]",
                                     "[::1]:8080", "[fe80::1234:ABCD]", "10.0.0.1",  "localhost:"};
  static const char *const refused[] = {"localhost.evil",
                                        "localhos",
                                        "localhostx",
                                        "evil.localhost:80",
                                        "[::1].evil",
                                        "[::1]evil",
                                        "[::1]:8080.evil",
                                        "127.0.0.1:1:evil",
                                        "127.0.0.1:evil",
                                        "127.0.0.1.evil",
                                        "[evil]",
                                        "[::1",
                                        ":80",
                                        "",
                                        "example.org"};
  const serve_access checks = {.checks_host = true}, open = {0};
  (void)state;
  for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
    if (code_of(&checks, &(serve_credentials){.method = "POST", .host = fine[i]}, NULL)) fail_msg("%s", fine[i]);
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    const serve_credentials given = {.method = "POST", .host = refused[i]};
    if (code_of(&checks, &given, NULL) != 403) fail_msg("%s", refused[i]);
    assert_int_equal(code_of(&open, &given, NULL), 0); /* --insecure, or another address than this machine's */
  }
}

static void pages_of_other_sites_are_refused(void **state) {
  const serve_access none = {0};
  const struct {
    const char *method, *origin, *site;
    int code;
  } rows[] = {
      {"POST", NULL, NULL, 0}, /* no browser */
      {"POST", "http://localhost:80", "same-origin", 0},
      {"POST", "http://localhost:8080", NULL, 403},
      {"POST", "http://localhost:8", NULL, 403},
      {"POST", "http://localhost", NULL, 403},
      {"GET", "http://elsewhere", NULL, 403},
      {"POST", "null", NULL, 403},
      {"POST", NULL, "cross-site", 403},
      {"DELETE", NULL, "same-site", 403},
      {"PUT", NULL, "same-origin", 0},
      {"POST", NULL, "none", 0},      /* typed by the user */
      {"GET", NULL, "cross-site", 0}, /* a link to the page */
      {"HEAD", NULL, "cross-site", 0},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const serve_credentials given = {
        .method = rows[i].method, .origin = rows[i].origin, .site = rows[i].site, .host = "localhost:80"};
    if (code_of(&none, &given, NULL) != rows[i].code) fail_msg("row %zu", i);
  }
}

static void pages_of_listed_origins_may(void **state) {
  static const char *const lists[] = {"*", "https://example.org", "http://a.b:80,app://obsidian.md"};
  static const char *const none[] = {"",
                                     ",",
                                     "example.org",
                                     "https://",
                                     "://host",
                                     "https://a/b",
                                     "https://a,",
                                     "https://a,,https://b",
                                     "https://a, https://b",
                                     "*,https://a",
                                     "null"};
  char *keys[] = {(char *)(size_t) "key"};
  (void)state;
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) assert_true(serve_cors_is_list(lists[i]));
  for (size_t i = 0; i < sizeof none / sizeof *none; i++)
    if (serve_cors_is_list(none[i])) fail_msg("'%s'", none[i]);
  static const struct {
    const char *cors, *origin;
    bool has;
  } rows[] = {{"*", "https://any", true},
              {"*", "null", true},
              {"*", NULL, false},
              {NULL, "https://a", false},
              {"https://a,app://obsidian.md", "app://obsidian.md", true},
              {"https://a,app://obsidian.md", "HTTPS://A", true},
              {"https://a,app://obsidian.md", "https://a,app://obsidian.md", false},
              {"https://a", "https://a.evil", false},
              {"https://a.org", "https://a", false},
              {"https://a", "http://a", false},
              {"https://a", "", false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    serve_access a = {.cors = rows[i].cors};
    serve_credentials given = {
        .method = "POST", .origin = rows[i].origin, .host = "localhost:80", .site = "cross-site"};
    if (serve_cors_has(rows[i].cors, rows[i].origin) != rows[i].has) fail_msg("row %zu", i);
    assert_int_equal(code_of(&a, &given, NULL), rows[i].has ? 0 : 403);
    a.keys = keys, a.n_keys = 1; /* a page needs the key, too, but not to ask whether it may send it */
    assert_int_equal(code_of(&a, &given, NULL), rows[i].has ? 401 : 403);
    given.method = "OPTIONS";
    assert_int_equal(code_of(&a, &given, NULL), rows[i].has ? 0 : 403);
    given.method = "POST", given.authorization = "Bearer key";
    assert_int_equal(code_of(&a, &given, NULL), rows[i].has ? 0 : 403);
  }
  const serve_access a = {.cors = "*", .checks_host = true}; /* a name that was rebound is none of its origins */
  assert_int_equal(code_of(&a, &(serve_credentials){.method = "GET", .origin = "http://evil", .host = "evil"}, NULL),
                   403);
}

static const char *key_file(const char *bytes, size_t n) {
  write_bytes(test_path("keys"), bytes, n);
  return test_path("keys");
}

static void keys_are_compared_whole(void **state) {
  char file[4000] = "# a comment\nshort \r\n\n", header[4000] = "Bearer ";
  const size_t n = 3000;
  serve_access a = {0};
  cq_error error = {0};
  (void)state;
  memset(file + strlen(file), 'k', n); /* longer than any buffer of a line */
  if (serve_access_open(&a, key_file(file, strlen(file)), "given", &error)) fail_msg("%s", error.message);
  assert_int_equal(a.n_keys, 3);
  serve_credentials given = {.method = "GET", .authorization = header, .host = "any.example"};
  memset(header + 7, 'k', n);
  assert_int_equal(code_of(&a, &given, NULL), 0);
  header[7 + n] = 'k'; /* one more, one fewer, another */
  assert_int_equal(code_of(&a, &given, NULL), 401);
  header[7 + n] = 0, header[7 + n - 1] = 0;
  assert_int_equal(code_of(&a, &given, NULL), 401);
  header[7 + n - 1] = 'x';
  assert_int_equal(code_of(&a, &given, NULL), 401);
  static const char *const others[] = {"Bearer kk",         "Bearer ",     "Bearer",        "short",
                                       "Basic short",       "Bearer shor", "Bearer shorts", "Bearer # a comment",
                                       "Bearer shortshort", "Bearer-short"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    given.authorization = others[i];
    if (code_of(&a, &given, NULL) != 401) fail_msg("%s", others[i]);
  }
  given.authorization = NULL;
  assert_int_equal(code_of(&a, &given, NULL), 401);
  assert_int_equal(code_of(&a, &given, &open_route), 0);
  given.authorization = "bearer short";
  assert_int_equal(code_of(&a, &given, NULL), 0);
  given.authorization = "Bearer given";
  assert_int_equal(code_of(&a, &given, NULL), 0);
  serve_access_close(&a);
}

static void files_without_keys_are_refused(void **state) {
  static const char nul[] = "one\nt\0wo\n", empty[] = "# none\n \n";
  serve_access a = {0};
  cq_error error = {0};
  (void)state;
  assert_int_equal(serve_access_open(&a, key_file(empty, sizeof empty - 1), "given", &error), CQ_ERR_FORMAT);
  assert_non_null(strstr(error.message, "has no key"));
  serve_access_close(&a);
  assert_int_equal(serve_access_open(&a, key_file(nul, sizeof nul - 1), NULL, &error), CQ_ERR_FORMAT);
  assert_non_null(strstr(error.message, "NUL"));
  serve_access_close(&a);
  assert_int_equal(serve_access_open(&a, "nowhere/keys", NULL, &error), CQ_ERR_IO);
  serve_access_close(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hosts_are_addresses_or_localhost), cmocka_unit_test(pages_of_other_sites_are_refused),
      cmocka_unit_test(pages_of_listed_origins_may),      cmocka_unit_test(keys_are_compared_whole),
      cmocka_unit_test(files_without_keys_are_refused),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
