#!/bin/bash
# Our recipe beside sentence-transformers': from the same student directory, on the same batches, for as many steps.
#   bench/recipe.sh CALQUE VENV DATA WORK
# A student under a new vocabulary (calque model new) is trained from English-German text three ways: by `calque distill` with
# what `calque extend` uses (rates, contrastive loss, hard negatives, a quarter of the sources, piece dropout); by
# sentence-transformers' SentenceTransformerTrainer with MSELoss; and by `calque distill` with the squared distance alone and the
# trainer's settings. Each seed draws text of its own, in an order of its own, which all three take as it stands. The trainer runs
# at each of PEER_RATES; the rate of the best translation accuracy on dev-ntrex, over all seeds, is the one that counts. Printed,
# as Markdown: accuracy (percent, mean of both directions) on test-tatoeba, -ntrex and -flores and Spearman's correlation (x 100)
# on stsb-de-test, then ours less theirs. The exit code is 4 where a mean over seeds of the recipe is lower than theirs.
# In the environment may stand STEPS (1000), BATCH (64), WARMUP (100), SEEDS ("1 2 3"), PEER_RATES ("2e-5 1e-4 3e-4"), VOCAB (32000),
# THREADS (2), CHARACTERS (200: longest sentence), TEACHER (all-MiniLM-L6-v2). WORK keeps models; what is there is not made again.
set -euo pipefail
shopt -s inherit_errexit
[ $# -eq 4 ] || { sed -n '2,14s/^# \{0,1\}//p' "$0" >&2; exit 2; }
calque=$1 venv=$2 data=$3 work=$4
here=$(cd "$(dirname "$0")" && pwd)
packaged=$("$here/peers/setup.sh" "$venv")
"$venv/bin/python" -c 'import datasets, accelerate' 2>/dev/null ||
  "$venv/bin/pip" install --quiet -r "$here/peers/requirements-recipe.txt" >&2
teacher=${TEACHER:-$packaged} student=$work/student
batch=${BATCH:-64} steps=${STEPS:-1000} threads=${THREADS:-2}
seeds=${SEEDS:-1 2 3} rates=${PEER_RATES:-2e-5 1e-4 3e-4}
mkdir -p "$work"
. "$here/tables/markdown.sh"

pairs=$work/pairs.tsv
if [ ! -s "$pairs" ]; then
  "$venv/bin/python" "$here/peers/texts.py" train "$data" "$pairs.tmp" 100000000 "${CHARACTERS:-200}"
  mv "$pairs.tmp" "$pairs"
fi
drawn() { # SEED: the file of that seed's pairs, in order
  local out=$work/train-$1.tsv
  if [ ! -s "$out" ]; then
    awk -v seed="$1" 'BEGIN { srand(seed) } { printf "%.9f\t%s\n", rand(), $0 }' "$pairs" | LC_ALL=C sort | cut -f 2- >"$out.all"
    [ "$(wc -l <"$out.all")" -ge $((steps * batch)) ] || { echo "too few pairs for $steps steps of $batch" >&2; exit 1; }
    head -n $((steps * batch)) "$out.all" >"$out.tmp"
    rm "$out.all"
    mv "$out.tmp" "$out"
  fi
  echo "$out"
}
[ -d "$student" ] || "$calque" model new --from "$teacher" --carry-over align --vocab-size "${VOCAB:-32000}" --text "$pairs" "$student" >&2

recipe=(--lr 3e-4 --embedding-lr 1e-3 --eps 1e-9 --dropout 0 --contrast 4 --final-contrast 1 --hard-negatives 4 --source-share 0.25
  --piece-dropout 0.15)
ours() { # NAME SEED OPTION...: the model's directory
  local out=$work/ours-$1-$2
  [ -d "$out" ] || "$calque" distill --teacher "$teacher" --student "$student" --train "$(drawn "$2")" --output "$out" --no-shuffle \
    --batch "$batch" --steps "$steps" --warmup "${WARMUP:-100}" --seed "$2" --best-by last --max-characters 0 --evaluate-every 0 \
    --threads "$threads" --cache "$work/cache" "${@:3}" 2>"$out.log" || { tail -n 5 "$out.log" >&2; exit 1; }
  echo "$out"
}
theirs() { # SEED RATE: the model's directory
  local out=$work/theirs-$1-$2
  [ -d "$out" ] || "$venv/bin/python" "$here/peers/trainer_peer.py" --teacher "$teacher" --student "$student" \
    --train "$(drawn "$1")" --output "$out" --batch "$batch" --steps "$steps" --warmup "${WARMUP:-100}" --lr "$2" --seed "$1" \
    --threads "$threads" --vectors "$work/vectors-$1.pt" >"$out.log" 2>&1 || { tail -n 5 "$out.log" >&2; exit 1; }
  echo "$out"
}
accuracy() { # MODEL FILE...: a line a file
  "$calque" eval translation --quiet --csv --threads "$threads" --model "$1" "${@:2}" | awk -F , 'NR > 1 && $1 != "average" { printf "%.2f\n", 100 * $5 }'
}
figures() { # MODEL: four lines
  accuracy "$1" "$data"/parallel/en-de/test-{tatoeba,ntrex,flores}.tsv.gz
  "$calque" eval sts --quiet --csv --threads "$threads" --model "$1" "$data/sts/stsb-de-test.tsv.gz" | awk -F , 'NR == 2 { printf "%.2f\n", 100 * $3 }'
}

best=-1 chosen=
for rate in $rates; do
  total=0
  for seed in $seeds; do
    model=$(theirs "$seed" "$rate")
    dev=$(accuracy "$model" "$data/parallel/en-de/dev-ntrex.tsv.gz")
    total=$(awk -v a="$total" -v b="$dev" 'BEGIN { print a + b }')
  done
  echo "theirs at $rate: sum of accuracies on dev-ntrex $total" >&2
  if awk -v a="$total" -v b="$best" 'BEGIN { exit !(a > b) }'; then best=$total chosen=$rate; fi
done

heading "$steps steps of $batch pairs" seed tatoeba ntrex flores "STS-B de"
before=$(figures "$student")
mapfile -t cells <<<"$before"
row "the student before training" — "${cells[@]}"
shown() { # WHAT SEED MODEL: its row; its figures stay in `found`
  found=$(figures "$3")
  mapfile -t cells <<<"$found"
  row "$1" "$2" "${cells[@]}"
}
less() { paste <(echo "$1") <(echo "$2") | awk '{ printf "%s%.2f", (NR > 1 ? "\t" : ""), $1 - $2 } END { print "" }'; }
means_of() { awk '{ for (i = 1; i <= NF; i++) sum[i] += $i } END { for (i = 1; i <= NF; i++) printf "%+.2f\n", sum[i] / NR }' "$1"; }
: >"$work/recipe.differences"
: >"$work/squared.differences"
for seed in $seeds; do
  model=$(theirs "$seed" "$chosen")
  shown "sentence-transformers, MSELoss, $chosen" "$seed" "$model"
  of_theirs=$found
  model=$(ours "squared-$chosen" "$seed" --lr "$chosen" --weight-decay 0)
  shown "calque, squared distance alone, $chosen" "$seed" "$model"
  less "$found" "$of_theirs" >>"$work/squared.differences"
  model=$(ours recipe "$seed" "${recipe[@]}")
  shown "calque, the recipe" "$seed" "$model"
  less "$found" "$of_theirs" >>"$work/recipe.differences"
done
for what in squared recipe; do
  means=$(means_of "$work/$what.differences")
  mapfile -t cells <<<"$means"
  row "$([ $what = recipe ] && echo "the recipe" || echo "squared distance alone") less theirs, mean of seeds" — "${cells[@]}"
done
! grep -q '^-' <<<"$means" || exit 4
