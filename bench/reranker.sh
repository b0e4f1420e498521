#!/bin/bash
# A reranker from an embedding model, extended to German and Russian: Spearman's correlation of the student's logits with
# the teacher's on held-out parallel text, and nDCG@10 of the first stage and of both rerankers.
#   bench/reranker.sh CALQUE DATA [WORK]
# DATA holds parallel/, sts/, clir/. MODEL (all-MiniLM-L6-v2), TIME (60m, of extending), EPOCHS (2, of the teacher), ROWS
# (100000, of each language's text) and HELD_OUT (500) may stand in the environment. What is in WORK is not made again,
# and a training that was stopped continues.
set -eu
calque=$(realpath "${1:?usage: reranker.sh CALQUE DATA [WORK]}") data=$(realpath "$2")
here=$(cd "$(dirname "$0")" && pwd)
model=${MODEL:-all-MiniLM-L6-v2} work=${3:-$(mktemp -d)}
[ ! -d "$model" ] || model=$(realpath "$model")
mkdir -p "$work" && cd "$work"
python() { python3 "$here/reranker.py" "$@"; }
# The teacher: scored pairs of sentences, and queries with passages of the training articles.
if [ ! -d teacher ]; then
  [ -d fresh ] || "$calque" model new --kind reranker --from "$model" fresh
  python pairs "$data/clir" topics.tsv
  { gzip -dc "$data/sts/stsb-en-train.tsv.gz" | awk -F '\t' '{ print $1 "\t" $2 "\t" $3 / 5 }'; cat topics.tsv; } >pairs.tsv
  gzip -dc "$data/sts/stsb-en-dev.tsv.gz" | awk -F '\t' '{ print $1 "\t" $2 "\t" $3 / 5 }' >dev.tsv
  resume=; [ ! -d teacher.work ] || resume=--resume
  "$calque" finetune --model fresh --scored pairs.tsv --max-score 1 --max-characters 0 --max-length 256 --lr 1e-4 --warmup 0.1 \
    --epochs "${EPOCHS:-2}" --batch 16 --precision bf16 --sts dev.tsv --output teacher $resume
fi
if [ ! -d student ]; then
  for l in de ru; do
    { gzip -dc "$data/parallel/en-$l/train-news.tsv.gz"; gzip -dc "$data/parallel/en-$l"/train-{stsb-mt,tatoeba,tldr}.tsv.gz; } |
      awk -F '\t' -v OFS='\t' 'NF > 1 { print $1, $2 }' | awk -v n="${ROWS:-100000}" 'NR <= n' >$l.tsv
    gzip -dc "$data/parallel/en-$l/dev-ntrex.tsv.gz" | awk -v n="${HELD_OUT:-500}" 'NR <= n' >dev-$l.tsv
  done
  resume=; [ ! -d student.extend ] || resume=--resume
  "$calque" extend teacher --to de=de.tsv --to ru=ru.tsv --dev de=dev-de.tsv --dev ru=dev-ru.tsv --time "${TIME:-60m}" \
    --cache cache --output student $resume
fi
sed -n '/^## Held-out/,/^$/p; /^| pairs/,/^$/p' student/README.md
# First stage and rerankers on the topics of held-out articles; the student's in its own languages.
echo "| language | first stage | teacher | student |"
echo "|---|---:|---:|---:|"
for l in en de ru; do
  if [ ! -d "$l.index" ]; then
    python held-out "$data/clir" $l $l
    "$calque" index new --model "$model" $l.index
    "$calque" index add $l.index $l.docs.jsonl
  fi
  line="| $l"
  for reranker in "" teacher student; do
    hits=$l.${reranker:-first}.jsonl
    [ -s "$hits" ] || "$calque" search $l.index --queries $l.queries --ranking dense --json ${reranker:+--rerank $reranker} >"$hits"
    line="$line | $(python ndcg "$data/clir" $l "$hits")"
  done
  echo "$line |"
done
