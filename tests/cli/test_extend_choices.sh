# What a caller of calque extend chooses: a static student, dictionaries, glosses, the vocabulary, the losses.
. "$(dirname "$0")/common.sh"

sample=$SOURCE/sample
gzip -dc "$sample/train/en-de.tsv.gz" | head -n 1500 >de.tsv

# The caller's choices: a static student, a dev set, sizes.
expect 0 extend "$sample/teacher" --to de=de.tsv --kind static --dev "$sample/dev/en-de.tsv.gz" --vocab-size 500 --steps 40 \
  --lr 0.2 --cache cache --output static
stderr_has "the mean of word vectors (--kind); vocabulary: 500 pieces at most"
stderr_has "rates: 0.2, embeddings 0.03"
stderr_has "batches of 256 pairs (--batch)"
stderr_has "contrastive loss: weight 1 (--contrast), in the end 1"
# Its vocabulary is twice that of a student with layers, unless named.
expect 0 extend "$sample/teacher" --to de=de.tsv --kind static --steps 1 --cache cache --output pieces
stderr_has "the mean of word vectors (--kind); vocabulary: 64000 pieces at most"
# The precision that is announced is the one in use.
last="CALQUE_SIMD=portable calque extend"
CALQUE_SIMD=portable "$PROGRAM" extend "$sample/teacher" --to de=de.tsv --kind static --steps 1 --cache cache \
  --output portable >stdout 2>stderr || fail "exit code $?"
stderr_has "in f32 (--precision; this processor has no products in bf16)"
! grep -q "in bf16 (" stderr portable/README.md || fail "bf16 is announced"

# A language from its dictionary alone: text of the teacher's language is glossed, and some of that is held out.
cut -f 1 de.tsv >en.txt
cut -f 2 de.tsv >de.txt
gzip -dc "$sample/train/en-de.tsv.gz" | awk -F '\t' 'split($1, a, " ") == split($2, b, " ") { for (i in a) print a[i] "\t" b[i] }' |
  tr -d '.,?!' | sort | uniq -c | sort -k 1,1nr -k 2 | awk -v OFS='\t' '$1 > 3 { print $2, $3 }' >words.tsv
expect 0 extend "$sample/teacher" --dictionary de=words.tsv --text de=de.txt --text en.txt --steps 40 --cache cache \
  --output words
grep -q "dictionary of de: [1-9][0-9]* entries more, inflected forms in its text (--lemmas-only)" stderr || fail "no forms"
stderr_has "glossed for de: "
stderr_has "held out of de: "
stderr_has "44000 pieces at most"
stderr_has "the vocabulary's text of de: counts 4 times"
for told in '^| de | dictionary | words.tsv |$' "^| the teacher's | untranslated text | en.txt |$" '^- glossed for de: ' '^- rates: '; do
  grep -q -- "$told" words/README.md || fail "the model card lacks $told"
done
expect 0 eval translation --model words --json "$sample/dev/en-de.tsv.gz"
# The dictionary may stay as it is; one without words that are inflected has no forms.
# Compiling the rules of spelling variants would take longer than the rest, so these runs leave them out.
untrained="--text de=de.txt --text en.txt --steps 1 --lr 10 --cache cache --vocab-size 400 --keep-variants"
expect 3 extend "$sample/teacher" --dictionary de=words.tsv --lemmas-only $untrained --output lemmas
! grep -q "inflected forms" stderr || fail "forms beside lemmas"
sed 's/\t/\tdas /' words.tsv >phrases.tsv
expect 3 extend "$sample/teacher" --dictionary de=phrases.tsv $untrained --output phrases
stderr_has "dictionary of de: 0 entries more"
# In another script, the text's names are written by those that the dictionary has.
awk 'BEGIN {
  n = split("b d g k l m n p r s t v z", latin, " "); split("б д г к л м н п р с т в з", cyrillic, " ")
  for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++) for (k = j + 1; k <= n; k++)
    print toupper(latin[i]) "a" latin[j] "o" latin[k] "\t" cyrillic[i] "а" cyrillic[j] "о" cyrillic[k]
}' >names.tsv
cut -f 1 words.tsv | awk '{ print $0 "\tслово" NR }' >cyrillic.tsv
awk '$1 != "Bados" && $1 != "Gamot"' names.tsv >>cyrillic.tsv
{ cat en.txt; printf 'The house of Bados is old.\nGamot has a house.\n'; } >with_names.txt
expect 3 extend "$sample/teacher" --dictionary bg=cyrillic.tsv --text with_names.txt --steps 1 --lr 10 --cache cache \
  --vocab-size 400 --keep-variants --output names
