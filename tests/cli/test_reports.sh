# Inputs like those of public bug reports of other tools (docs/notes/2026-11-reports.md), where calque was wrong, too.
. "$(dirname "$0")/common.sh"

model="--model $TEACHER"
printf 'A dog barks.\n' >one.txt
pairs 6 >six.tsv
cut -f 1 six.tsv >six.txt

# int8: the range of one vector is empty, and a calibration may have numbers that are not finite.
for calibration in "" "--calibration one.txt"; do
  expect 1 encode $model --output-type int8 --output out.npy $calibration one.txt
  stderr_has "all vectors that define the ranges are the same; --calibration FILE takes them from other sentences"
  absent out.npy
done
expect 0 encode $model --output ranges.npy six.txt
dim=$(($(($(wc -c <ranges.npy) - 128)) / 24))
expect 0 encode $model --output-type int8 --calibration ranges.npy --output out.npy one.txt
printf '\0\0\300\177' | dd of=ranges.npy bs=1 seek=$((128 + 4 * dim * 2 + 4)) conv=notrunc status=none
expect 1 encode $model --output-type int8 --calibration ranges.npy --replace --output out.npy one.txt
stderr_has "ranges.npy: row 3 has a number that is not finite"

# A weight that is too large for f16 would become infinite.
begin=$(head -c 8000 "$TEACHER/model.safetensors" | tr -d '\0' | grep -ao '"embeddings.word_embeddings.weight":{[^}]*' |
  grep -o 'offsets":\[[0-9]*' | grep -o '[0-9]*$')
at=$(($(od -An -tu8 -N8 "$TEACHER/model.safetensors") + 8 + begin))
cp -r "$TEACHER" wide
printf '\000\044\164\111' | dd of=wide/model.safetensors bs=1 seek=$((at + 4)) conv=notrunc status=none
expect 1 model quantize wide --precision f16 --output narrow
stderr_has "calque: tensor 'embeddings.word_embeddings.weight': 1e+06 at element 1 does not fit F16"
absent narrow
expect 0 model quantize wide --precision bf16 --output narrow

# A model with a weight that is not a number: the command fails at the text, and a server answers 503.
rm -rf wide
cp -r "$TEACHER" wide
for piece in '\[UNK\]' '##alt'; do # ##alt: in "health", the text that /health encodes
  id=$(grep -o "\"$piece\": *[0-9]*" "$TEACHER/tokenizer.json" | tail -n 1 | grep -o '[0-9]*$')
  [ "$id" -gt 0 ] || fail "there is no token $piece"
  printf '\000\000\300\177' | dd of=wide/model.safetensors bs=1 seek=$((at + 4 * dim * id)) conv=notrunc status=none
done
printf 'fine\tfine\n\u9f98\tfine\nriver\triver\n' >unknown.tsv
for command in "encode --tsv 1" "similarity --tsv" "eval translation" "eval mse --teacher wide" "eval xsim"; do
  expect 1 $command unknown.tsv --model wide
  stderr_has "the model gives a vector with"
done
expect 1 similarity --model wide fine $'\u9f98'
"$PROGRAM" serve --model wide --port 0 --quiet >served 2>&1 &
server=$!
for ((i = 0; i < 100; i++)); do
  port=$(grep -o '127.0.0.1:[0-9]*' served | head -n 1)
  [ -n "$port" ] && break
  sleep 0.1
done
if command -v curl >/dev/null; then
  for format in float base64; do
    code=$(curl -s -o answer -w '%{http_code}' -H 'Content-Type: application/json' \
      -d '{"input": ["fine", "\u9f98"], "encoding_format": "'$format'"}' "http://$port/v1/embeddings")
    [ "$code" = 503 ] || fail "$format: $code"
    grep -q 'not finite' answer || fail "$format: $(cat answer)"
  done
  code=$(curl -s -o answer -w '%{http_code}' -H 'Content-Type: application/json' -d '{"inputs": "fine"}' "http://$port/embed")
  [ "$code" = 200 ] || fail "another text: $code"
  code=$(curl -s -o answer -w '%{http_code}' "http://$port/health")
  [ "$code" = 503 ] || fail "health: $code $(cat answer)"
fi
kill "$server"
wait "$server" 2>/dev/null

# Padding to a fixed length, which tokenizer.json may have, is not part of the text.
rm -r wide
cp -r "$TEACHER" wide
sed -i 's/"padding": *null/"padding":{"strategy":{"Fixed":32},"direction":"Right","pad_to_multiple_of":null,"pad_id":0,"pad_type_id":0,"pad_token":"[PAD]"}/' wide/tokenizer.json
grep -q '"Fixed":32' wide/tokenizer.json || fail "tokenizer.json has its padding elsewhere"
for padded in wide "$TEACHER"; do expect 0 encode --model "$padded" --replace --output "$(basename "$padded").npy" six.txt; done
same wide.npy "$(basename "$TEACHER").npy"

# Mining that finds nothing says so.
expect 0 mine $model --cache cache six.txt one.txt --threshold 99
stdout_is_empty
stderr_has "no pairs: none meets the conditions"

# Rows are not quoted: quotation marks as in CSV are kept, and reported.
printf '"He said ""yes"" to it."\t"Er hat ""ja"" gesagt."\n"Yes," he said.\t"Ja."\n""\t""""\n"a" "b"\tc\n' >quoted.tsv
expect 0 data convert --from tsv quoted.tsv
stdout_has '"He said ""yes"" to it."'
stderr_has "2 rows have fields quoted as in CSV; the quotation marks are kept"
expect 0 data filter six.tsv
grep -q quoted stderr && fail "nothing is quoted in six.tsv"

