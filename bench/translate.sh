#!/usr/bin/env bash
# Makes the figures of docs/lab/autoencoders.md again: trains, then BLEU both ways on held-out text, and of each language
# written from itself.
#
#   bench/translate.sh PROGRAM DATA WORK RUN...
#
#   DATA  holds parallel/{fr-it,en-fr,en-it,en-de}/*.tsv.gz
#   WORK  keeps text, models and checkpoints; called again, the script continues where it stopped
#   RUN   PAIR-KIND, PAIR fr-it or en-de (multi30k), KIND one of
#           own        decoders learn from their own language's vectors alone
#           more       the same, and text of one language besides (fr-it)
#           fetched    own, with ten times the pairs: text of free software (TEXT, a folder that scripts/fetch-text made), what
#                      French and Italian have of the same English
#           sentences  own, with those of fetched that are sentences in words
#           hub        more, with English as a third language and the pairs that it has with both (fr-it)
#           other      from the other language's, without losses between languages: a supervised encoder-decoder, the bound
#           both       from both in turn
#           described  the system as described, everything at once, 16 numbers
#   EPOCHS, THREADS, OPTIONS in the environment change the runs
set -euo pipefail
[ $# -ge 4 ] || { sed -n '2,19s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$1 data=$2/parallel work=$3
shift 3
threads=${THREADS:-2}
mkdir -p "$work"

# French-Italian: all of its training files, and en-fr joined with en-it where the English is the same. 500 tatoeba pairs whose
# sentences stand nowhere else are dev: there is no dev set of that kind.
fr_it_text() {
  local from=$data/fr-it
  [ -s "$work/fr-it.tsv" ] && return
  english() { # of one folder, without captions and health
    local file
    for file in "$data/$1"/train-*.tsv.gz; do
      case $file in *multi30k* | *stsb* | *tico*) ;; *) gzip -dc "$file" | cut -f 1,2 ;; esac
    done
  }
  english en-fr >"$work/from-en.fr.tsv"
  english en-it >"$work/from-en.it.tsv"
  "$program" data pivot "$work/from-en.fr.tsv" "$work/from-en.it.tsv" | LC_ALL=C sort -u >"$work/pivoted.tsv"
  gzip -dc "$from"/train-{tatoeba,partut,tldr,stsb-mt,news}.tsv.gz | cut -f 1,2 | LC_ALL=C sort -u - "$work/pivoted.tsv" >"$work/all.tsv"
  awk -F '\t' 'NR == FNR { a[$1]++; b[$2]++; next } a[$1] == 1 && b[$2] == 1 && ++n % 15 == 0 && ++m <= 500' \
    "$work/all.tsv" <(gzip -dc "$from/train-tatoeba.tsv.gz" | cut -f 1,2) >"$work/fr-it.dev.tsv"
  gzip -dc "$from"/test-*.tsv.gz | cat - "$work/fr-it.dev.tsv" | cut -f 1,2 >"$work/held-out.tsv"
  gzip -dc "$data"/en-fr/train-{anki,tatoeba}.tsv.gz | cut -f 2 | LC_ALL=C sort -u | awk 'NR % 2' | unseen 1 1 >"$work/fr.txt"
  gzip -dc "$data"/en-it/train-{tatoeba,tldr,stsb-mt}.tsv.gz | cut -f 2 | LC_ALL=C sort -u | unseen 1 1 >"$work/it.txt"
  gzip -dc "$data"/en-fr/train-{anki,tatoeba}.tsv.gz | cut -f 1,2 | LC_ALL=C sort -u | unseen 2 2 >"$work/en-fr.tsv"
  gzip -dc "$data"/en-it/train-{tatoeba,tldr}.tsv.gz | cut -f 1,2 | LC_ALL=C sort -u | unseen 2 2 >"$work/en-it.tsv"
  unseen 1 2 <"$work/all.tsv" >"$work/fr-it.tmp"
  mv "$work/fr-it.tmp" "$work/fr-it.tsv" # the last: with it all is there
}

