# calque eval compare: the figures are those of the other evaluations; formats, and what is refused.
. "$(dirname "$0")/../cli/common.sh"

a=$SOURCE/sample/teacher b=$TEACHER
compare() { expect 0 eval compare --baseline "$a" --model "$b" --samples 500 "$@"; }
for language in de ru; do gzip -dc "$SOURCE/sample/test/en-$language.tsv.gz" | head -n 60 >"en-$language.tsv"; done
head -n 40 "$SOURCE/sample/sts/en-ar.tsv" >sts-ar.tsv
cp "$SOURCE/sample/sts/en-en.tsv" sts-en.tsv

# same_figures MEASURE FIGURE COLUMN FILE...: baseline and model equal what `eval MEASURE --csv` has in the column.
same_figures() {
  local measure=$1 figure=$2 column=$3
  shift 3
  compare --measure "$measure" --csv "$@"
  awk -F , -v figure="$figure" '$2 == figure { print $1 "," $3 "," $4 "," $5 }' stdout >got
  "$PROGRAM" eval "$measure" --model "$a" --csv --quiet "$@" | awk -F , -v c="$column" 'NR > 1 { print $1 "," $2 "," $c }' >first
  "$PROGRAM" eval "$measure" --model "$b" --csv --quiet "$@" | awk -F , -v c="$column" 'NR > 1 { print $c }' | paste -d , first - >want
  same want got
}
same_figures translation source_to_target 3 en-de.tsv ru=en-ru.tsv
same_figures translation target_to_source 4 en-de.tsv ru=en-ru.tsv
same_figures translation mean 5 en-de.tsv ru=en-ru.tsv
same_figures search hits_at_1 3 en-de.tsv ru=en-ru.tsv
same_figures search hits_at_10 4 en-de.tsv ru=en-ru.tsv
same_figures search mrr 5 en-de.tsv ru=en-ru.tsv
same_figures sts spearman 3 sts-ar.tsv sts-en.tsv
head -n 1 stdout | same - <(echo file,figure,n,baseline,model,difference,low,high,p)
awk -F , 'NR > 1 && !($7 <= $6 && $6 <= $8 && $9 > 0 && $9 <= 1 && $6 - ($5 - $4) < 1e-8 && ($5 - $4) - $6 < 1e-8) { exit 1 }' stdout ||
  fail "a difference outside of its interval"

# Threads and the order of files change nothing; the seed changes the interval.
cp stdout one
compare --measure sts --csv --threads 3 sts-ar.tsv sts-en.tsv
same one stdout
compare --measure sts --csv --seed 1 sts-ar.tsv sts-en.tsv
cmp -s one stdout && fail "the seed changes nothing"
cut -d , -f 1-6 stdout | same - <(cut -d , -f 1-6 one)

# A model does not differ from itself; the interval of two files that are the same is that of one.
expect 0 eval compare --baseline "$a" --model "$a" --csv en-de.tsv
awk -F , 'NR > 1 && ($6 != 0 || $7 != 0 || $8 != 0 || $9 != 1) { exit 1 }' stdout || fail "a model differs from itself"
lines_are stdout 4
compare --csv en-de.tsv again=en-de.tsv
[ "$(awk -F , '$2 == "mean" { print $4, $5, $6, $7, $8, $9 }' stdout | sort -u | wc -l)" -eq 1 ] || fail "the mean of equal files"

# Formats.
compare en-de.tsv
grep -Eq '^ +figure +rows +baseline +model +difference +95 % interval +p$' stdout || fail "the heading"
grep -Eq '^en-de +mean % +60 +[0-9.]+ +[0-9.]+ +[+-][0-9.]+ +\[[+-][0-9.]+, [+-][0-9.]+\] +[01][.][0-9]{4}$' stdout || fail "a row"
lines_are stdout 4
compare --table markdown "x|y_z=en-de.tsv"
stdout_has '| :--- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |'
stdout_has '| x\|y\_z | src-&gt;trg % | 60 |'
stdout_has ' | \['
compare --table latex 'x#y_z&\{~^"=en-de.tsv'
stdout_has '\begin{tabular}{@{}lrrrrrrr@{}}'
stdout_has '  x\#y\_z\&\textbackslash{}\{\textasciitilde{}\textasciicircum{}{\char34} & src-\textgreater{}trg \% & 60 & '
compare --measure sts --table latex '[a]=sts-ar.tsv' '*b=sts-en.tsv' # "\\\\ [a]" and "\\\\ *b" are arguments in LaTeX
stdout_has '  {}[a] & '
stdout_has '  {}*b & '
expect 0 eval compare --baseline "$b" --model "$a" --table latex en-de.tsv
cp stdout up
expect 0 eval compare --baseline "$a" --model "$b" --table latex en-de.tsv
grep -q '\$-\$' stdout up || fail "no minus sign"
compare --measure sts --json sts-ar.tsv sts-en.tsv
stdout_has '"samples": 500, "seed": 0, "results": ['
stdout_has '{"label": "sts-ar", "n": 40, "n_skipped": 0, "spearman": {"baseline": '
stdout_has ' "average": {"n": '

