# calque data language: which language each line is in.
. "$(dirname "$0")/common.sh"

printf 'Morgen fahren wir mit dem Zug in die Stadt\n12:30\nЗавтра мы поедем на поезде в город\n' >mixed.txt
expect 0 data language mixed.txt
cut -f1 stdout >codes
printf 'de\nund\nru\n' >expected
same expected codes
cp stdout first
expect_from mixed.txt 0 data language
same first stdout
expect 0 data language --list
for code in de dz mt so yo zu; do grep -qx "$code" stdout || fail "$code is not listed"; done
sort -cu stdout || fail "codes are not in order"
[ "$(wc -l <stdout)" -ge 150 ] || fail "fewer than 150 languages"
expect 2 data language --list mixed.txt
expect 1 data language nowhere.txt
stderr_has "nowhere.txt"
printf 'ein Satz\n\xFF\nein Satz\n' >bad.txt
expect 1 data language bad.txt
stderr_has "bad.txt:2"
expect 0 data language --skip-bad bad.txt
stderr_has "1 malformed line"

# Rows in another language than they should be in; documents whose language is to be identified.
printf 'Tomorrow we will take the train to the city.\tMorgen fahren wir mit dem Zug in die Stadt.\n' >good.tsv
{ cat good.tsv; printf 'We are going to the city now.\tDemain nous prendrons le train pour aller en ville.\n'; } >rows.tsv
expect 0 data filter --languages en,de-AT --other-language 0.9 rows.tsv
same good.tsv stdout
stderr_has "1 another language"
expect 0 data filter --languages eng,ger-AT --other-language 0.9 rows.tsv
same good.tsv stdout
expect 0 data filter --languages en,de rows.tsv
same rows.tsv stdout
expect 2 data filter --languages en,la --other-language 0.9 rows.tsv
stderr_has "'la' is not a language that calque identifies"
expect 2 data filter --other-language 0.9 rows.tsv
stderr_has "other-language needs languages"
printf '{"id": "a", "text": "Demain nous prendrons le train pour aller en ville."}\n' >d.jsonl
printf '{"id": "b", "text": "Demain nous prendrons le train.", "language": "xx"}\n{"id": "c", "text": "12"}\n' >>d.jsonl
expect 0 data documents --language auto d.jsonl
grep -q '"a".*"language": "fr"' stdout || fail "a is not French"
grep -q '"b".*"language": "xx"' stdout || fail "b does not keep its language"
grep '"c"' stdout | grep -q language && fail "c has a language"

finish
