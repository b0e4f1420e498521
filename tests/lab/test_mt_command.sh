# calque eval mt: BLEU, chrF and METEOR, and what is refused.
. "$(dirname "$0")/../cli/common.sh"

golden=$SOURCE/tests/golden/mt
expect 0 eval mt "$golden/hypotheses.txt" "$golden/reference-1.txt"
stderr_is_empty
stdout_has "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:calque-"
stdout_has "nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no|version:calque-"
grep -q '^BLEU  *67\.63  ' stdout || fail "BLEU is not 67.63"
grep -q '^METEOR, mean  ' stdout || fail "the mean of METEOR is missing"
lines_are stdout 6
# scores.txt has the same figure for these settings.
score=$(awk '/^bleu intl exp -1 1 0 3 / { printf "%.9g", $8 }' "$golden/scores.txt")
expect 0 eval mt "$golden/hypotheses.txt" "$golden"/reference-[123].txt --measure bleu --tokens intl --lowercase --json
stdout_has "\"score\": $score, \"signature\": \"nrefs:3|case:lc|eff:no|tok:intl|smooth:exp|version:calque-"
expect 0 eval mt "$golden/hypotheses.txt" "$golden/reference-1.txt" --smooth floor --smooth-value 0.01 --csv
stdout_has "|smooth:floor[0.01]|"

printf 'The houses are big.\n\nA car\n' >h
printf 'The house is big.\n\nAn automobile\n' >r
printf 'car\tautomobile\n' >sets
gzip -c r >r.gz
expect 0 eval mt h r.gz -s --language en --synonyms sets --json
stdout_has '"n_exact": 3, "n_stem": 1, "n_synonym": 1,'
stdout_has '"sentences": ['
python3 -c 'import json; json.load(open("stdout"))' 2>/dev/null || ! command -v python3 >/dev/null || fail "no JSON"
expect 0 eval mt h r -s --measure meteor --measure bleu --csv
stdout_has "sentence,bleu,meteor"
stdout_has "2,0,0"
expect 0 eval mt h r --measure chrf --table latex
stdout_has '  chrF & '
stdout_has ' & nrefs:1\textbar{}case:mixed\textbar{}eff:yes'
expect_from h 0 eval mt - h --measure chrf
stdout_has "100.00"

# A language without a stemmer: equal words alone, with one note. The language decides the tokenization.
expect 0 eval mt h r --language zh
stderr_has "no stemmer for the language 'zh', only equal words match"
lines_are stderr 1
stdout_has "|tok:zh|smooth:exp|"
stdout_has "|tok:zh|stem:no|"
grep -q '^chrF  ' stdout || fail "chrF is missing"
for pair in zh-TW:zh zh_Hans:zh yue:zh ja:char th:char km:char lo:char my:char ko:13a de:13a thx:13a; do
  expect 0 eval mt h r --language "${pair%:*}" --csv
  stdout_has "|tok:${pair#*:}|smooth:exp|"
  stdout_has "|case:lc|tok:${pair#*:}|"
done
yes 我喜欢吃苹果，也喜欢看电影和听音乐。 | head -n 3 >zh
expect 0 eval mt zh zh
stderr_has "the references hardly have blanks"
expect 0 eval mt zh zh --language zh --measure bleu
stderr_is_empty
expect 0 eval mt h r --language ja --tokens intl --measure bleu --csv
stdout_has "|tok:intl|"
stderr_is_empty

expect 2 eval mt h
expect 2 eval mt h r --json --csv
expect 2 eval mt h r --measure ter
stderr_has "measure is 'ter', expected one of bleu, chrf, chrf++, meteor"
expect 2 eval mt h r --tokens 14
expect 2 eval mt h r --alpha 2
expect 2 eval mt h r --smooth-value -2
printf 'one\n' >short
expect 1 eval mt h short
stderr_has "short:2: the file ends after 1 line"
expect 1 eval mt short h
stderr_has "h:2: one line more than the 1 of short"
printf 'a\nb\xff\nc\n' >broken
expect 1 eval mt broken r
stderr_has "broken:2: not UTF-8"
: >empty
expect 1 eval mt empty r
stderr_has "empty: the file is empty"
expect 1 eval mt h nowhere
stderr_has "nowhere: cannot open"
printf 'car\n' >sets
expect 1 eval mt h r --synonyms sets
stderr_has "sets:1: 1 column"
stdout_is_empty
expect 1 eval mt - -
stderr_has "only one of the files can be standard input"
finish