# Tables and JSON are encoded line by line, and a notice says so.
for format in csv jsonl; do
  cp six.txt table.$format
  expect 0 encode $model table.$format
  stderr_has "table.$format: each line is encoded as it is"
done
expect 0 encode $model six.tsv
stderr_has "six.tsv: each line is encoded as it is; --tsv takes a column"
expect 0 encode $model --tsv 2 six.tsv
stderr_is_empty

# Line ends of old Macs: a return ends lines where no newline does.
printf 'first\rsecond\rthird' >returns.txt
printf 'first\nsecond\nthird\n' >newlines.txt
for text in returns newlines; do expect 0 encode $model --output $text.npy $text.txt; done
same returns.npy newlines.npy
expect 0 data convert --from moses returns.txt newlines.txt
stdout_has "third	third"
printf 'a\rb\nc\n' >inside.txt
expect 0 encode $model inside.txt
lines_are stdout 2
printf '{"id":"1","text":"a"}\r{"id":"2","text":"b"}\r' >returns.jsonl
expect 0 data documents returns.jsonl
lines_are stdout 2

# Sentences of which only some have an id; an id that is a list.
printf 'one dog\nb\ttwo cats\n' >mixed.txt
expect 1 mine $model --cache cache mixed.txt six.txt
stderr_has "mixed.txt:2: a tab, but line 1 has none: expected an id and a tab in all lines, or in none"
printf '{"id": ["1", "2"], "text": ["a", "b"]}' >columns.json
expect 1 data documents columns.json
stderr_has '"id" is neither a string nor a whole number'
printf '{"id": ["1"], "text": ["a", "b"]}' >list.json
expect 0 data documents list.json
stdout_has '{"id": "1", "text": "a\nb"}'

# Outputs: a link stays, and keeps the old content if the command fails; a pipe is not replaced by a file.
expect 0 encode $model --output direct.npy six.txt
expect 0 encode $model --output direct.jsonl six.txt
printf 'fine\nbad \xff byte\n' >bad.txt
mkdir kept
for format in npy jsonl; do
  echo old >kept/out.$format
  ln -s kept/out.$format link.$format
  expect 1 encode $model --replace --batch 1 --output link.$format bad.txt
  [ "$(cat kept/out.$format)" = old ] || fail "a failed command has changed what link.$format points to"
  expect 0 encode $model --replace --output link.$format six.txt
  [ -L link.$format ] || fail "link.$format is no link any more"
  same kept/out.$format direct.$format
done
mkfifo pipe.npy
expect 1 encode $model --replace --output pipe.npy six.txt
stderr_has "pipe.npy: cannot create: it exists and is not a regular file"
[ -p pipe.npy ] || fail "the pipe is gone"

# STS: equal sentences have equal cosines, whatever is rounded.
awk '{ printf "%s\t%s\t%d\n", $0, $0, NR }' six.txt >equal.tsv
expect 0 eval sts $model equal.tsv
stdout_has "undefined     undefined"

# Languages match their regional forms, in any spelling; what matches nothing is reported.
cat >docs.jsonl <<'END'
{"id": "a", "text": "a dog", "language": "DE"}
{"id": "b", "text": "a dog", "language": "de-AT"}
{"id": "c", "text": "a dog", "language": "de_CH", "Year": 2020, "a.b": 3, "a": {"c": 4}}
{"id": "d", "text": "a dog", "language": "den"}
{"id": "e", "text": "a dog", "language": "en"}
{"id": "f", "text": "a dog", "language": "DEU"}
{"id": "g", "text": "a dog", "language": "ger_AT"}
{"id": "h", "text": "a dog", "language": "deut"}
END
expect 0 index new $model docs.index
expect 0 index add docs.index --language none docs.jsonl
found() { # IDS OPTION...
  expect 0 search docs.index "a dog" "${@:2}"
  [ "$(cut -f 2 stdout | LC_ALL=C sort | tr -d '\n')" = "$1" ] || fail "$* finds $(cut -f 2 stdout | tr -d '\n')"
}
for code in de DE " de " deu GER; do found abcfg --language "$code"; done
for code in de-AT DE_at deu-at; do found bg --language "$code"; done
found abcefg --filter 'lang in [De, eng]'
found deh --filter 'lang != de'
found deh --filter 'not lang = deu'
found "" --language de-DE
stderr_has "no document matches --language de-DE; the index has: DE, DEU, de-AT, de_CH, den, deut, en, ger_AT"
found "" --filter 'year = 2020'
stderr_has "no document matches --filter; names of fields are case-sensitive"
found c --filter 'Year = 2020'
stderr_is_empty
for filter in 'a.b = 3' '"a.b" = 3' 'a.c = 4' 'has a.b'; do found c --filter "$filter"; done
for query in "" " " "$(printf '\t\n ')"; do
  expect 2 search docs.index "a dog" "$query"
  stderr_has "query 2 is blank"
done

# Pages that declare an encoding that they do not have.
printf '<meta charset=utf-8><p>caf\xe9' >declared.html
expect 0 data documents declared.html
stdout_has '"text": "café"'
stderr_has "declared.html: declares utf-8, which it is not: read as windows-1252"
printf '<meta charset=utf-8><p>gr\xc3\xbcn <p>bad \xff' >half.html
expect 0 data documents half.html
stdout_has '"text": "grün\nbad �"'
stderr_has "half.html: bytes that are not utf-8 became U+FFFD in 1 place"
finish