# A correlation that is undefined.
awk -F '\t' -v OFS='\t' '{ $3 = 1; print }' sts-ar.tsv >flat.tsv
compare --measure sts flat.tsv
grep -Eq '^flat +Spearman x100 +40 +undefined +undefined *$' stdout || fail "undefined"
compare --measure sts --csv flat.tsv
stdout_has 'flat,spearman,40,,,,,,'
compare --measure sts --json flat.tsv
stdout_has '"p": null'

# A reranker's logits: those of the golden file, in their order and in the opposite one.
reranker=$SOURCE/tests/golden/rerankers/bert
od -An -v -w4 -t f4 -j 128 "$reranker/logits.npy" | tr -d ' ' | paste "$SOURCE/tests/golden/rerankers/pairs.tsv" - |
  awk -F '\t' '$1 != "" && $2 != ""' >logits.tsv
awk -F '\t' -v OFS='\t' '{ $3 = -$3; print }' logits.tsv >opposite.tsv
expect 0 eval sts --model "$reranker" --csv logits.tsv opposite.tsv
head -n 3 stdout | cut -d , -f 1-3 | same - <(printf '%s\n' file,n,spearman logits,9,1 opposite,9,-1)
expect 0 eval compare --measure sts --baseline "$a" --model "$reranker" --csv logits.tsv
"$PROGRAM" eval sts --model "$a" --csv --quiet logits.tsv | awk -F , 'NR == 2 { print $3 ",1" }' >want
awk -F , 'NR == 2 { print $4 "," $5 }' stdout | same - want
expect 0 eval compare --measure sts --baseline "$reranker" --model "$reranker" --csv logits.tsv
awk -F , 'NR == 2 { print $4 "," $5 "," $6 "," $9 }' stdout | same - <(echo 1,1,0,1)

# An index of the baseline's; lines that are malformed.
compare --measure search --documents "$a" --csv en-de.tsv
"$PROGRAM" eval search --model "$a" --csv --quiet en-de.tsv | awk -F , 'NR == 2 { print $5 }' >want
awk -F , '$2 == "mrr" { print $4 }' stdout | same - want
{ cat en-de.tsv; echo alone; } >bad.tsv
compare --skip-bad bad.tsv
stderr_has "bad.tsv: 1 malformed lines were skipped"

expect 1 eval compare --baseline "$a" --model "$b" bad.tsv
stderr_has "bad.tsv:61: 1 column, expected source TAB target"
stdout_is_empty
expect 2 eval compare --model "$b" en-de.tsv
stderr_has "--baseline"
expect 2 eval compare --baseline "$a" --model "$b"
expect 2 eval compare --baseline "$a" --model "$b" --documents "$a" en-de.tsv
stderr_has "--documents is for --measure search"
expect 2 eval compare --baseline "$a" --model "$b" --samples 0 en-de.tsv
expect 2 eval compare --baseline "$a" --model "$b" --measure mse en-de.tsv
expect 2 eval compare --baseline "$a" --model "$b" --csv --table csv en-de.tsv
stderr_has "--json, --csv and --table exclude each other"
for of in "--model $reranker --baseline $a" "--model $a --baseline $reranker"; do
  expect 1 eval compare $of en-de.tsv
  stderr_has "golden/rerankers/bert is a reranker: it gives logits for pairs of texts, and no vectors."
done
expect 1 eval translation --model "$reranker" en-de.tsv
stderr_has "'calque eval sts' measures it"
expect 1 eval compare --measure sts --model "$reranker" --baseline "$a" --prompt x logits.tsv
stderr_has "a reranker has neither prompts nor dimensions"
expect 1 eval compare --measure sts --model "$reranker" --baseline "$a" --compose logits.tsv
stderr_has "a reranker has none of the options compose"
expect 1 eval compare --baseline nowhere --model "$b" en-de.tsv
stderr_has nowhere
finish
