# calque eval: the table, JSON and CSV; labels, limits, several files and their average.
. "$(dirname "$0")/common.sh"

model="--model $TEACHER"
pairs 50 | awk -F '\t' '{ print $1 "\t" $1 }' >same.tsv
pairs 20 >ru.tsv
awk -F "\t" '{ print $0 "\t" NR % 5 }' ru.tsv >sts-a.tsv
gzip -c sts-a.tsv >sts-b.tsv.gz

expect 0 eval translation $model same.tsv
stdout_has "src->trg %"
stdout_has "chance %"
stderr_is_empty
grep -q '^same .* 50 ' stdout || fail "no row for the file"
expect 0 eval translation $model --csv label=same.tsv ru.tsv
[ "$(sed -n 1p stdout)" = "file,n,source_to_target,target_to_source,mean,chance" ] || fail "heading: $(sed -n 1p stdout)"
grep -q '^label,50,' stdout || fail "no row for the label"
grep -q '^ru,20,' stdout || fail "no row for the second file"
grep -q '^average,70,' stdout || fail "no average"
[ "$(sed -n 2p stdout | cut -d , -f 6)" = 0.02 ] || fail "chance is not 1/50"
expect 0 eval translation $model --csv --perturb lower,nfd label=same.tsv
grep -q "^label lower," stdout && grep -q "^label nfd," stdout || fail "a row for each way is missing"
expect 1 eval translation $model --perturb backwards same.tsv
stderr_has "perturb: 'backwards' is not a way to type"
expect 0 eval translation $model --json --max-rows 10 same.tsv
stdout_has '"measure": "translation"'
stdout_has '"n": 10'
stdout_has '"average"'

expect 0 eval mse $model --teacher "$TEACHER" --csv same.tsv
[ "$(sed -n 2p stdout | cut -d , -f 3,4)" = "0,0" ] || fail "a model differs from itself: $(sed -n 2p stdout)"
awk -F , 'NR == 2 && $5 > 0 && $6 > 0 { ok = 1 } END { exit !ok }' stdout || fail "no variance or norm of the teacher"

for file in sts-a.tsv sts-b.tsv.gz; do
  expect 0 eval sts $model --csv "$file"
  awk -F , 'NR == 2 && $3 >= -1 && $3 <= 1 && $2 > 1 { ok = 1 } END { exit !ok }' stdout || fail "no Spearman in [-1, 1]"
done
expect 0 eval sts $model --json "$file"
stdout_has '"spearman"'
printf '%s\tshort\none\ttwo\n' "$(seq -s ' ' 200)" >long.tsv
expect 0 eval translation $model long.tsv
stderr_has "1 of 2 sentences were longer than"
"$PROGRAM" eval translation $model --threads 1 --csv ru.tsv >one
"$PROGRAM" eval translation $model --threads 2 --csv ru.tsv >two
same one two
finish
