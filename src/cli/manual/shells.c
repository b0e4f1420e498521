/* Completions for bash, zsh and fish. Each script finds the command named by the words before the cursor, then
 * completes its options, their values, the commands below it, and files. */
#include "cli/manual/manual.h"

#include <stdlib.h>
#include <string.h>

/* Completions after an option. */
enum value_kind { NO_VALUE, ANY_VALUE, CHOICES, LISTED, DIRECTORIES, FILES };

static enum value_kind kind_of(const cli_command *command, const cq_option *row) {
  static const char *const files[] = {"FILE", "TSV", "GOLD", "PATTERN", "PREFIX"};
  if (row->type == CQ_OPTION_FLAG) return NO_VALUE;
  if (cli_option_choices(row)) return CHOICES;
  if (cli_is_listed(command, row->argument)) return LISTED;
  if (row->type < CQ_OPTION_TEXT) return ANY_VALUE;
  if (!strcmp(row->argument, "DIR") || !strcmp(row->argument, "MODEL")) return DIRECTORIES;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    if (strstr(row->argument, files[i])) return FILES;
  return ANY_VALUE;
}

/* The words that are possible here: an option's choices or the command's list; row NULL: the command's arguments. */
static void write_values(FILE *out, const cli_command *command, const cq_option *row) {
  const char *const *choices = row ? cli_option_choices(row) : NULL;
  cli_list_item item;
  for (size_t i = 0; choices && choices[i]; i++) fprintf(out, "%s%s", i ? " " : "", choices[i]);
  for (size_t i = 0; !choices && command->list(&item, i); i++) fprintf(out, "%s%s", i ? " " : "", item.name);
}

/* Text within single quotes: escapes what would end them, and characters with a meaning in the shell's completion. */
static void write_quoted(FILE *out, const char *text, const char *special) {
  for (; *text; text++)
    if (*text == '\'')
      fputs("'\\''", out);
    else
      fprintf(out, strchr(special, *text) ? "\\%c" : "%c", *text);
}

/* "calque model"|"calque model new"|...: all commands below the program, as the alternatives of a case. */
static int write_pattern(FILE *out, const cli_page *page) {
  if (page->parent)
    fprintf(out, "%s\"%s\"", page->command == page->parent->command->children[0] && !page->parent->parent ? "" : " | ",
            page->path);
  return CLI_OK;
}

static int write_pages(FILE *out, const cli_command *program, cli_visit visit) {
  return cli_visit_pages(out, program, program->name, NULL, visit);
}

/* --- bash --- */

static void write_bash_options(FILE *out, const cli_page *page) {
  const cq_option *row;
  fputs("    words='--help --quiet", out);
  for (size_t i = 0; (row = cli_page_option(page, i)); i++) fprintf(out, " --%s", row->name);
  fputs("'\n    case $option in\n", out);
  for (size_t i = 0; (row = cli_page_option(page, i)); i++) {
    static const char *const kinds[] = {[ANY_VALUE] = "none",
                                        [CHOICES] = "words",
                                        [LISTED] = "words",
                                        [DIRECTORIES] = "directories",
                                        [FILES] = "files"};
    const enum value_kind kind = kind_of(page->command, row);
    if (kind == NO_VALUE) continue;
    fprintf(out, "    --%s", row->name);
    if (row->letter) fprintf(out, " | -%c", row->letter);
    fprintf(out, ") kind=%s", kinds[kind]);
    if (kind == CHOICES || kind == LISTED) {
      fputs(" value='", out);
      write_values(out, page->command, row);
      fputs("'", out);
    }
    fputs(" ;;\n", out);
  }
  fputs("    esac\n", out);
}

static int write_bash_page(FILE *out, const cli_page *page) {
  const cli_command *command = page->command;
  fprintf(out, "  \"%s\")\n", page->path);
  if (command->children) {
    fputs("    words='--help' arguments='", out);
    for (size_t i = 0; command->children[i]; i++) fprintf(out, "%s%s", i ? " " : "", command->children[i]->name);
    fputs("' kind_of_arguments=words\n", out);
  } else {
    write_bash_options(out, page);
    if (cli_is_listed(command, command->arguments)) {
      fputs("    arguments='", out);
      write_values(out, command, NULL);
      fputs("'\n", out);
    }
  }
  fputs("    ;;\n", out);
  return CLI_OK;
}

