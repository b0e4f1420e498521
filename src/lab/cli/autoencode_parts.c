/* The options that the autoencode commands share, as parts of their tables; see autoencode_command.h. */
#include "cli/frame/command_ranks.h"
#include "cli/frame/stop.h"
#include "lab/cli/autoencode_command.h"

#include <string.h>

const char *const cli_autoencode_recipes[] = {"translating", "as-described", NULL};
static const cq_option_group *const groups[] = {&cq_group_autoencode, &cq_group_autoencode_as_described};

/* Arguments and the command set these. */
const char *const cli_autoencode_taken[] = {"output", "train", NULL};

/* The recipe's values, but what was given. */
static int apply_recipe(cq_options *recipe, const cq_options *given) {
  const cq_option *row;
  cq_error error = {0};
  for (size_t r = 0; (row = cq_options_row(recipe, r)); r++)
    for (size_t i = 0; cq_options_is_set(given, row->name); i++) {
      char *value;
      cq_status status = cq_options_get(&value, given, row->name, i, &error);
      if (!status && !value) break;
      if (!status) status = cq_options_set(recipe, row->name, value, &error);
      cq_free(value);
      if (status) return cli_fail_error(&error);
    }
  return CLI_OK;
}

static bool show_progress(void *context, const cq_autoencode_progress *p) {
  cli_progress *progress = context;
  char remark[256] = "";
  if (p->text) {
    cli_progress_clear(progress);
    cli_note("%s: %s", p->phase, p->text);
    return !cli_stop_asked();
  }
  for (size_t i = 0, at = strlen(remark); i < p->n_languages && at < 128; i++, at = strlen(remark))
    if (p->nll[i] > 0)
      snprintf(remark + at, sizeof remark - at, "%s %s %.3f", at ? "" : "-log p", p->languages[i], p->nll[i]);
  snprintf(remark + strlen(remark), sizeof remark - strlen(remark), "%scontrast %.3f  distance %.3f",
           *remark ? "  " : "", p->contrast, p->distance);
  cli_progress_draw(progress, p->phase, p->step, p->n_steps, remark, p->step == p->n_steps);
  return !cli_stop_asked();
}

/* For ranks that only compute. */
static bool show_nothing(void *context, const cq_autoencode_progress *p) {
  (void)context, (void)p;
  return true;
}

/* "fr,it", "it" or ",it" */
static int read_codes(const char *out[2], char codes[CLI_CODES], const char *command_path, const char *text) {
  char *comma = snprintf(codes, CLI_CODES, "%s", text) < CLI_CODES ? strchr(codes, ',') : NULL;
  if (!*codes || (comma && (!comma[1] || strchr(comma + 1, ','))))
    return cli_usage(command_path, "--languages is '%s', expected the languages of columns: fr,it or fr or ,it", text);
  if (comma) *comma = '\0';
  out[0] = *codes ? codes : NULL, out[1] = comma ? comma + 1 : NULL;
  return CLI_OK;
}

int cli_two_codes(const char *out[2], char codes[CLI_CODES], const char *command_path, const char *text) {
  const int code = read_codes(out, codes, command_path, text);
  if (code) return code;
  return out[0] && out[1] ? CLI_OK : cli_usage(command_path, "--languages is '%s', expected two codes as fr,it", text);
}

/* Files without languages get those of --languages. */
static int name_text_languages(cli_autoencode_run *r, const cq_autoencode_text *texts, size_t n, const cli_call *call) {
  const cli_autoencode_args *args = call->options;
  cq_autoencode_text *own = (cq_autoencode_text *)(uintptr_t)texts; /* the call's */
  const char *codes[2];
  for (size_t i = 0; i < n; i++) {
    if (own[i].languages[0] || own[i].languages[1]) continue;
    if (!args->languages)
      return cli_usage(call->path, "'%s' does not say its languages, and there is no --languages: fr,it=%s",
                       own[i].path, own[i].path);
    const int code = read_codes(codes, r->codes, call->path, args->languages);
    if (code) return code;
    own[i].languages[0] = codes[0], own[i].languages[1] = codes[1];
  }
  return CLI_OK;
}

static int read_arguments(cli_autoencode_run *r, const cli_call *call) {
  cq_error error = {0};
  cq_status status = cq_options_set(r->options, "output", call->arguments[0], &error);
  for (size_t i = 1; !status && i < call->n_arguments; i++)
    status = cq_options_set(r->options, "train", call->arguments[i], &error);
  return status ? cli_usage(call->path, "%s", error.message) : CLI_OK;
}

int cli_autoencode_begin(cli_autoencode_run *r, const cli_call *call) {
  const cli_autoencode_args *args = call->options;
  cq_error error = {0};
  *r = (cli_autoencode_run){.progress = cli_progress_start()};
  if (cq_options_new(&r->options, groups[args->recipe], &error)) return cli_fail_error(&error);
  int code = apply_recipe(r->options, call->values->options);
  if (code == CLI_OK) code = read_arguments(r, call);
  if (code) return code;
  r->o = cq_options_struct(r->options);
  r->o->progress = show_progress, r->o->progress_context = &r->progress;
  if (!cli_given(call, "together") && r->o->encoder_epochs + r->o->decoder_epochs > 0) r->o->together_epochs = 0;
  code = name_text_languages(r, r->o->train, r->o->n_train, call);
  if (code == CLI_OK) code = name_text_languages(r, r->o->dev, r->o->n_dev, call);
  if (code == CLI_OK) code = cli_open_context(&r->ctx, args->threads);
  if (code == CLI_OK) cli_stop_catch();
  if (code == CLI_OK) code = cli_ranks_open(&r->ranks);
  r->o->ranks = r->ranks;
  if (cq_ranks_rank(r->ranks) > 0) r->o->progress = show_nothing;
  return code;
}

int cli_autoencode_failed(cli_autoencode_run *r, const cli_call *call, cq_status status, const cq_error *error) {
  cli_progress_clear(&r->progress);
  if (!status) return CLI_OK;
  if (status == CQ_ERR_STOPPED && cq_ranks_rank(r->ranks) > 0) return CLI_FAILED;
  const int code = cli_fail_error(error);
  if (status != CQ_ERR_STOPPED) {
    cli_ranks_close(r->ranks, code);
    r->ranks = NULL;
  }
  if (status == CQ_ERR_STOPPED) cli_stop_tell_resume(call, r->o->resume, cq_ranks_count(r->ranks));
  return code;
}

void cli_autoencode_end(cli_autoencode_run *r) {
  cli_ranks_close(r->ranks, CLI_OK);
  cq_context_free(r->ctx);
  cq_options_free(r->options);
}
