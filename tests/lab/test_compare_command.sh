# calque compare: the table, JSON, groups, and what is refused.
. "$(dirname "$0")/../cli/common.sh"

# Topics with one relevant document each, found at the rank that is given for the topic; 0: the run has no such topic.
run_of() {
  local name=$1 topic=0 rank i
  shift
  for rank in "$@"; do
    topic=$((topic + 1))
    for ((i = 1; i < rank; i++)); do echo "$topic Q0 other$i $i $((100 - i)) x"; done
    [ "$rank" -eq 0 ] || echo "$topic Q0 right $rank $((100 - rank)) x"
  done >"$name"
}
for topic in 1 2 3 4 5 6 7 8 9; do echo "$topic 0 right 1"; done >qrels
run_of first 2 2 2 2 2 2 2 2
run_of better 1 1 1 1 1 1 1 1
run_of mixed 1 2 4 2 0 2 1 2

# Differences of better: 0.5 eight times; of mixed 0.5 0 -0.25 0 -0.5 0 0.5 0. Nobody has topic 9.
expect 0 compare qrels first better mixed --test all
sed 's/ *$//' stdout >got
cat >want <<'END'
8 topics

run        map  difference       %  won/lost/tied  p wilcoxon    Holm        p t    Holm     p randomization    Holm
first   0.5000
better  1.0000     +0.5000  +100.0          8/0/0      0.0060  0.0119 *   0.0000  0.0000 **           0.0078  0.0156 *
mixed   0.5312     +0.0312    +6.2          2/2/4      0.8501  0.8501     0.8018  0.8018              1.0000  1.0000

* p < 0.05, ** p < 0.01, two-sided, after Holm's correction for 2 comparisons per measure
END
same want got
stderr_is_empty

# Tables for a paper have no lines around them.
expect 0 compare qrels first better --table markdown
{
  echo '| run | map | difference | % | won/lost/tied | p wilcoxon | Holm |'
  echo '| :--- | ---: | ---: | ---: | ---: | ---: | ---: |'
  echo '| first | 0.5000 |  |  |  |  |  |'
  echo '| better | 1.0000 | +0.5000 | +100.0 | 8/0/0 | 0.0060 | 0.0060 \*\* |'
} | same - stdout
expect 0 compare qrels better first --csv
stdout_has 'first,0.5000,-0.5000,-50.0,0/8/0,0.0060,'
expect 2 compare qrels first better --json --csv

# One test at a time, by default Wilcoxon's; two measures are two tables.
expect 0 compare qrels first better --measure recip_rank --measure P_1
grep -q "^run  *recip_rank  *difference  *%  *won/lost/tied  *p wilcoxon  *Holm *$" stdout || fail "the heading"
grep -q '^better *1.0000 *+1.0000 *- *8/0/0 *0.0060 *0.0060 \*\*$' stdout || fail "P_1 has a percentage of nothing"
expect 0 compare qrels first better --test t
grep -q 'wilcoxon' stdout && fail "a test that was not asked for"
stdout_has "for 1 comparison per measure"

# Groups: topics 1-4 and 5-8; mixed has means 0.5625 and 0.5, first 0.5 and 0.5.
expect 0 compare qrels first mixed --group 4
stdout_has "8 topics in 2 groups"
grep -q '^mixed *0.5312 *+0.0312 *+6.2 *1/0/1 *1.0000 *1.0000 *$' stdout || fail "group means"
sed 's/^4 /four /' qrels >named && sed 's/^4 /four /' first >first-named
expect 1 compare named first-named first-named --group 4
stderr_has "topic 'four' is not a number from 1 on"
stdout_is_empty
expect 0 compare named first-named first-named

# Every two runs.
expect 0 compare qrels first better mixed --all-pairs
grep -q '^mixed *0.5312 *better *1.0000 *-0.4688 *-46.9 *0/6/2 ' stdout || fail "mixed against better"
lines_are stdout 8

expect 0 compare qrels first better mixed --json --all-pairs --measure map --measure P_1
lines_are stdout 6
stdout_has '{"measure": "map", "a": "first", "b": "better", "topics": 8, "n": 8, "mean_a": 0.5, "mean_b": 1, "difference": 0.5, "percent": 100, "wins": 8, "losses": 0, "ties": 0, "wilcoxon": {"p": 0.00'
stdout_has '"t": {"p": 0, "holm": 0, "exact": true}, "randomization": {"p": 0.0078125, "holm": 0.0234375, "exact": true}}'
stdout_has '"percent": null'

# 24 topics with different signs: random signs depend on the seed and nothing else.
for ((i = 1; i <= 24; i++)); do echo "$i 0 right 1"; done >qrels24
run_of one 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2
run_of two 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 4 4 4 4 4 4 4 4
expect 0 compare qrels24 one two --json --samples 5000 && cp stdout one-seed
expect 0 compare qrels24 one two --json --samples 5000
same one-seed stdout
stdout_has '"exact": false}}'
expect 0 compare qrels24 one two --json --samples 5000 --seed 2
cmp -s one-seed stdout && fail "the seed changes nothing"

expect 2 compare qrels first
expect 2 compare qrels first better --group -1
expect 2 compare qrels first better --samples 0
expect 2 compare qrels first better --test sign
expect 1 compare qrels first better --measure mapp
stderr_has "there is no measure 'mapp'"
expect 1 compare qrels first nowhere
stderr_has "nowhere"
echo "77 Q0 right 1 1 x" >elsewhere
expect 1 compare qrels first elsewhere
stderr_has "qrels and elsewhere have no topic in common"
finish
