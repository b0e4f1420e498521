# calque data sentences: any text to sentences, with their places.
. "$(dirname "$0")/common.sh"

printf '\n  Das ist ein Satz. Er beginnt\nam 3. Mai.\n\nKein Ende' >a.txt
expect 0 data sentences --language de a.txt
printf 'a.txt\t1\t3\tDas ist ein Satz.\na.txt\t2\t21\tEr beginnt\na.txt\t3\t32\tam 3. Mai.\na.txt\t4\t44\tKein Ende\n' >expected
same expected stdout
stderr_has "4 sentences of 1 document"

# JSON has the bytes as they are; they are the file's own.
printf '\xEF\xBB\xBFOne\ttab. Two "quotes"\xE2\x80\xA6 Three.' >b.txt
expect 0 data sentences --json --language en b.txt
cat >expected <<'END'
{"id": "b.txt", "number": 1, "begin": 0, "end": 8, "sentence": "One\ttab."}
{"id": "b.txt", "number": 2, "begin": 9, "end": 24, "sentence": "Two \"quotes\"…"}
{"id": "b.txt", "number": 3, "begin": 25, "end": 31, "sentence": "Three."}
END
same expected stdout

# A folder, documents of several formats, their own languages; a language is identified.
mkdir -p docs
printf '# Titel\n\nHier wohnt Dr. Klein. Er ist Arzt.\n' >docs/a.md
printf '{"id": "x", "lang": "fr", "text": "M. Durand est ici. Et vous ?"}\n' >docs/b.jsonl
printf '{"id": "y", "lang": "xx", "text": "Aba ebe. Ibi obo."}\n' >>docs/b.jsonl
expect 0 data sentences docs
printf 'docs/a.md\t1\t0\tTitel\ndocs/a.md\t2\t7\tHier wohnt Dr. Klein.\ndocs/a.md\t3\t29\tEr ist Arzt.\n' >expected
printf 'x\t1\t0\tM. Durand est ici.\nx\t2\t19\tEt vous ?\ny\t1\t0\tAba ebe.\ny\t2\t9\tIbi obo.\n' >>expected
same expected stdout
stderr_has "no rules for the language xx: split at Unicode's boundaries (1 of 3 documents)"

# Standard input; lines are documents if that is requested.
printf 'It rains. Go home.\nThree.\n' >lines
expect_from lines 0 data sentences --language en --format lines
printf '<stdin>:1\t1\t0\tIt rains.\n<stdin>:1\t2\t10\tGo home.\n<stdin>:2\t1\t0\tThree.\n' >expected
same expected stdout
expect_from lines 0 data sentences --language en
cut -f 2-4 stdout >got
printf '1\t0\tIt rains.\n2\t10\tGo home.\n3\t19\tThree.\n' >expected
same expected got

# Nothing, and what is no text.
: >empty.txt
expect 0 data sentences empty.txt
stdout_is_empty
stderr_has "0 sentences of 1 document"
head -c 1000 /dev/zero >binary.bin
expect 1 data sentences binary.bin
stderr_has "is in no format of documents that calque reads"
printf 'sch\xF6n und gr\xFC\xDF dich, mein lieber Freund aus K\xF6ln\n' >latin.txt
expect 1 data sentences latin.txt
stderr_has "latin.txt: byte 3: not UTF-8"
stderr_has "the encoding may be ISO-8859-1"
expect 0 data sentences --encoding ISO-8859-1 latin.txt
expect 1 data sentences nowhere.txt

# A line of 16 MiB: every byte but the blanks between sentences comes back.
yes 'Hier steht ein Satz. Und noch einer, Nr. 2 davon.' | head -c $((16 << 20)) | tr '\n' ' ' >long.txt
expect 0 data sentences --language de long.txt
[ "$(cut -f 4 stdout | tr -d ' \n' | wc -c)" -eq "$(tr -d ' ' <long.txt | wc -c)" ] || fail "text was lost"
[ "$(wc -l <stdout)" -gt 600000 ] || fail "too few sentences"

finish