grep -q "dictionary of bg: [1-9][0-9]* entries more, names in its letters (--lemmas-only)" stderr || fail "no names"
expect 3 extend "$sample/teacher" --dictionary bg=cyrillic.tsv --text with_names.txt --steps 1 --lr 10 --cache cache \
  --vocab-size 400 --keep-variants --lemmas-only --output no_names
! grep -q "names in its letters" stderr || fail "names beside lemmas"
# With translations the dictionary is for the vocabulary alone.
expect 0 extend "$sample/teacher" --to de=de.tsv --dictionary de=words.tsv --steps 20 --cache cache --output both
stderr_has "held out of de: 75 of 1500 sources (--dev)"
! grep -q glossed stderr || fail "glosses in addition to translations"

# ... unless glosses are requested, as extend does when translations are few and the dictionary is large.
head -n 300 de.tsv >few.tsv
expect 0 extend "$sample/teacher" --to de=few.tsv --dictionary de=words.tsv --gloss-share 0.5 --steps 10 --contrast 1 --cache cache \
  --output beside
stderr_has "glossed for de: "
stderr_has "glosses in addition to translations of de: 0.5 of the pairs drawn (--gloss-share)"
[ "$(grep -c 'held out of de' stderr)" = 1 ] || fail "glosses are measured on"
expect 2 extend "$sample/teacher" --to de=de.tsv --gloss-share 1.5 -o none
stderr_has "gloss-share"
expect 2 extend "$sample/teacher" --to de=de.tsv --dictionary de=words.tsv --gloss-share 1 -o none
stderr_has "gloss-share is 1: nothing is left for the translations"
# A dictionary of which no sentence has the words: without glosses where there are translations, an error where there are none.
printf 'zyx\twvu\nqqq\tppp\n' >other-words.tsv
expect 3 extend "$sample/teacher" --to de=few.tsv --dictionary de=other-words.tsv --gloss-share 0.5 --steps 1 --lr 10 \
  --cache cache -o unglossed
stderr_has "glossed for de: 0 of "
expect 1 extend "$sample/teacher" --dictionary de=other-words.tsv --text few.tsv --steps 1 --cache cache -o none
stderr_has "glossed for de: 0 of 300 sentences, those with 60 % of their words in the dictionary: few."
stderr_has "expected 20 or more, as there are no translations: are its columns swapped, or the languages of the texts?"
rm -rf none.extend
# What the vocabulary reads as one, and what it keeps, can be switched off.
# One step at such a rate is worse than none: 3, and the student as it began.
untrained="extend $sample/teacher --to de=few.tsv --steps 1 --lr 10 --cache cache --vocab-size 400"
expect 3 $untrained -o kept
expect 3 $untrained --drop-words --keep-variants -o fewer
[ "$("$PROGRAM" model info fewer | awk '$1 == "vocab_size" { print $2; exit }')" = 400 ] || fail "words were kept"
[ "$("$PROGRAM" model info kept | awk '$1 == "vocab_size" { print $2; exit }')" -gt 600 ] || fail "no words were kept"

# Every option of distill is one of extend.
expect 3 $untrained --keep-variants --near-misses --source-text de.txt --average 2 --schedule cosine --accumulate 2 --beta2 0.99 --clip 2 \
  --best-by mse --max-length 20 --carry-over mean --checkpoint-every 0 --log curve.jsonl -o distilled
