# Sourced by what measures one model in many languages. Wants `data`, `threads` and an array `languages` to be set.

# of_all SET COMMAND...: an "eval" command of all languages that have DATA/parallel/en-XX/test-SET.tsv.gz, as CSV; nothing when none has.
of_all() {
  local set=$1 language files=()
  shift
  for language in "${languages[@]}"; do
    [ ! -f "$data/parallel/en-$language/test-$set.tsv.gz" ] || files+=("$language=$data/parallel/en-$language/test-$set.tsv.gz")
  done
  [ ${#files[@]} -eq 0 ] || "$@" --quiet --threads "$threads" --csv "${files[@]}"
}
# percent_of LANGUAGE COLUMN FILE: of that CSV; "average" is a language, too.
percent_of() {
  awk -F , -v language="$1" -v column="$2" '$1 == language { printf "%.1f\n", 100 * $column; found = 1 } END { if (!found) print "—" }' "$3"
}
