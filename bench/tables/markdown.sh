# Sourced by what prints tables in Markdown.

# heading COLUMN...: the first is of the rows' names.
heading() {
  printf '|'; printf ' %s |' "$@"; echo
  printf '|---|'; shift; printf '%.0s---:|' "$@"; echo
}
# row NAME CELL...
row() { printf '|'; printf ' %s |' "$@"; echo; }