[ -s curve.jsonl ] || fail "no log"
for option in $("$PROGRAM" distill --help | sed -nE 's/^  (-., |    )(--[a-z0-9-]+).*/\2/p'); do
  case $option in --teacher | --student | --train) continue ;; esac
  "$PROGRAM" extend --help | grep -qE -- "^  (-., |    )$option( |\$)" || fail "extend lacks $option"
done

# Hard negatives, by default with layers, where there is a contrastive loss.
expect 3 $untrained --keep-variants -o negatives
stderr_has "weight 4 (--contrast), in the end 1 (--final-contrast), temperature 0.05 (--temperature), hard negatives 4"
expect 3 $untrained --keep-variants --contrast 2 -o level
stderr_has "weight 2 (--contrast), in the end 2 (--final-contrast)"
expect 3 $untrained --keep-variants --final-contrast 0.5 -o lower
stderr_has "weight 4 (--contrast), in the end 0.5 (--final-contrast)"
expect 3 $untrained --keep-variants --hard-negatives 0 -o without
stderr_has "hard negatives 0 (--hard-negatives)"
expect 3 $untrained --keep-variants --contrast 0 -o neither
stderr_has "contrastive loss: none (--contrast)"
for loss in '--hard-negatives 2' '--final-contrast 1' '--temperature 0.1'; do
  expect 2 extend "$sample/teacher" --to de=de.tsv --kind static --contrast 0 $loss -o none
  stderr_has "of the contrastive loss, which needs a weight (contrast)"
done

expect 2 extend "$sample/teacher" --to de=de.tsv --temperature 0 -o none
stderr_has "temperature is 0, expected 0.0001 to 1000000"
expect 2 extend "$sample/teacher" --to de=de.tsv --eps 0 -o none
stderr_has "eps is 0, expected more"

# What training does otherwise is printed, and can be overruled.
expect 3 $untrained --keep-variants --weight-decay 0.25 --eps 1e-7 --dropout 0.125 --warmup 0.5 --temperature 0.25 --evaluate-every 0 \
  -o overruled
stderr_has "warm-up 0.5 (--warmup); AdamW: epsilon 1e-07 (--eps), weight decay 0.25 (--weight-decay)"
stderr_has "temperature 0.25 (--temperature)"
stderr_has "other dropout 0.125 (--dropout)"

# A model that is more accurate may be farther from the teacher's vectors: a line and the card say so.
gzip -dc "$sample/train/en-de.tsv.gz" | head -n 1500 >long.tsv
expect 0 extend "$sample/teacher" --to de=long.tsv --cache cache --steps 40 --lr 1e-3 --contrast 100 --final-contrast 100 -o risen
risen="^The MSE to the teacher's vectors has risen: de, translations [0-9.]* -> [0-9.]*; de, sources [0-9.]* -> [0-9.]*\$"
grep -q "$risen" stderr || fail "the risen MSE is not told"
grep -q "$risen" risen/README.md || fail "the risen MSE is not in the card"

# Of a language with little text there are the more pieces the more its text is balanced with the others'.
zcat "$sample"/train/en-ru*.tsv.gz | head -n 150 >ru.tsv
pieces() { # BALANCE: that have Cyrillic letters
  expect 3 extend "$sample/teacher" --to de=de.tsv --to ru=ru.tsv --steps 1 --lr 10 --cache cache --vocab-size 600 --drop-words \
    --vocab-balance "$1" -o "balance-$1"
  stderr_has "balanced between the languages by $1 (--vocab-balance)"
  n=$(LC_ALL=C.UTF-8 grep -oP '"▁?\p{Cyrillic}+"' "balance-$1/tokenizer.json" | wc -l)
}
pieces 0
as_it_is=$n
pieces 1
[ "$n" -gt $((as_it_is * 3 / 2)) ] || fail "Cyrillic pieces: $as_it_is of the text as it is, $n of as much of each language"
expect 2 extend "$sample/teacher" --to de=de.tsv --vocab-balance 1.5 -o none
stderr_has "vocab-balance"
finish
