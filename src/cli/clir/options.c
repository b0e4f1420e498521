/* What the commands of `calque clir` make of the options that they share: defaults, checks, and the collections, whose
 * files are named by patterns:
 *
 *   --languages en,hi --docs docs.%.trec  ──▶  docs.en.trec, docs.hi.trec */
#include "cli/clir/clir.h"
#include "cli/frame/report.h"

#include <stdlib.h>
#include <string.h>

const char *const cli_clir_mixings[] = {"by-length", "at-random", NULL};
const char *const cli_clir_methods[] = {"terms", "sum", "documents", "cognates", NULL};

void cli_clir_defaults(void *options) {
  cli_clir_args *args = options;
  *args = (cli_clir_args){.o = cq_clir_default_options(), .n_folds = 5, .group = 1, .tag = "calque"};
  args->top = (int)args->o.ranking.k;
}

cq_clir_options cli_clir_options_of(const cli_clir_args *args) {
  cq_clir_options o = args->o;
  o.mixing = (cq_clir_mixing)args->mixing;
  o.method = (cq_clir_method)args->method;
  o.ranking.k = (size_t)args->top;
  return o;
}

cq_clir_folds cli_clir_folds_of(const cli_clir_args *args) {
  return (cq_clir_folds){.n = args->n_folds, .group = args->group, .share = args->share};
}

int cli_clir_check_tag(const char *tag) {
  return *tag && !strpbrk(tag, " \t\r\n\v\f") ? CLI_OK : cli_fail("the tag '%s' is empty or has blanks", tag);
}

static const char *const about_vectors[] = {
    "kappa",     "window",     "mix",      "all-documents",   "pseudo-in-all", "dim",
    "epochs",    "lr",         "sample",   "share-negatives", "cbow",          "seed",
    "min-ngram", "max-ngram",  "tau",      "weighted",        "idf",           "csls",
    "mu",        "keep-words", "feedback",
};

int cli_clir_check_no_vectors(const cli_call *call) {
  for (size_t i = 0; i < sizeof about_vectors / sizeof *about_vectors; i++)
    if (cli_given(call, about_vectors[i]))
      return cli_usage(call->path, "--%s is about word vectors, which --method cognates does without",
                       about_vectors[i]);
  if (call->n_arguments == 0) return CLI_OK;
  return cli_usage(call->path, "--method cognates does without VECTORS, but there is '%s'", call->arguments[0]);
}

/* ---- collections ---- */

/* The pattern with each % replaced; owned by c. */
static const char *filled(cli_collections *c, const char *pattern, const char *code) {
  size_t n = 1;
  for (const char *p = pattern; *p; p++) n += *p == '%' ? strlen(code) : 1;
  char *text = malloc(n), *to = text;
  for (const char *p = pattern; text && *p; p++) {
    if (*p == '%')
      to = stpcpy(to, code);
    else
      *to++ = *p;
  }
  if (text) *to = '\0', c->texts[c->n_texts++] = text;
  return text;
}

static bool add_language(cli_collections *c, const cli_clir_sources *s, const char *code) {
  cq_clir_language *l = &c->languages[c->n++];
  *l = (cq_clir_language){.code = code,
                          .documents = filled(c, s->documents, code),
                          .topics = filled(c, s->topics, code),
                          .judgements = filled(c, s->judgements, code),
                          .no_stems = s->no_stems};
  if (s->stop_words) l->stop_words = filled(c, s->stop_words, code);
  return l->documents && l->topics && l->judgements && (!s->stop_words || l->stop_words);
}

int cli_collections_open(cli_collections *c, const cli_clir_sources *s, cq_context *ctx) {
  cq_error error = {0};
  char *codes = filled(c, s->languages, "%") ? c->texts[0] : NULL;
  for (char *code = codes ? strtok(codes, ",") : NULL; code; code = strtok(NULL, ",")) {
    if (c->n == CLI_CLIR_MOST_LANGUAGES) return cli_fail("at most %d languages", CLI_CLIR_MOST_LANGUAGES);
    if (!add_language(c, s, code)) return cli_fail("out of memory");
  }
  if (cq_clir_open(&c->clir, c->languages, c->n, s->work, ctx, &error)) return cli_fail_error(&error);
  const cq_clir_info about = cq_clir_about(c->clir);
  if (about.n_unknown) cli_note("%zu judgements are of documents that are not there", about.n_unknown);
  return CLI_OK;
}

void cli_collections_close(cli_collections *c) {
  cq_clir_free(c->clir);
  for (size_t i = 0; i < c->n_texts; i++) free(c->texts[i]);
}
