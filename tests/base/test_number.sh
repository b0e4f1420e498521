# Files know no countries: what prints or reads a number with a point goes through base/number.h. The program never takes
# a locale, so that its own messages may use stdio.
source "$(dirname "$0")/../cli/common.sh" "$@"
grep -rnE '(^|[^_[:alnum:]])(s?n?printf|fprintf|dprintf)\(.*%[-+ #0-9.*]*l?[aefgAEFG]|(^|[^_[:alnum:]])(strto[dfl]d?|atof|setlocale)\(' \
  "$SOURCE/src" --include='*.c' --include='*.cc' --include='*.h' | grep -vE '/src/(cli|lab/cli)/|/src/base/number.c:|strtol\(' >found
[ -s found ] && { cat found; fail "numbers that follow the locale"; }
grep -rn 'setlocale(' "$SOURCE/src/cli" "$SOURCE/src/lab/cli" >found && fail "the program takes a locale"
finish
