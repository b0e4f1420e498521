# Sourced by the tables. Arguments of each: PROGRAM DATA TEACHER WORK, where WORK holds what runs.sh made; Markdown goes to
# standard output. Rows of the papers stand beside ours; a model that is not there is "not run here".
set -euo pipefail
shopt -s inherit_errexit
[ $# -ge 4 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | grep -v '^set' >&2; exit 2; }
program=$1 data=$2 teacher=$3 work=$4
threads=${THREADS:-2}

. "$(dirname "${BASH_SOURCE[0]}")/markdown.sh"

# average CELL...: the cells, and their mean when all are numbers.
with_average() {
  printf '%s\n' "$@"
  printf '%s\n' "$@" | awk '$1 !~ /^-?[0-9.]+$/ { no = 1 } { sum += $1 } END { if (no) print "—"; else printf "%.1f\n", sum / NR }'
}

# column NAME FORMAT FACTOR COMMAND...: of an "eval" command's table, the column of that name times a factor, a line a file.
column() {
  local name=$1 format=$2 factor=$3 table
  shift 3
  table=$("$@") || exit 1
  awk -F , -v name="$name" -v format="$format\n" -v factor="$factor" '
    NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; if (!c) { print "no column " name >"/dev/stderr"; exit 1 } next }
    $1 != "average" { printf format, factor * $c }' <<<"$table"
}

# sts MODEL FILE...: Spearman x 100 of each; "—" for files that are not there.
sts() {
  local model=$1 file there=()
  shift
  for file in "$@"; do [ ! -f "$file" ] || there+=("$file"); done
  local figures=() found= i=0
  [ ${#there[@]} -eq 0 ] || found=$(column spearman %.1f 100 "$program" eval sts --model "$model" --threads "$threads" --csv "${there[@]}")
  mapfile -t figures <<<"$found"
  for file in "$@"; do
    if [ -f "$file" ]; then echo "${figures[i++]}"; else echo "—"; fi
  done
}

# is_there MODEL: a directory, or a name in the local Hugging Face cache.
is_there() { [ -d "$1" ] || "$program" model info "$1" >/dev/null 2>&1; }

# sts_row NAME MODEL FILE...: a row of them and their average.
sts_row() {
  local name=$1 model=$2 found
  shift 2
  local -a cells
  if ! is_there "$model"; then
    row "$name" "not run here" $(printf '—%.0s ' "$@")
    return
  fi
  found=$(sts "$model" "$@")
  mapfile -t cells <<<"$found"
  mapfile -t cells < <(with_average "${cells[@]}")
  row "$name" "${cells[@]}"
}

# The systems of tables 1 to 3 that runs.sh makes, or that a user has in the local Hugging Face cache (MBERT and XLM_R name
# others): calls $1 NAME MODEL ARGUMENT... for each.
each_system() {
  local call=$1
  shift
  "$call" "*ours:* the teacher alone" "$teacher" "$@"
  "$call" "a transformer that has learned nothing, mean" "$work/student-of-student-transformer" "$@"
  "$call" "the teacher after stsb-en, by its scores" "$work/teacher-stsb" "$@"
  "$call" "the teacher's body, seven languages ← teacher" "$work/langs-all" "$@"
  "$call" "the same, 50,000 pairs a language, drawn alike" "$work/langs-50k" "$@"
  "$call" "mBERT, mean" "${MBERT:-bert-base-multilingual-cased}" "$@"
  "$call" "XLM-R, mean" "${XLM_R:-xlm-roberta-base}" "$@"
  "$call" "mBERT-nli-stsb" "$work/mbert-nli-stsb" "$@"
  "$call" "XLM-R-nli-stsb" "$work/xlm-r-nli-stsb" "$@"
  "$call" "LaBSE" sentence-transformers/LaBSE "$@"
  "$call" "mBERT, seven languages ← teacher" "$work/mbert-langs" "$@"
  "$call" "XLM-R, seven languages ← teacher" "$work/xlm-r-langs" "$@"
}

# crossed_sts LANGUAGE: a file of the STS benchmark's test pairs, English on the left and LANGUAGE on the right; it is not
# there when LANGUAGE's are not.
crossed_sts() {
  local out=$work/text/stsb-en-$1.tsv
  mkdir -p "$work/text"
  if [ ! -s "$out" ] && [ -f "$data/sts/stsb-$1-test.tsv.gz" ]; then
    paste <(gzip -dc "$data/sts/stsb-en-test.tsv.gz") <(gzip -dc "$data/sts/stsb-$1-test.tsv.gz") |
      awk -F '\t' -v OFS='\t' '{ print $1, $5, $3 }' >"$out.tmp"
    mv "$out.tmp" "$out"
  fi
  echo "$out"
}

# translation MODEL FILE...: accuracy x 100, the mean of both directions, of each.
translation() {
  local model=$1
  shift
  column mean %.1f 100 "$program" eval translation --model "$model" --threads "$threads" --csv "$@"
}

# mse MODEL FILE...: of translations to the teacher's vectors of the sources, x 100.
mse() {
  local model=$1
  shift
  column target_mse %.3f 1 "$program" eval mse --model "$model" --teacher "$teacher" --threads "$threads" --csv "$@"
}

# compare NAME MODEL PAIRS [CELL...]: how well English-German is known: accuracy, MSE, STS and its share of what size-all
# reaches, then cells of the caller's.
compare_heading() { heading "$1" pairs tatoeba flores ntrex "MSE of ntrex" "STS-B de" "STS-B en-de" "share of all %" "${@:2}"; }
compare() {
  local name=$1 model=$2 pairs=$3 more=("${@:4}") all=— error_here accuracies similar share
  local test=("$data"/parallel/en-de/test-{tatoeba,flores,ntrex}.tsv.gz)
  if ! is_there "$model"; then
    row "$name" "$pairs" "not run here" — — — — — — "${more[@]}"
    return
  fi
  [ ! -d "$work/size-all" ] || all=${sts_of_all:=$(sts "$work/size-all" "$(crossed_sts de)")} # once for all rows
  accuracies=$(translation "$model" "${test[@]}")
  error_here=$(mse "$model" "${test[2]}")
  similar=$(sts "$model" "$data/sts/stsb-de-test.tsv.gz" "$(crossed_sts de)")
  share=$(awk -v a="${similar##*$'\n'}" -v b="$all" 'BEGIN { if (b + 0 > 0) printf "%.0f", 100 * a / b; else print "—" }')
  local -a cells
  mapfile -t cells <<<"$accuracies"$'\n'"$error_here"$'\n'"$similar"$'\n'"$share"
  row "$name" "$pairs" "${cells[@]}" "${more[@]}"
}
rows_of() { if [ -f "$work/text/$1.tsv" ]; then wc -l <"$work/text/$1.tsv"; else echo —; fi; }
