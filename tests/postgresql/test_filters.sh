# Filters find in a database what they find in files, whatever is in them: values are bound.
. "$(dirname "$0")/common.sh"
TEACHER=$SOURCE/sample/teacher
new_database filtered
cat >some.jsonl <<'END'
{"id":"a","text":"The train to Vienna is late","language":"en","year":2020,"tags":["x","y"],"s":"2019","draft":true,"o":{"p":1.50}}
{"id":"b","text":"Der Zug nach Wien ist spät","language":"de","year":2021,"tags":["z"],"s":"10e1","draft":false}
{"id":"c'; drop table calque.document; --","text":"Two dogs play","language":"e\"n'","year":"1999","s":"abc","n":null,"k'; --":"v\\'\""}
{"id":"d","text":"A cat sleeps","title":"Cats'); --","url":"http://x/$1","s":"-3.5","o":{"p":"7"},"o.p":9,"x.y":[1,2]}
{"id":"e","text":"E'\\x00' || pg_sleep(9)","s":"1e999","year":1e300,"draft":"true"}
END
"$PROGRAM" index new --model "$TEACHER" files.index 2>/dev/null
"$PROGRAM" index add files.index some.jsonl 2>/dev/null || fail "no index"
expect 0 index copy files.index --to "$ADDRESS"
while read -r filter; do
  expect 0 search files.index train --filter "$filter" --exact
  cut -f 2 stdout | sort >of-files
  expect 0 search "$ADDRESS" train --filter "$filter"
  cut -f 2 stdout | sort >of-database
  same of-files of-database
  cat of-files >>found
done <<'END'
year >= 2020
year = 2020
lang = de
lang = DE
lang in [EN, de]
lang != en
lang = ""
year < 2000 or s = "-3.5"
year > 1e200
tags = x
tags in [z, y]
not has tags
has n
has o
has url
s < 100
s = 100
s >= -4
s != abc
draft = true
draft = false
o.p > 1.4
o.p = 1.5
o.p = "1.5"
o.p = 9
o.p = 7
x.y = 2
has x.y
id = "c'; drop table calque.document; --"
lang = "e\"n'"
lang > de
title = "Cats'); --"
url = "http://x/$1"
"k'; --" = "v\\'\""
tags = "x' OR 1=1 --"
year not in [2020, 1999]
not (year >= 2020 or lang = de)
END
[ "$(wc -l <found)" -gt 30 ] || fail "the filters find $(wc -l <found) documents"
expect 1 search "$ADDRESS" train --filter "year >>"
stderr_has "filter: at byte 7: expected a value"
expect 0 search "$ADDRESS" train --language "e\"n'"
lines_are stdout 1
expect 0 search "$ADDRESS" train --language "' OR true --"
stdout_is_empty
expect 0 search "$ADDRESS" "'; DROP TABLE document; --" --ranking hybrid
lines_are stdout 5
expect 0 index get "$ADDRESS" "c'; drop table calque.document; --"
stdout_has 'Two dogs'
expect 0 index remove "$ADDRESS" "' OR true --"
stderr_has "removed 0 of 1"
expect 0 index remove "$ADDRESS" "c'; drop table calque.document; --"
is_consistent
[ "$(sql -c 'SELECT count(*) FROM calque.document')" = 4 ] || fail "documents are missing"
finish
