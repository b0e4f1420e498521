#!/usr/bin/env bash
# A student of an English teacher for one or more languages, made step by step: docs/results.md, "How it is measured".
#
#   bench/results.sh PROGRAM DATA TEACHER WORK LANGUAGE...
#
#   DATA     holds parallel/en-XX/{train-*,dev-ntrex,test-*}.tsv.gz and sts/*.tsv[.gz]
#   WORK     keeps the student, the run and its checkpoints; called again, the script continues where it stopped
#   STEPS, BATCH, LR, EMBEDDING_LR, VOCAB, THREADS in the environment change the run
set -euo pipefail
[ $# -ge 5 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$1 data=$2 teacher=$3 work=$4
shift 4
languages=("$@")
name=$(IFS=-; echo "${languages[*]}")
threads=${THREADS:-2}
mkdir -p "$work"

texts=() train=() dev=()
for language in "${languages[@]}"; do
  folder=$data/parallel/en-$language
  for file in "$folder"/train-*.tsv.gz; do
    texts+=(--text "$file")
    # Small files come more often than their size says, but less often than large ones: by the root of their rows.
    rows=$(gzip -dc "$file" | wc -l)
    train+=(--train "$file:$(awk -v n="$rows" 'BEGIN { printf "%.1f", sqrt(n) }')")
  done
  dev+=(--dev "$folder/dev-ntrex.tsv.gz")
done

student=$work/student-$name model=$work/model-$name
[ -d "$student" ] || "$program" model new "$student" --from "$teacher" --carry-over align --vocab-size "${VOCAB:-32000}" \
  "${texts[@]}" >&2
[ -d "$model" ] || "$program" distill --teacher "$teacher" --student "$student" "${train[@]}" "${dev[@]}" \
  --output "$model" --cache "$work/cache" --resume --steps "${STEPS:-2000}" --batch "${BATCH:-64}" --lr "${LR:-3e-4}" \
  --embedding-lr "${EMBEDDING_LR:-1e-3}" --eps 1e-9 --dropout 0 --warmup 100 --evaluate-every 500 --checkpoint-every 100 \
  --threads "$threads" >&2

parallel=() sts=()
for language in "${languages[@]}"; do
  for set in tatoeba flores ntrex; do
    file=$data/parallel/en-$language/test-$set.tsv.gz
    [ ! -f "$file" ] || parallel+=("en-$language/$set=$file")
  done
  for file in "$data/sts/stsb-$language-test.tsv.gz" "$data/sts/sts17-$language-$language.tsv" \
    "$data/sts/sts17-$language-en.tsv" "$data/sts/sts17-$language-en-hard.tsv"; do
    [ ! -f "$file" ] || sts+=("$(basename "$file" | sed 's/\.tsv.*//')=$file")
  done
done
sts+=("stsb-en-test=$data/sts/stsb-en-test.tsv.gz" "sts17-en-en=$data/sts/sts17-en-en.tsv")

measure() { # what MODEL
  echo "## $1"
  "$program" eval translation --model "$2" --threads "$threads" "${parallel[@]}"
  "$program" eval mse --model "$2" --teacher "$teacher" --threads "$threads" "${parallel[@]}"
  "$program" eval sts --model "$2" --threads "$threads" "${sts[@]}"
}
echo "## teacher"
"$program" eval sts --model "$teacher" --threads "$threads" "${sts[@]}"
measure "student before training" "$student"
measure "student after training" "$model"
