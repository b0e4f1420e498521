# calque eval bucc and xsim: figures worked out by hand, and what is refused.
. "$(dirname "$0")/../cli/common.sh"

printf 'a\tx\nb\ty\nc\tz\nd\tw\n' >gold
printf '1.5\ta\tx\n1.2\tb\ty\n1.1\tb\tx\n1.0\tc\tz\n0.9\td\tx\n' >train
printf '1.4\ta\tx\n1.15\tb\tz\n0.95\tc\tz\n0.5\td\tw\n' >test

# Best of train: the first four, three of them right: P 3/4, R 3/4.
expect 0 eval bucc gold train
stdout_has "75.00"
stdout_has "0.9500"
expect 0 eval bucc --csv gold train gold test
stdout_has "train,score,0.9500,4,3,0.750000,0.750000,0.750000"
stdout_has "test,score,0.9500,3,2,0.666667,0.500000,0.571429"
expect 0 eval bucc --table markdown gold train
stdout_has "| train | score | 0.9500 | 4 | 3 | 75.00 | 75.00 | 75.00 |"
expect 0 eval bucc --json gold train
stdout_has '"f1": 0.75'
expect 0 eval bucc --csv --sweep 3 gold train
stdout_has "train,score,1.2000,2,2,1.000000,0.500000,0.666667"
lines_are stdout 5

# Errors, best first; cosines and sentences.
expect 0 eval bucc --errors 1 gold train
stderr_has "1.1000  b  x"
awk -F '\t' '{ printf "%s\t%s\t%s\t0.%d\tleft %d\tright %d\n", $1, $2, $3, 9 - NR, NR, NR }' train >detailed
expect 0 eval bucc --csv --errors 2 --curve curve.svg gold detailed
stdout_has "detailed,cosine,0.4500,4,3"
stderr_has "        left 3"
grep -q "by cosine" curve.svg || fail "the curve lacks its second line"

# A threshold on the cosine beside one on the score: of 1.5, 1.2 and 1.1 the first two are right; their cosines are 0.8 and 0.7.
expect 0 eval bucc --csv --min-score 1.1 gold detailed
stdout_has "detailed,score,1.1500,2,2,1.000000,0.500000,0.666667"
stdout_has "detailed,cosine,0.6500,2,2,1.000000,0.500000,0.666667"
expect 0 eval bucc --csv --min-score 1.01 gold train gold test
stdout_has "test,score,1.1500,2,1,0.500000,0.250000,0.333333"
expect 0 eval bucc --csv --min-score 9 gold train
stdout_has "train,score,0.0000,0,0,0.000000,0.000000,0.000000"

# What is refused.
printf 'a\n' >bad-gold
printf 'x\ta\tx\n' >bad-score
expect 1 eval bucc bad-gold train
stderr_has "bad-gold:1:"
expect 1 eval bucc gold bad-score
stderr_has "bad-score:1: the score is not a number"
cat train train >twice
expect 1 eval bucc gold twice
stderr_has "twice:6: the pair stands in an earlier line"
expect 1 eval bucc gold nowhere
expect 1 eval bucc --curve no/such/curve.svg gold train
expect 2 eval bucc gold train gold
expect 2 eval bucc gold
: >nothing
expect 0 eval bucc gold nothing
stdout_has "0.00"

# xsim: the sample's teacher finds English in English.
gzip -dc "$SOURCE/sample/test/en-de.tsv.gz" | cut -f 1 | awk '!seen[$0]++ { print $0 "\t" $0 }' | head -n 50 >same.tsv
expect 0 eval xsim --csv --model "$SOURCE/sample/teacher" same.tsv
stdout_has "same,50,0,0,0"
# xsim --hard: four of six are taken for near misses, each of its own kind, or for another sentence; sums over files.
cat >hard.tsv <<'END'
He left because she sang.	She sang because he left.
The bridge is open.	The bridge is not open.
We saw Anna in the old garden.	We saw Anna in the old garden.
We drank tea.	My brother met Olga near the river.
My brother met Olga near the river.	My brother met Anna near the river.
Twelve long trains came late.	Twelve long trains came late.
END
expect 0 eval xsim --hard --model "$SOURCE/sample/teacher" hard.tsv
stdout_has "      rows  error %  number  name  negation  order  other"
stdout_has "hard     6    66.67     0/1   1/2       1/4    1/1      1"
expect 0 eval xsim --hard --csv --model "$SOURCE/sample/teacher" hard.tsv other=hard.tsv
stdout_has "file,n,error,number_errors,number_near_misses,name_errors,name_near_misses,negation_errors,"
stdout_has "hard,6,0.666666667,0,1,1,2,1,4,1,1,1"
stdout_has "average,12,0.666666667,0,2,2,4,2,8,2,2,2"
expect 0 eval xsim --hard --json --model "$SOURCE/sample/teacher" hard.tsv
stdout_has '"negation_near_misses": 4,'
stdout_has '"error": 0.666666667,'
expect 1 eval xsim --hard --model "$SOURCE/sample/teacher" bad-gold
stderr_has "bad-gold:1: 1 column"
expect 2 eval translation --hard --model "$SOURCE/sample/teacher" hard.tsv
# Search in an index of a model: itself finds every document first. Worked out by hand: of three queries, ranks 1, 3 and 2.
expect 0 eval search --csv --model "$SOURCE/sample/teacher" same.tsv
stdout_has "same,50,1,1,1"
printf 'A cat sleeps.\tA cat sleeps.\nThe train is late.\tA cat sleeps.\nDogs bark.\tA cat sleeps.\n' >ranks.tsv
expect 0 eval search --csv --model "$SOURCE/sample/teacher" --documents "$SOURCE/sample/teacher" ranks.tsv
stdout_has "ranks,3,0.333333333,1,0.611111111"
printf 'A cat sleeps.\tA cat sleeps.\nA cat sleeps.\tA cat sleeps.\n' >same-text.tsv
expect 0 eval search --csv --model "$SOURCE/sample/teacher" same-text.tsv
stdout_has "same-text,2,1,1,1"
expect 0 model new --kind static --dim 64 --vocab-size 100 --text ranks.tsv narrow
expect 0 eval search --model narrow --documents "$SOURCE/sample/teacher" ranks.tsv
stderr_has "comparing the first 64 of the teacher's 128 dimensions"
expect 1 eval search --model "$SOURCE/sample/teacher" --documents no-such-model same.tsv
stderr_has "no-such-model"
expect 0 eval xsim --csv --model "$SOURCE/sample/teacher" "$SOURCE/sample/test/en-ru.tsv.gz"
awk -F , 'NR == 2 { exit !($3 > 0.9) }' stdout || fail "the teacher should not know Russian"
finish
