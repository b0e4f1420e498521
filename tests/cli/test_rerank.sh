# calque search --rerank: the first stage's documents in the order of a reranker's logits.
. "$(dirname "$0")/common.sh"

RERANKERS=$SOURCE/tests/golden/rerankers
query="Who opens his shop early?"
head -n 2 "$RERANKERS/pairs.tsv" | cut -f 2 >passages.txt
cut -f 2 "$RERANKERS/pairs.tsv" | sed -n '3,5p' >>passages.txt
sed -n '7p' "$RERANKERS/pairs.tsv" | cut -f 2 >long.txt

expect 0 index new --model "$TEACHER" an.index
expect 0 index add an.index passages.txt
expect 0 search an.index "$query" --ranking dense
first=$(head -n 1 stdout | cut -f 2)
[ "$first" != passages.txt:2 ] || fail "the first stage should not begin with the reranker's first"

# transformers' logits for the two first passages: tests/golden/rerankers/bert/logits.npy.
expect 0 search an.index "$query" --rerank "$RERANKERS/bert" --top 5
lines_are stdout 5
stdout_has "0.9954	passages.txt:2"
stdout_has "0.3041	passages.txt:1"
cut -f 1 stdout | sort -rgc || fail "not in the order of the logits"
cut -f 2 stdout >order
expect 0 search an.index "$query" --rerank "$RERANKERS/bert" --top 2 --json
[ "$(sed 's/.*"id": "\([^"]*\)".*/\1/' stdout)" = "$(head -n 2 order)" ] || fail "the first two are not the best of all"
expect 0 search an.index "$query" --rerank "$RERANKERS/bert" --top 1 --rerank-depth 1 --ranking dense
[ "$(cut -f 2 stdout)" = "$first" ] || fail "only one document should have been ranked"

# Several queries, each with its own order; truncated pairs are counted.
expect 0 index add an.index long.txt
expect 0 search an.index "$query" violin --rerank "$RERANKERS/xlmr" --threads 1
cp stdout one
stderr_has "6 of 12 pairs of query and passage were longer than the reranker's 40 tokens and were truncated"
expect 0 search an.index "$query" violin --rerank "$RERANKERS/xlmr" --threads 3
same one stdout
expect 0 search an.index violin --rerank "$RERANKERS/xlmr"
sed -n '/^# violin/,$p' one | sed '1d;$d' >second
same second stdout

# What is no reranker.
expect 1 search an.index "$query" --rerank "$RERANKERS/three-labels"
stderr_has "the classifier has 3 labels, a reranker has 1"
stdout_is_empty
expect 1 search an.index "$query" --rerank "$TEACHER"
stderr_has "an embedding model, expected a reranker"
expect 1 search an.index "$query" --rerank "$SOURCE/tests/golden/models/plain-bert"
stderr_has "no classifier (tensor 'classifier.weight'), which a reranker needs"
expect 1 search an.index "$query" --rerank nowhere
expect 2 search an.index "$query" --rerank "$RERANKERS/bert" --rerank-depth 0

# A reranker in place of a model that gives vectors, with modules.json and without.
printf 'one\teins\ntwo\tzwei\n' >pairs.tsv
cut -f 1 pairs.tsv >one.txt
cut -f 2 pairs.tsv >two.txt
for reranker in "$RERANKERS/bert" "$RERANKERS/bert-saved"; do
  while read -r command; do
    expect 1 $command
    stderr_has "calque: $reranker is a reranker: it gives logits for pairs of texts, and no vectors. 'calque search --rerank'"
    stderr_has "'calque eval sts' measures it"
    lines_are stderr 1
    stdout_is_empty
    absent small
  done <<<"encode --model $reranker one.txt
    similarity --model $reranker one two
    mine --model $reranker --cache cache one.txt two.txt
    cluster --model $reranker --cache cache one.txt
    align --quiet --model $reranker --cache cache one.txt two.txt
    data score --model $reranker --cache cache pairs.tsv
    data filter --model $reranker --min-cosine 0.5 pairs.tsv
    eval translation --model $reranker pairs.tsv
    eval mse --model $TEACHER --teacher $reranker pairs.tsv
    index new --model $reranker other.index
    search --model $reranker one.txt one
    search --query-model $reranker an.index one
    serve --model $reranker --port 0
    model info $reranker
    model check $TEACHER $reranker
    model quantize $reranker --output small
    model trim $reranker --text one.txt --output small
    model center $reranker --pairs pairs.tsv --output small
    model export $reranker small
    model new --kind static --from $reranker --text one.txt --vocab-size 11 small
    clir dense --model $reranker one.txt one.txt"
done
finish
