# calque eval mteb: the files that the package mteb reads, what is in them, and what is refused. That the figures are
# mteb's own is python/tests/test_mteb.py's to show.
. "$(dirname "$0")/common.sh"

TEACHER=$SOURCE/sample/teacher
mteb() { # TYPE NAME REST...
  local type=$1 name=$2
  shift 2
  expect 0 eval mteb --model "$TEACHER" --type "$type" --name "$name" -o out "$@"
  file=$(cat stdout)
}
has() { grep -q -- "$1" "$file" || fail "$file lacks '$1'"; }
figure() { sed -n "s/^ *\"$1\": \([0-9.]*\).*/\1/p" "$file" | head -n 1; }

gzip -dc "$SOURCE/sample/train/en-de.tsv.gz" | head -n 60 | cut -f 1,2 >pairs.tsv
mteb sts MySTS "en:eng-Latn=$SOURCE/sample/sts/en-en.tsv" "$SOURCE/sample/sts/en-en.tsv"
stderr_has "without languages"
case $file in out/results/teacher/????????????????????????????????/MySTS.json) ;; *) fail "the file is $file" ;; esac
has '"task_name": "MySTS"'
has '"dataset_revision": "local"'
has '"hf_subset": "en"'
has '"hf_subset": "default"'
has '"eng-Latn"'
[ "$(grep -c '"main_score"' "$file")" -eq 2 ] || fail "two files are two subsets"
"$PROGRAM" eval sts --model "$TEACHER" --csv "$SOURCE/sample/sts/en-en.tsv" >sts.csv
awk -F , -v s="$(figure cosine_spearman)" -v p="$(figure cosine_pearson)" '
  NR == 2 { exit !(($3 - s) ^ 2 < 1e-12 && ($4 - p) ^ 2 < 1e-12) }' sts.csv ||
  fail "$(figure cosine_spearman) and $(figure cosine_pearson) are not those of eval sts: $(cat sts.csv)"
grep -q '"name": "teacher"' "${file%/*}/model_meta.json" || fail "model_meta.json does not name the model"

mteb bitext MyBitext --model-name org/model --revision 1 --split validation --dataset-revision 7 \
  de-en:deu-Latn,eng-Latn=pairs.tsv
[ "$file" = out/results/org__model/1/MyBitext.json ] || fail "the file is $file"
has '"validation": \['
has '"dataset_revision": "7"'
awk -v f="$(figure f1)" -v a="$(figure accuracy)" 'BEGIN { exit !(0 < f && f <= a && a < 1) }' || fail "F1 $(figure f1)"

awk -F '\t' '{ print $1 "\tenglish"; print $2 "\tgerman" }' pairs.tsv >classes.tsv
mteb classification MyClasses --train classes.tsv --experiments 3 classes.tsv
[ "$(grep -c '"accuracy"' "$file")" -eq 4 ] || fail "three experiments and their mean"
awk -v a="$(figure main_score)" 'BEGIN { exit !(a > 0.8) }' || fail "accuracy $(figure main_score)"
cp "$file" first.json
mteb classification MyClasses --train classes.tsv --experiments 3 --threads 1 classes.tsv
sed -i /evaluation_time/d "$file" first.json
same "$file" first.json

cut -f 1 pairs.tsv | awk '{ print "d" NR "\t" $0 }' >documents.tsv
awk -F '\t' '{ print "q" NR "\t" $2 }' pairs.tsv >topics.tsv
awk '{ print "q" NR, 0, "d" NR, 1 }' pairs.tsv >qrels.txt
mteb retrieval MyRetrieval --documents documents.tsv --topics topics.tsv qrels.txt
lines_are "${file%.json}.run" 3600
awk -v n="$(figure ndcg_at_10)" -v m="$(figure main_score)" -v r="$(figure recall_at_1000)" '
  BEGIN { exit !(n > 0 && n == m && r == 1) }' || fail "nDCG@10 $(figure ndcg_at_10)"

expect 2 eval mteb --model "$TEACHER" --type clustering --name X -o out pairs.tsv
stderr_has "clustering"
expect 2 eval mteb --model "$TEACHER" --type classification --name X -o out classes.tsv
stderr_has "--train"
expect 2 eval mteb --model "$TEACHER" --type bitext --train classes.tsv --name X -o out pairs.tsv
expect 2 eval mteb --model "$TEACHER" --type retrieval --topics topics.tsv --name X -o out qrels.txt
expect 2 eval mteb --model "$TEACHER" --type bitext --name ../X -o out pairs.tsv
stderr_has "name of a file"
expect 2 eval mteb --model "$TEACHER" --type bitext --name X --revision a/b -o out pairs.tsv
expect 2 eval mteb --model "$TEACHER" --type bitext -o out pairs.tsv
expect 2 eval mteb --model "$TEACHER" --type bitext --name model_meta -o out pairs.tsv
expect 2 eval mteb --model "$TEACHER" --type bitext --name $'X\xff' -o out pairs.tsv
stderr_has "not UTF-8"
expect 2 eval mteb --model "$TEACHER" --type bitext --name X --split $'t\xff' -o out pairs.tsv
expect 2 eval mteb --model "$TEACHER" --type bitext --name X -o '' pairs.tsv
expect 2 eval mteb --model "$TEACHER" --type bitext --name X -o out pairs.tsv pairs.tsv
stderr_has "two files are the subset 'default'"
expect 2 eval mteb --model "$TEACHER" --type bitext --name X -o out :eng-Latn=pairs.tsv
stderr_has "has no name"
printf 'A ship.\tship\n' >other.tsv
expect 1 eval mteb --model "$TEACHER" --type classification --train classes.tsv --name X -o out other.tsv
stderr_has "other.tsv:1: the class 'ship' is not in --train"
expect 1 eval mteb --model "$TEACHER" --type retrieval --documents documents.tsv --topics topics.tsv --name X -o out none.txt
stderr_has "none.txt"
# Queries and documents of a model with modules for each go through their own.
router=$SOURCE/tests/golden/models/router
routed() { # REVISION OPTION...
  expect 0 eval mteb --model "$router" --type retrieval --name Routed --revision "$@" -o out --documents documents.tsv \
    --topics topics.tsv a:eng-Latn=qrels.txt
}
routed each
for task in query document; do
  routed $task --task $task
  cmp -s out/results/router/each/Routed.run out/results/router/$task/Routed.run && fail "one task for both: $task"
done
printf 'A ship.\tEin Schiff.\tmany\n' >words.tsv
expect 1 eval mteb --model "$TEACHER" --type sts --name X -o out words.tsv
stderr_has "words.tsv:1: the score is no number"
printf 'A ship.\n' >one.tsv
expect 1 eval mteb --model "$TEACHER" --type bitext --name X -o out one.tsv
stderr_has "one.tsv:1: expected two columns"
printf '\xff\tA ship.\n' >bytes.tsv
expect 1 eval mteb --model "$TEACHER" --type bitext --name X -o out bytes.tsv
: >empty.tsv
expect 1 eval mteb --model "$TEACHER" --type bitext --name X -o out empty.tsv
stderr_has "no rows"
expect 1 eval mteb --model "$TEACHER" --type bitext --name X -o pairs.tsv/out pairs.tsv
absent out/results/teacher/*/X.json

finish
