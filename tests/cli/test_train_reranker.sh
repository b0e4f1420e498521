# Rerankers are trained: made from an embedding model, fine-tuned, distilled, extended to a language.
. "$(dirname "$0")/common.sh"

sample=$SOURCE/sample
RERANKERS=$SOURCE/tests/golden/rerankers
gzip -dc "$sample/train/en-de.tsv.gz" | head -n 400 >de.tsv
# A tiny model learns in a few steps that one passage answers everything.
right="The train leaves at seven."
cut -f 1 de.tsv | awk -v p="$right" 'NR > 1 { print last "\t" p "\t1"; print last "\t" $0 "\t0" } { last = $0 }' | head -n 400 >scored.tsv

expect 0 model new --kind reranker --from "$sample/teacher" fresh
expect 1 encode --model fresh
expect 0 finetune --model fresh --scored scored.tsv --max-score 1 --sts scored.tsv --steps 40 --lr 1e-3 --output teacher
grep -q "A reranker (cross-encoder)" teacher/README.md || fail "the card names no reranker"
grep -q "text-ranking" teacher/README.md || fail "the card's tag is not text-ranking"
awk '/Spearman/ { before = $(NF - 2); now = $NF } END { exit !(now > before && now > 50) }' stderr ||
  fail "it has not learned: $(grep Spearman stderr)"

# Its logits order passages.
{ head -n 20 de.tsv | cut -f 1; echo "$right"; } >passages.txt
expect 0 index new --model "$sample/teacher" an.index
expect 0 index add an.index passages.txt
expect 0 search an.index "$(sed -n 3p passages.txt)" --rerank teacher
[ "$(head -n 1 stdout | cut -f 2)" = passages.txt:21 ] || fail "what it was trained for is not first"

# A teacher of random weights, whose logits differ, and a student that begins far from it.
run="extend $RERANKERS/bert --to de=de.tsv --cache cache --vocab-size 1500 --carry-over shared --lr 1e-3"
run="$run --embedding-lr 3e-3 --best-by mse --evaluate-every 0 --keep-variants"
expect 0 $run --steps 40 --output both
stderr_has "each query has 4 passages: itself, the next row, one that shares its rarest word, and a random one"
stderr_has "rates: 0.001, embeddings 0.003"
grep -q "contrastive loss" stderr && fail "a reranker has no vectors to contrast"
stderr_has "Spearman trg"
grep -q '"reranker":true' both/log.jsonl || fail "the log does not say that the figures are correlations"
grep -q "distillation of logits" both/README.md || fail "the card does not say how"
awk '/^before training/ { getline; exit !($NF < $(NF - 2)) }' stderr ||
  fail "the distance to the teacher's logits has not fallen: $(tail -n 3 stderr)"
expect 0 search an.index "$(sed -n 3p passages.txt)" --rerank both
# The pairs and the model do not depend on the threads.
expect 0 $run --steps 40 --output again --threads 3
cmp -s both/model.safetensors again/model.safetensors || fail "another number of threads gives another model"

# The rates are lower than those of embedding models, unless they are given, and options of vectors are refused.
expect 0 extend $RERANKERS/bert --to de=de.tsv --cache cache --vocab-size 1500 --steps 1 --best-by last --carry-over shared --output default
stderr_has "rates: 3e-05, embeddings 0.0003"
stderr_has "share of sources 0.25 (--source-share); piece dropout 0.15"
expect 0 extend $sample/teacher --to de=de.tsv --cache cache --vocab-size 1500 --steps 1 --best-by last --carry-over shared --keep-variants --output body
stderr_has "rates: 0.0003, embeddings 0.001"
stderr_has "contrastive loss: weight 4"
expect 2 $run --contrast 1 --steps 2 --output none
stderr_has "contrast: for vectors, but a reranker gives one logit"
expect 2 $run --final-contrast 1 --steps 2 --output none
stderr_has "final-contrast: for vectors"
expect 2 $run --temperature 0.1 --steps 2 --output none
stderr_has "temperature: for vectors"
expect 2 $run --hard-negatives 4 --steps 2 --output none
stderr_has "hard-negatives: for vectors"
expect 2 $run --near-misses --steps 2 --output none
stderr_has "near-misses: for vectors"
expect 2 $run --matryoshka 8 --steps 2 --output none
stderr_has "matryoshka: for vectors"
expect 2 $run --dim-match project --steps 2 --output none
stderr_has "dim-match: for vectors"
expect 2 $run --own-vocabulary --steps 2 --output none
stderr_has "own-vocabulary: for vectors"

# By hand: pairs in one column, U+001F between.
head -n 40 de.tsv | awk -F '\t' '{ printf "%s\037%s\t%s\037%s\n", $1, $1, $2, $1 }' >pairs.tsv
expect 0 distill --teacher "$RERANKERS/bert" --student both --train pairs.tsv --cache cache --steps 2 --output by-hand

# Bad input.
expect 1 distill --teacher "$RERANKERS/bert" --student both --train de.tsv --cache cache --steps 2 --output none
stderr_has "a reranker takes a query and a passage with the character U+001F between them, not '"
expect 1 distill --teacher "$RERANKERS/bert" --student "$sample/teacher" --train pairs.tsv --cache cache --steps 2 --output none
stderr_has "teacher and student are of one kind"
expect 1 distill --teacher "$RERANKERS/bert" --student both --train pairs.tsv --contrast 1 --cache cache --steps 2 --output none
stderr_has "a reranker gives one logit"
expect 1 finetune --model fresh --pairs de.tsv --steps 2 --output none
stderr_has "a reranker, which is trained on scored pairs"
expect 1 finetune --model fresh --scored scored.tsv --max-score 1 --dev pairs.tsv --steps 2 --output none
stderr_has "a reranker is measured by scored pairs"
expect 1 $run --kind static --steps 2 --output none
stderr_has "bert is a reranker, which needs kind reranker"
expect 1 extend "$sample/teacher" --kind reranker --to de=de.tsv --steps 2 --output none
stderr_has "teacher is no reranker: kind reranker is for cross-encoders with one label"
expect 1 model new --kind reranker --from "$RERANKERS/modernbert" none
stderr_has "a new classifier for model_type 'modernbert' is not supported"
expect 1 model new --kind copy --from "$RERANKERS/bert" --output-dim 8 none
stderr_has "output_dim and embedding_dim are for embedding models"
absent none

# A server's reranker.
expect 1 serve --model "$sample/teacher" --rerank "$RERANKERS/three-labels" --port 0
stderr_has "the classifier has 3 labels, a reranker has 1"
expect 1 serve --model "$sample/teacher" --rerank "$sample/teacher" --port 0
stderr_has "an embedding model, expected a reranker"
expect 2 serve --mcp --rerank teacher
finish