# What two languages have of the same English, in the folder's text of each kind.
fetched_text() {
  local l
  [ -s "$work/fr-it.fetched.tsv" ] && return
  for l in fr it; do
    gzip -dc "${TEXT:?a folder that scripts/fetch-text made}"/text/*/en-$l.tsv.gz | cut -f 1,2 | LC_ALL=C sort -u >"$work/fetched.$l.tsv"
  done
  "$program" data pivot "$work/fetched.fr.tsv" "$work/fetched.it.tsv" | cat "$work/fr-it.tsv" - | LC_ALL=C sort -u |
    unseen 1 2 >"$work/fetched.tmp"
  mv "$work/fetched.tmp" "$work/fr-it.fetched.tsv"
}

# Lines none of whose columns A to B is a held-out sentence, in any case and punctuation.
unseen() {
  awk -F '\t' -v a="$1" -v b="$2" '
    function plain(s) { gsub(/[[:punct:]]|[ \302\240]+/, "", s); return tolower(s) }
    NR == FNR { held[plain($1)]; held[plain($2)]; next }
    { for (i = a; i <= b; i++) if (plain($i) in held) next; print }' "$work/held-out.tsv" -
}

# bleu FROM TO FILE BEAM: of the model's translations of the file's column of FROM, which may be TO itself: how well it says again
# what it has read.
bleu() {
  local from=1 to=1
  [ "$1" = "$a" ] || from=2
  [ "$2" = "$a" ] || to=2
  gzip -dc "$3" | cut -f "$to" >"$work/reference"
  "$program" autoencode translate --model "$model" --from "$1" --to "$2" --tsv "$from" --beam "$4" --threads "$threads" "$3" \
    >"$work/hypothesis"
  "$program" eval mt "$work/hypothesis" "$work/reference" --measure bleu --csv | awk -F , 'NR == 2 { printf "%.2f", $2 }'
}

for run in "$@"; do
  pair=${run%-*} kind=${run##*-} a=${run%%-*}
  b=${pair#*-} model=$work/$run
  options=(--vocab-size 6000 --together "${EPOCHS:-12}")
  limits=(--max-tokens 50 --max-characters 150)
  if [ "$pair" = fr-it ]; then
    fr_it_text
    limits=(--max-tokens 40 --max-characters 80) # the test's sentences are short
    text=(fr,it="$work/fr-it.tsv") dev=$work/fr-it.dev.tsv tests=("$data"/fr-it/test-{tatoeba,flores}.tsv.gz)
  else
    text=(en,de="$data/en-de/train-multi30k.tsv.gz") dev=$data/en-de/dev-multi30k.tsv.gz
    tests=("$data/en-de/test-multi30k2016.tsv.gz")
  fi
  case $kind in
  own) ;;
  more) text+=(fr="$work/fr.txt" it="$work/it.txt") ;;
  fetched)
    fetched_text # not before &&, where a failure would pass
    text=(fr,it="$work/fr-it.fetched.tsv")
    ;;
  sentences)
    fetched_text
    awk -F '\t' '$1 ~ /[.!?]$/ && $2 ~ /[.!?]$/ && $0 !~ /[%{}<>=\/_$|#*\\:;()\[\]«»"&@0-9]/ && length($1) >= 12' \
      "$work/fr-it.fetched.tsv" | cat "$work/fr-it.tsv" - >"$work/fr-it.sentences.tsv"
    text=(fr,it="$work/fr-it.sentences.tsv")
    ;;
  hub) text+=(en,fr="$work/en-fr.tsv" en,it="$work/en-it.tsv") ;;
  other) options+=(--feed other --alpha 0 --distance 0 --noise 0) ;;
  both) options+=(--feed both) ;;
  described) options=(--recipe as-described --together "${EPOCHS:-12}") ;;
  *) echo "unknown run $run" >&2; exit 2 ;;
  esac
  read -r -a more <<<"${OPTIONS:-}"
  [ -d "$model" ] || "$program" autoencode train "$model" "${text[@]}" --dev "$a,$b=$dev" "${options[@]}" "${limits[@]}" "${more[@]}" --resume \
    --threads "$threads" >&2
  for test in "${tests[@]}"; do
    name=$(basename "$test" .tsv.gz)
    for beam in 1 5; do
      echo "| $run | ${name#test-} | beam $beam | $a-$b $(bleu "$a" "$b" "$test" $beam) | $b-$a $(bleu "$b" "$a" "$test" $beam) |" \
        "$a-$a $(bleu "$a" "$a" "$test" $beam) | $b-$b $(bleu "$b" "$b" "$test" $beam) |"
    done
  done
done
