# calque eval retrieval: trec_eval's figures, and what is refused.
. "$(dirname "$0")/../cli/common.sh"

golden=$SOURCE/tests/golden/retrieval
measures=
for m in num_ret num_rel num_rel_ret map Rprec bpref recip_rank P_5 P_10 P_20 recall_5 recall_100 recall_1000 ndcg ndcg_cut_5 \
  ndcg_cut_10 ndcg_cut_100; do
  measures="$measures --measure $m"
done
expect 0 eval retrieval $measures --per-topic "$golden/qrels.txt" "$golden/run.txt"
sort stdout >got && sort "$golden/expected.txt" >want
same want got
expect 0 eval retrieval $measures --complete "$golden/qrels.txt" "$golden/run.txt"
grep '	all	' "$golden/expected-complete.txt" | sort >want
sort stdout >got
same want got
expect 0 eval retrieval $measures --per-topic --double "$golden/qrels.txt" "$golden/run.txt"
sort stdout >got && sort "$golden/expected-10.txt" >want
same want got
gzip -c "$golden/run.txt" >run.gz
expect 0 eval retrieval --json --measure map "$golden/qrels.txt" run.gz
stdout_has '{"topic": "all", "map": 0.'

printf '1 0 d1 1\n\n# a remark\n1 0 d2 0\n' >qrels
printf 'query-id\tcorpus-id\tscore\n1\td1\t1\n1\td2\t0\n' >beir.tsv
printf '1 Q0 d1 1 2.5 x\n' >run
expect 0 eval retrieval --table markdown --measure map --measure num_ret --per-topic qrels run
printf '| topic | map | num\\_ret |\n| :--- | ---: | ---: |\n| 1 | 1.0000 | 1 |\n| all | 1.0000 | 1 |\n' | same - stdout
expect 0 eval retrieval --csv --measure map qrels run
printf 'topic,map\nall,1.0000\n' | same - stdout
expect 2 eval retrieval --csv --json qrels run
expect 0 eval retrieval beir.tsv run --measure map
stdout_has "map	all	1.0000"
printf 'query-id\tcorpus-id\tscore\n1\td1\n' >beir.tsv
expect 1 eval retrieval beir.tsv run --measure map
stderr_has "beir.tsv:2: 2 columns, expected topic, iteration, document and relevance"
expect 0 eval retrieval qrels run --measure map
stdout_has "map	all	1.0000"
expect 1 eval retrieval qrels run --measure mapp
stderr_has "there is no measure 'mapp'"
expect 1 eval retrieval qrels run --measure P_5x
stderr_has "there is no measure 'P_5x'"
expect 1 eval retrieval qrels run --measure P_0
printf '1 0 d1\n' >bad
expect 1 eval retrieval bad run
stderr_has "bad:1: 3 columns, expected topic, iteration, document and relevance"
printf '1 0 d1 1\n1 0 d1 0\n' >bad
expect 1 eval retrieval bad run
stderr_has "document 'd1' appears twice under topic '1'"
printf '1 0 d1 high\n' >bad
expect 1 eval retrieval bad run
stderr_has "bad:1: the relevance is 'high'"
printf '1 Q0 d1 1 nan x\n' >bad
expect 1 eval retrieval qrels bad
stderr_has "bad:1: the score is 'nan'"
printf '1 Q0 d1 1 2 x\n1 Q0 d1 2 1 x\n' >bad
expect 1 eval retrieval qrels bad
stderr_has "appears twice"
printf '2 Q0 d1 1 2 x\n' >other
expect 1 eval retrieval qrels other
stderr_has "have no topic in common"
printf '1 0 d1 1\n2 0 d2 1\n' >two
expect 0 eval retrieval two run --measure map
stderr_has "left out: 1 of 2 judged topics, which the run lacks (--complete counts 0)"
expect 0 eval retrieval two run --measure map --complete
stderr_is_empty
printf '1 0 D1 1\n' >upper
expect 0 eval retrieval upper run
stderr_has "no document of the run is judged: do both files have the same ids?"
: >empty
expect 1 eval retrieval qrels empty
expect 1 eval retrieval nowhere run
stderr_has "nowhere"
finish
