# calque manual: every command has a man page with all its options, and bash, zsh and fish complete what the tables hold.
. "$(dirname "$0")/common.sh"

for format in man bash zsh fish; do
  expect 0 manual $format "$tmp/manual"
  stdout_is_empty
  stderr_is_empty
done
expect 0 manual bash
same stdout manual/calque
expect 0 manual man
stdout_has '.TH "CALQUE-MODEL-NEW"'

expect 2 manual
stderr_has "expected FORMAT"
expect 2 manual info
stderr_has "there is no format 'info', expected man, bash, zsh or fish"
expect 1 manual man "$tmp/no/such/directory"
stderr_has "cannot make the directory"
: >file
expect 1 manual man "$tmp/file"
stderr_has "file/calque.1"
# Two builds of one day's sources are alike.
SOURCE_DATE_EPOCH=86400 expect 0 manual man "$tmp/dated"
grep -q '^\.TH "CALQUE" "1" "1970-01-02" "calque [0-9.]*"' dated/calque.1 || fail "no date of SOURCE_DATE_EPOCH"

# All commands by their help, and what each offers: COMMAND <tab> word, a line each.
list_words() {
  local child children
  expect 0 "$@" --help
  children=$(sed -n '/^\(Commands\|Research methods (the lab)\):/,/^$/s/^  \([a-z-]*\) .*/\1/p' stdout)
  [ -n "$children" ] || sed -nE "/^Options:/,/^\$/s/^  (-., |    )--([a-z0-9-]+).*/calque $*	--\2/p" stdout >>words
  echo "calque $*" | sed 's/ $//' >>commands
  for child in $children; do
    echo "calque${*:+ $*}	$child" >>words
    list_words "$@" "$child"
  done
}
list_words
[ "$(wc -l <commands)" -gt 40 ] && [ "$(wc -l <words)" -gt 400 ] || fail "help lists too little"

# --- man ---
while read -r command; do
  page=manual/${command// /-}.1
  [ -s "$page" ] || { fail "no page $page"; continue; }
  sed 's/\\f[BIR]//g; s/\\-/-/g; s/\\&//g' "$page" >plain
  [ "$(tr -cd '(' <plain | wc -c)" = "$(tr -cd ')' <plain | wc -c)" ] || fail "a text of $page lost its end"
  for section in NAME SYNOPSIS DESCRIPTION "EXIT STATUS" ENVIRONMENT EXAMPLES "SEE ALSO"; do
    grep -qx "\.SH $section" plain || fail "$page has no section $section"
  done
  awk -F '\t' -v c="$command" '$1 == c { print $2 }' words | while read -r word; do
    case $word in
    --*) grep -qE -- "^(-., )?$word( |$)" plain || echo "$word" ;;
    *) grep -qxF ".BR ${command// /-}-$word (1)" plain || echo "$word" ;;
    esac
  done >lacking
  [ ! -s lacking ] || fail "$page lacks $(tr '\n' ' ' <lacking)"
done <commands
[ "$(ls manual/*.1 | wc -l)" -eq "$(wc -l <commands)" ] || fail "there are pages of no command"
tr '\n' ' ' <manual/calque-encode.1 | grep -q '1 to 1048576; default: 1024' || fail "no range and default in calque-encode.1"
tr '\n' ' ' <manual/calque-encode.1 | grep -q '(f32, int8, binary, ubinary; default: f32)' || fail "no choices in calque-encode.1"
for name in CALQUE_SIMD CALQUE_SAMPLE HF_HOME HF_HUB_CACHE XDG_CACHE_HOME TMPDIR; do
  grep -q "^\.B.*$name" manual/calque.1 || fail "calque.1 does not explain $name"
done
if command -v mandoc >/dev/null; then
  mandoc -T lint -W warning manual/*.1 >log 2>&1 || { cat log; fail "mandoc warns"; }
else
  echo "skipped: no mandoc"
fi
if command -v groff >/dev/null; then
  groff -man -Kutf8 -Tutf8 -ww -z manual/*.1 >log 2>&1
  [ ! -s log ] || { cat log; fail "groff warns"; }
else
  echo "skipped: no groff"
fi

# --- bash ---
cat >complete.bash <<'END'
# Reads lines as they stand before the cursor, words between '|', and prints what is offered.
source manual/calque
while IFS= read -r line; do
  IFS='|' read -ra COMP_WORDS <<<"$line"
  [[ $line != *'|' ]] || COMP_WORDS+=("")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
  _calque
  printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort | paste -sd ' '
done
END
offers() { # LINE EXPECTED
  last="completion of $1"
  local got
  got=$(bash complete.bash <<<"$1" 2>&1)
  [ "$got" = "$2" ] || fail "'$1' offers '$got', expected '$2'"
}
# Every command: all below it, or all its options.
while read -r command; do
  words_of=$(awk -F '\t' -v c="$command" '$1 == c { print $2 }' words | LC_ALL=C sort)
  case $words_of in
  --*) echo "${command// /|}|--" >>lines ;;
  *) echo "${command// /|}|" >>lines ;;
  esac
  paste -sd ' ' <<<"$words_of" >>wanted
done <commands
bash complete.bash <lines >got 2>&1
diff wanted got >log || { head -n 6 log; fail "bash does not complete the words of the commands"; }
touch corpus.tsv
mkdir corpora
offers 'calque|mo' 'model'
offers 'calque|model|new|--kind|' 'bilstm copy new-vocabulary reranker static transformer'
offers 'calque|model|new|-k|s' 'static'
offers 'calque|model|new|--kind|=|s' 'static'
offers 'calque|encode|--batch|' ''
offers 'calque|encode|corp' 'corpora corpus.tsv'
offers 'calque|encode|--model|corp' 'corpora'
offers 'calque|encode|--normalize|corp' 'corpora corpus.tsv'
offers 'calque|distill|--train|de|=|corpus' 'corpus.tsv'
offers 'calque|data|convert|--from|tm' 'tmx'
offers 'calque|manual|z' 'zsh'
offers 'calque|lexical|search|corpus' 'corpus.tsv'
offers 'calque|no-such|mod' 'model'

# --- zsh and fish, where they are ---
if command -v zsh >/dev/null; then
  zsh -n manual/_calque || fail "zsh does not take its completions"
else
  echo "skipped: no zsh"
fi
for file in _calque calque.fish; do
  for word in $(cut -f 2 words | sed 's/^--//' | sort -u); do
    grep -qE -- "(--| -l |'| -a )$word([]=:' ,}[]|\$)" "manual/$file" || fail "$file lacks $word"
  done
done
if command -v fish >/dev/null; then
  fish -n manual/calque.fish || fail "fish does not take its completions"
  got=$(fish --no-config -c 'source manual/calque.fish; complete -C "calque model new --kind s"; complete -C "calque lexical b"')
  [ "$(cut -f 1 <<<"$got" | paste -sd ' ')" = "static build" ] || fail "fish completes '$got'"
else
  echo "skipped: no fish"
fi
finish
