#!/usr/bin/env bash
# Chintha & Gundeti, table 1: the mean cosine of held-out pairs, a column a language, and beside it that of strangers (each
# sentence with the next one's translation), without which the mean says little. The paper's row is of 2,000 held-out pairs of TED
# talks and of another teacher, bert-base-nli-stsb: it does not compare with ours.
#
#   bench/tables/held_out.sh PROGRAM DATA TEACHER WORK [MODEL...]      more models, for rows of their own
. "$(dirname "$0")/common.sh"

languages=(ar de es fr hi ru zh)
mean_cosine() { "$program" similarity --model "$1" --threads "$threads" --tsv - | awk '{ sum += $1 } END { printf "%.3f\n", sum / NR }'; }
heading "held-out news (ntrex): translations / strangers" "${languages[@]}"
of_model() { # NAME MODEL
  is_there "$2" || { row "$1" "not run here" — — — — — —; return; }
  local cells=() pairs of_pairs of_strangers
  for language in "${languages[@]}"; do
    pairs=$(gzip -dc "$data/parallel/en-$language/test-ntrex.tsv.gz" | cut -f 1,2)
    of_pairs=$(mean_cosine "$2" <<<"$pairs")
    of_strangers=$(paste <(cut -f 1 <<<"$pairs") <(cut -f 2 <<<"$pairs" | tail -n +2) | head -n -1 | mean_cosine "$2")
    cells+=("$of_pairs / $of_strangers")
  done
  row "$1" "${cells[@]}"
}
row "*of the paper, translations:* students of bert-base-nli-stsb" — 0.914 — 0.919 — 0.876 —
of_model "*ours:* the teacher alone" "$teacher"
of_model "seven languages, 50,000 pairs each, drawn alike" "$work/langs-50k"
of_model "seven languages, all pairs" "$work/langs-all"
for model in "${@:5}"; do of_model "$(basename "$model")" "$model"; done