int cli_bash_completion(FILE *out, const cli_command *program) {
  fputs("# bash completion for calque, written by 'calque manual bash'\n"
        "_calque() {\n"
        "  local -a line=()\n"
        "  local i word current at=calque kind_of_arguments=files\n"
        "  local last='' option='' value='' kind='' words='' arguments=''\n"
        "  # Readline breaks words at '='; here --name=value and LABEL=FILE are one.\n"
        "  for ((i = 0; i <= COMP_CWORD; i++)); do\n"
        "    word=${COMP_WORDS[i]}\n"
        "    if [[ $word == = || $last == = ]] && ((${#line[@]} > 1)); then\n"
        "      line[${#line[@]} - 1]+=$word\n"
        "    else\n"
        "      line+=(\"$word\")\n"
        "    fi\n"
        "    last=$word\n"
        "  done\n"
        "  local -i n=${#line[@]}-1\n"
        "  current=${line[n]}\n"
        "  for ((i = 1; i < n; i++)); do\n"
        "    case \"$at ${line[i]}\" in\n"
        "    ",
        out);
  int code = write_pages(out, program, write_pattern);
  fputs(") at+=\" ${line[i]}\" ;;\n"
        "    *) break ;;\n"
        "    esac\n"
        "  done\n"
        "  if [[ $current == --*=* ]]; then\n"
        "    option=${current%%=*} current=${current#*=}\n"
        "  elif ((n > 1)) && [[ ${line[n - 1]} == -* ]]; then\n"
        "    option=${line[n - 1]}\n"
        "  fi\n"
        "  case $at in\n",
        out);
  if (code == CLI_OK) code = write_pages(out, program, write_bash_page);
  fputs("  esac\n"
        "  if [[ ! $kind ]]; then\n"
        "    kind=words value=$words\n"
        "    [[ $current == -* ]] || kind=$kind_of_arguments value=$arguments\n"
        "  fi\n"
        "  [[ $COMP_WORDBREAKS != *=* ]] || current=${current##*=}\n"
        "  COMPREPLY=()\n"
        "  case $kind in\n"
        "  words) mapfile -t COMPREPLY < <(compgen -W \"$value\" -- \"$current\") ;;\n"
        "  files | directories)\n"
        "    compopt -o filenames 2>/dev/null\n"
        "    if [[ $kind == files ]]; then\n"
        "      mapfile -t COMPREPLY < <(compgen -W \"$value\" -- \"$current\"; compgen -f -- \"$current\")\n"
        "    else\n"
        "      mapfile -t COMPREPLY < <(compgen -d -- \"$current\")\n"
        "    fi ;;\n"
        "  esac\n"
        "}\n"
        "complete -F _calque calque\n",
        out);
  return code;
}

/* --- zsh --- */

static void write_option_text(FILE *out, const cli_page *page, const cq_option *row, const char *special) {
  char *text = cli_option_text(row, page->values.options, false);
  write_quoted(out, text ? text : row->help, special);
  free(text);
}

static void write_zsh_option(FILE *out, const cli_page *page, const cq_option *row) {
  const cli_command *command = page->command;
  const bool again = cq_option_is_several(row);
  const enum value_kind kind = kind_of(command, row);
  const char *const exclusion = again ? "'*'" : "";
  fputs("      ", out);
  if (row->letter && !again) fprintf(out, "'(-%c --%s)'", row->letter, row->name);
  if (row->letter)
    fprintf(out, "%s{-%c%s,--%s%s}", exclusion, row->letter, kind == NO_VALUE ? "" : "+", row->name,
            kind == NO_VALUE ? "" : "=");
  else
    fprintf(out, "%s--%s%s", exclusion, row->name, kind == NO_VALUE ? "" : "=");
  fputs("'[", out);
  write_option_text(out, page, row, "[]\\");
  fputs("]", out);
  if (kind != NO_VALUE) {
    fputs(":", out);
    write_quoted(out, row->argument, ":\\");
    if (kind == FILES && strchr(row->argument, '='))
      fputs(":{compset -P \"*=\"; _files}", out); /* [LABEL=]FILE */
    else
      fputs(kind == FILES ? ":_files" : kind == DIRECTORIES ? ":_directories" : ":", out);
    if (kind == CHOICES || kind == LISTED) {
      fputs("(", out);
      write_values(out, command, row);
      fputs(")", out);
    }
  }
  fputs("' \\\n", out);
}

