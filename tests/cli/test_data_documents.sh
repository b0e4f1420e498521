# calque data documents: any format as JSON lines.
. "$(dirname "$0")/common.sh"

mkdir -p docs/deep
printf '# Ein Titel\n\nEin Satz.\n' >docs/a.md
printf '<html lang=fr><title>Page</title><p>Bonjour' >docs/deep/b.html
printf 'text,year\n"one, two",1999\n' >docs/c.csv
expect 0 data documents --language none docs
stderr_has "read as csv (1 file), markdown (1 file), html (1 file)"
stderr_has "3 documents"
cat >expected <<'END'
{"id": "docs/a.md", "title": "Ein Titel", "text": "Ein Titel\n\nEin Satz."}
{"id": "docs/c.csv:2", "text": "one, two", "year": "1999"}
{"id": "docs/deep/b.html", "title": "Page", "text": "Bonjour", "language": "fr"}
END
same expected stdout

# What it prints it reads, from standard input, too.
cp stdout first
expect_from first 0 data documents --language none
same first stdout

# Refused: what it is, and where.
printf '{"text": 1.5}\n' >bad.jsonl
expect 1 data documents bad.jsonl
stderr_has "bad.jsonl:1: \"text\" is neither a string nor a whole number"
expect 1 data documents nowhere
stderr_has "nowhere: there is no such file or directory"
expect 2 data documents --format pdf docs
printf 'sch\xF6n und gr\xFC\xDF dich, mein lieber Freund aus K\xF6ln\n' >latin.txt
expect 1 data documents latin.txt
stderr_has "latin.txt:1: not UTF-8"
stderr_has "the encoding may be ISO-8859-1"
expect 0 data documents --encoding ISO-8859-1 latin.txt

# A file without a document is named; a malformed row costs that row.
printf 'id;text\r1;"a\nb"\r2;c;d\r3;e\r' >mac.csv
printf 'id,text\n' >names.csv
expect 0 data documents --language none --skip-bad mac.csv names.csv
printf '{"id": "1", "text": "a\\nb"}\n{"id": "3", "text": "e"}\n' >expected
same expected stdout
stderr_has "names.csv: no document in it"
stderr_has "skipped: mac.csv:4: 3 columns, the first row has 2"
stderr_has "1 document, file or folder was skipped"
expect 1 data documents mac.csv

finish