static int write_zsh_page(FILE *out, const cli_page *page) {
  const cli_command *command = page->command;
  const cq_option *row;
  fprintf(out, "  (\"%s\")\n", page->path);
  if (command->children) {
    fputs("    commands=(\n", out);
    for (size_t i = 0; command->children[i]; i++) {
      fprintf(out, "      '%s:", command->children[i]->name);
      write_quoted(out, command->children[i]->summary, "\\");
      fputs("'\n", out);
    }
    fputs("    )\n    _describe command commands ;;\n", out);
    return CLI_OK;
  }
  fputs("    _arguments -S \\\n", out);
  for (size_t i = 0; (row = cli_page_option(page, i)); i++) write_zsh_option(out, page, row);
  fputs("      '--quiet[print nothing but errors]' \\\n      '(-h --help)'{-h,--help}'[show help]'", out);
  if (cli_is_listed(command, command->arguments)) {
    fputs(" \\\n      '1: :(", out);
    write_values(out, command, NULL);
    fputs(")'", out);
  }
  fputs(command->arguments ? " \\\n      '*:argument:_files' ;;\n" : " ;;\n", out);
  return CLI_OK;
}

int cli_zsh_completion(FILE *out, const cli_command *program) {
  fputs("#compdef calque\n"
        "# zsh completion for calque, written by 'calque manual zsh'\n"
        "_calque() {\n"
        "  local at=calque\n"
        "  local -a commands\n"
        "  while ((CURRENT > 2)); do\n"
        "    case \"$at ${words[2]}\" in\n"
        "    (",
        out);
  int code = write_pages(out, program, write_pattern);
  fputs(") at+=\" ${words[2]}\"; shift words; ((CURRENT--)) ;;\n"
        "    (*) break ;;\n"
        "    esac\n"
        "  done\n"
        "  case $at in\n",
        out);
  if (code == CLI_OK) code = write_pages(out, program, write_zsh_page);
  fputs("  esac\n"
        "}\n"
        "if [[ $funcstack[1] == _calque ]]; then _calque \"$@\"; else compdef _calque calque; fi\n",
        out);
  return code;
}

/* --- fish --- */

static int write_fish_path(FILE *out, const cli_page *page) {
  if (page->parent) fprintf(out, " \"%s\"", page->path);
  return CLI_OK;
}

static int write_fish_page(FILE *out, const cli_page *page) {
  const cli_command *command = page->command;
  const cq_option *row;
  for (size_t i = 0; command->children && command->children[i]; i++) {
    fprintf(out, "complete -c calque -n '__calque_at \"%s\"' -a %s -d '", page->path, command->children[i]->name);
    write_quoted(out, command->children[i]->summary, "");
    fputs("'\n", out);
  }
  for (size_t i = 0; (row = cli_page_option(page, i)); i++) {
    const enum value_kind kind = kind_of(command, row);
    fprintf(out, "complete -c calque -n '__calque_at \"%s\"' -l %s", page->path, row->name);
    if (row->letter) fprintf(out, " -s %c", row->letter);
    if (kind == FILES || kind == DIRECTORIES) fputs(" -r -F", out);
    if (kind == ANY_VALUE || kind == CHOICES || kind == LISTED) fputs(" -x", out);
    if (kind == CHOICES || kind == LISTED) {
      fputs(" -a '", out);
      write_values(out, command, row);
      fputs("'", out);
    }
    fputs(" -d '", out);
    write_option_text(out, page, row, "");
    fputs("'\n", out);
  }
  if (cli_is_listed(command, command->arguments)) {
    fprintf(out, "complete -c calque -n '__calque_at \"%s\"' -a '", page->path);
    write_values(out, command, NULL);
    fputs("'\n", out);
  }
  if (command->arguments) fprintf(out, "complete -c calque -n '__calque_at \"%s\"' -F\n", page->path);
  return CLI_OK;
}

int cli_fish_completion(FILE *out, const cli_command *program) {
  fputs("# fish completion for calque, written by 'calque manual fish'\n"
        "function __calque_at\n"
        "    set -l at calque\n"
        "    for word in (commandline -opc)[2..]\n"
        "        contains -- \"$at $word\"",
        out);
  int code = write_pages(out, program, write_fish_path);
  fputs("\n        or break\n"
        "        set at \"$at $word\"\n"
        "    end\n"
        "    test \"$at\" = \"$argv\"\n"
        "end\n"
        "complete -c calque -f\n"
        "complete -c calque -s h -l help -d 'show help'\n"
        "complete -c calque -l quiet -d 'print nothing but errors'\n",
        out);
  return code == CLI_OK ? write_pages(out, program, write_fish_page) : code;
}
