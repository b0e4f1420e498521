# calque clir: build, expand, run, validate, on two little collections that are written here.
. "$(dirname "$0")/../cli/common.sh"

# English and Dutch on eight subjects, four and three documents each; names are spelled the same in both. Every document has its
# subject's words, in an order of its own.
subjects='river,water,boat,bank,Amstel|rivier,bootje,oever,stroom,Amstel
bread,oven,flour,baker,Zeeuws|brood,meel,bakker,deeg,Zeeuws
train,station,ticket,track,Utrecht|trein,kaartje,spoor,wissel,Utrecht
school,teacher,lesson,pupil,Montessori|leraar,klas,leerling,boek,Montessori
garden,flower,spade,hedge,Keukenhof|tuin,bloem,schep,heg,Keukenhof
doctor,nurse,fever,medicine,Boerhaave|dokter,zuster,koorts,pil,Boerhaave
painter,canvas,brush,color,Vermeer|schilder,doek,kwast,kleur,Vermeer
bicycle,wheel,chain,saddle,Gazelle|fiets,wiel,ketting,zadel,Gazelle'
collection() { # LANGUAGE COLUMN DOCUMENTS COMMON
  echo "$subjects" | cut -d '|' -f "$2" | awk -F , -v code="$1" -v n="$3" -v common="$4" '{
    for (d = 1; d <= n; d++) {
      printf "<DOC>\n<DOCNO>%s-%d-%d</DOCNO>\n<TEXT>\n", code, NR, d
      for (i = 0; i < 10; i++) printf "%s ", $((i * d + d) % NF + 1)
      printf "%s\n", common
      for (i = 0; i < 5; i++) printf "%s ", $((i + d) % NF + 1)
      printf "\n</TEXT>\n</DOC>\n"
      print NR, 0, code "-" NR "-" d, 1 >"qrels." code
    }
    printf "<top>\n<num>%d</num>\n<title>%s %s</title>\n</top>\n", NR, $1, $2 >"topics." code
    if (NR == 1) printf "<DOC>\n<DOCNO>%s-empty</DOCNO>\n<TEXT></TEXT>\n</DOC>\n", code
  }' >"docs.$1"
}
collection en 1 4 "people often say that"
collection nl 2 3 "mensen zeggen vaak dat"
printf 'often\nthat\n' >stop.en
printf 'vaak\ndat\n' >stop.nl
sources="--languages en,nl --docs docs.% --topics topics.% --qrels qrels.% --stop-words stop.%"
base="--lr 0.05 --sample 0 --dim 16"
learn="$base --epochs 40 --window 5 --threads 1"
ranks_well() { # RUN QRELS MIN
  expect 0 eval retrieval --measure map "$2" "$1"
  awk -F '\t' -v min="$3" '{ exit !($3 >= min) }' stdout || fail "$1: MAP is $(cut -f 3 stdout), expected $3"
}

# Build, twice the same.
expect 0 clir build vectors.txt $sources $learn
stdout_is_empty
stderr_has "wrote vectors.txt"
expect 0 clir build again.txt $sources $learn --work indexes
same vectors.txt again.txt
[ -d indexes/en.lexical ] && [ -d indexes/nl.lexical ] || fail "--work does not keep the indexes"
expect 1 clir build again.txt $sources $learn --work indexes
stderr_has "indexes: already exists"
gzip -c docs.en >zipped.en
cp docs.nl zipped.nl
expect 0 clir build again.txt $learn --languages en,nl --docs 'zipped.%' --topics 'topics.%' --qrels 'qrels.%' --stop-words 'stop.%'
same vectors.txt again.txt
expect 0 clir build other.txt $sources $learn --mix at-random
cmp -s vectors.txt other.txt && fail "--mix changes nothing"

# Expand: words of the other language on the same subject; unknown words give nothing.
expect 0 clir expand vectors.txt "rivers unheard" $sources --from en --to nl --tau 3
lines_are stdout 3
awk -F '\t' '$1 != "river" || $2 > 1 || $3 !~ /^(rivier|boot|oever|strom|stroom|amstel)/' stdout | grep -q . && fail "the neighbors of river are of other subjects"
expect 0 clir expand vectors.txt "unheard" $sources --from en --to nl
stdout_is_empty
stderr_has "the text has none of the words of 'unheard'"
expect 0 clir expand vectors.txt "river boat" $sources --from en --to nl --method sum --tau 2
lines_are stdout 2
[ "$(cut -f 1 stdout | sort -u)" = "*" ] || fail "the sum has no word of its own"
expect 0 clir expand vectors.txt "Gazelle" $sources --from en --to nl --tau 1 --json
stdout_has '{"from": "gazell'
stdout_has '"to": "gazell' # the name is one word, whatever the language

expect 2 clir expand "Gazelle" $sources --from en --to nl
stderr_has "only --method cognates works without vectors"
expect 0 clir expand "The Gazelle" unheard $sources --from en --to nl --method cognates
[ "$(cut -f 1,2 stdout | head -n 1)" = "$(printf 'gazelle\t1.0000')" ] || fail "a name is itself in the other language"
stderr_has "the text has none of the words of 'unheard'"

# Run: by words, by their sum, by documents; and without vectors in one language.
for options in "" "--method sum" "--method documents" "--weighted" "--csls 5" "--keep-words"; do
  expect 0 clir run vectors.txt $sources --from en --to nl --tag mine $options
  cp stdout run
  [ "$(awk 'NF != 6 || $2 != "Q0" || $6 != "mine"' run | wc -l)" -eq 0 ] || fail "not a run: $options"
  ranks_well run qrels.nl 0.75
done
expect 0 clir run vectors.txt $sources --from en --to nl
cp stdout plain.run
expect 0 clir run vectors.txt $sources --from en --to nl --idf
cp stdout idf.run
ranks_well idf.run qrels.nl 0.75
cmp -s plain.run idf.run && fail "--idf changes nothing"
expect 1 clir run vectors.txt $sources --from en --to nl --idf --method sum
stderr_has "idf weighs the translations of single words"
expect 0 clir run vectors.txt $sources --from en --to nl --feedback 5
cp stdout feedback.run
ranks_well feedback.run qrels.nl 0.75
cmp -s plain.run feedback.run && fail "--feedback changes nothing"
expect 1 clir run vectors.txt $sources --from en --to nl --feedback 5 --method documents
stderr_has "feedback weighs the translations of single words"
expect 0 clir run vectors.txt $sources --from en --to nl --feedback 0
same plain.run stdout
# By vectors of sentences: a run of all topics, the same on any number of threads.
expect 0 clir dense --model "$TEACHER" docs.en topics.nl --top 3 --tag dense --threads 1
cp stdout dense.run
[ "$(cut -d ' ' -f 1 dense.run | sort -u | wc -l)" -eq "$(grep -c '<num>' topics.nl)" ] || fail "topics are missing"
[ "$(cut -d ' ' -f 6 dense.run | sort -u)" = dense ] || fail "the tag is missing"
expect 0 clir dense --model "$TEACHER" docs.en topics.nl --top 3 --tag dense --threads 2
same dense.run stdout
expect 1 clir dense --model nowhere docs.en topics.nl
stdout_is_empty
# A reranker orders the first two documents; the third keeps its rank, with a score below.
RERANKERS=$SOURCE/tests/golden/rerankers
expect 0 clir dense --model "$TEACHER" docs.en topics.nl --top 3 --rerank "$RERANKERS/bert" --rerank-depth 2
cp stdout reranked.run
cmp -s <(cut -d ' ' -f 1,3 dense.run) <(cut -d ' ' -f 1,3 reranked.run) && fail "--rerank changes no order"
cmp -s <(cut -d ' ' -f 1,3 dense.run | sort) <(cut -d ' ' -f 1,3 reranked.run | sort) || fail "other documents"
cmp -s <(awk '$4 == 3' dense.run | cut -d ' ' -f 3) <(awk '$4 == 3' reranked.run | cut -d ' ' -f 3) ||
  fail "the third has moved"
awk '$1 == topic && $5 > score { exit 1 } { topic = $1; score = $5 }' reranked.run || fail "scores rise"
awk '$4 == 1' reranked.run | sed 's/ calque$//' >first
expect 0 clir dense --model "$TEACHER" docs.en topics.nl --top 1 --rerank "$RERANKERS/bert" --rerank-depth 2 --threads 1
sed 's/ calque$//' stdout >one.run
same first one.run
# Its scores are transformers' logits: tests/golden/rerankers/bert/logits.npy.
echo "<top><num>1</num><title>$(head -n 1 "$RERANKERS/pairs.tsv" | cut -f 1)</title></top>" >topic
head -n 5 "$RERANKERS/pairs.tsv" | awk -F '\t' '{ printf "<DOC><DOCNO>%d</DOCNO><TEXT>%s</TEXT></DOC>\n", NR, $2 }' >five
expect 0 clir dense --model "$TEACHER" five topic --rerank "$RERANKERS/bert"
lines_are stdout 5
awk '$3 == 1 && ($5 - 0.3041) ^ 2 < 1e-8 || $3 == 2 && ($5 - 0.9954) ^ 2 < 1e-8' stdout >right
lines_are right 2
sed -n '7p' "$RERANKERS/pairs.tsv" | awk -F '\t' '{ printf "<DOC><DOCNO>6</DOCNO><TEXT>%s</TEXT></DOC>\n", $2 }' >>five
expect 0 clir dense --model "$TEACHER" five topic --rerank "$RERANKERS/xlmr"
stderr_has "of 6 pairs of query and passage were longer than the reranker's 40 tokens and were truncated"
expect 1 clir dense --model "$TEACHER" docs.en topics.nl --rerank "$TEACHER"
stderr_has "an embedding model, expected a reranker"
stdout_is_empty
expect 2 clir dense --model "$TEACHER" docs.en topics.nl --rerank "$RERANKERS/bert" --rerank-depth 0
expect 0 clir run vectors.txt $sources --from nl --to en --top 2
[ "$(awk '$1 == 1' stdout | wc -l)" -eq 2 ] || fail "--top 2 gives another number"
expect 0 clir run $sources --from en --to en
cp stdout run
ranks_well run qrels.en 0.9
grep -q "en-empty" run && fail "an empty document was found"
expect 2 clir run $sources --from en --to nl
stderr_has "no VECTORS"

# A fold: what is not known of it changes nothing, byte for byte.
fold="--from en --hold-out 2 --folds 4 --kappa 2"
expect 0 clir build fold.txt $sources $learn $fold
expect 0 clir run fold.txt $sources --from en --to nl --hold-out 2 --folds 4
cp stdout fold.run
[ "$(cut -d ' ' -f 1 fold.run | sort -u | tr '\n' ' ')" = "2 6 " ] || fail "the fold is not topics 2 and 6"
awk '{ print $1, $2, $3, ($1 == 2 || $1 == 6) && /1$/ ? 0 : $4 }' qrels.en >blind.en
awk '$1 != 2 && $1 != 6' qrels.nl >blind.nl
echo "6 0 nl-1-1 1" >>blind.nl
cp topics.en titles.en
sed -e 's/brood meel/geheel anders Vermeer/' -e 's/dokter zuster/bread flour/' topics.nl >titles.nl
cmp -s titles.nl topics.nl && fail "the titles were not changed"
hidden="--languages en,nl --docs docs.% --topics titles.% --qrels blind.% --stop-words stop.%"
expect 0 clir build blind.txt $hidden $learn $fold
same fold.txt blind.txt
expect 0 clir run blind.txt $hidden --from en --to nl --hold-out 2 --folds 4
same fold.run stdout
for order in en,nl nl,en; do # the order of languages is no way around it
  expect 0 clir build seen.txt --languages $order --docs 'docs.%' --topics 'topics.%' --qrels 'qrels.%' $learn $fold
  expect 0 clir build unseen.txt --languages $order --docs 'docs.%' --topics 'titles.%' --qrels 'blind.%' $learn $fold
  same seen.txt unseen.txt
done
expect 0 clir build other.txt $hidden $base --epochs 40 --window 5 --threads 1 --from en --hold-out 1 --folds 4 --kappa 2
expect 0 clir build seen.txt $sources $learn --from en --hold-out 1 --folds 4 --kappa 2
cmp -s seen.txt other.txt && fail "judgements of the other folds change nothing"

# Validate: a run of all topics; the same with any number of threads.
choices="--kappa 1 --kappa 2 --window 4 --tau 1 --tau 3"
expect 0 clir validate $sources $base --epochs 10 --from en --to nl --folds 4 $choices --threads 1
cp stdout all.run
stderr_has "fold 4: kappa "
stderr_has "over all topics"
expect 0 clir validate $sources $base --epochs 10 --from en --to nl --folds 4 $choices --threads 3
same all.run stdout
expect 0 clir validate $sources $base --epochs 10 --from en --to nl --folds 2 --group 4 --kappa 1 --window 4 --tau 2
[ "$(cut -d ' ' -f 1 stdout | sort -u | wc -l)" -ge 4 ] || fail "topics are missing"
expect 0 clir validate $sources $base --epochs 10 --from en --to nl --folds 2 --kappa 1 --window 4 --tau 2 --idf --feedback 3
cp stdout longer.run
ranks_well longer.run qrels.nl 0.3
expect 1 clir validate $sources --from en --to nl --folds 5 --group 2 $choices
stderr_has "5 folds of groups of 2 topics, of 8 in all"
expect 1 clir validate $sources --from en --to nl --folds 5 --group 2 --method cognates
stderr_has "5 folds of groups of 2 topics, of 8 in all"
expect 2 clir validate $sources --from en --to nl --kappa many
stderr_has "--kappa is 'many'"

# By words that are spelled alike: no vectors, the same with any number of threads, and nothing of what is held out.
expect 0 clir run $sources --from en --to nl --method cognates --tag alike --threads 1
cp stdout alike.run
[ "$(awk 'NF != 6 || $2 != "Q0" || $6 != "alike"' alike.run | wc -l)" -eq 0 ] || fail "not a run"
[ "$(cut -d ' ' -f 1 alike.run | sort -u | wc -l)" -eq 8 ] || fail "topics are missing"
ranks_well alike.run qrels.nl 0.75
expect 0 clir run $sources --from en --to nl --method cognates --tag alike --threads 3
same alike.run stdout
expect 0 clir run $sources --from en --to nl --method cognates --top 2
[ "$(awk '$1 == 1' stdout | wc -l)" -eq 2 ] || fail "--top 2 gives another number"
expect 0 clir run $sources --from en --to en --method cognates # with the same feedback: nothing is learned, and nothing to warn of
cp stdout same.run
stderr_is_empty
ranks_well same.run qrels.en 0.9
expect 0 clir run $sources --from en --to EN
cmp -s same.run stdout && fail "--method cognates has no feedback within a language"
stderr_is_empty
# Topics that were learned from are no test; without them there is nothing to say.
expect 0 clir run $sources --from en --to nl --method cognates
stderr_has "it was learned from these topics' judgments: do not measure this run"
expect 0 clir run vectors.txt $sources --from en --to nl
stderr_has "VECTORS may be learned from these topics' judgments: do not measure this run"
expect 0 clir run vectors.txt $sources --from en --to nl --hold-out 2 --folds 4
stderr_is_empty
expect 0 clir run $sources --from en --to nl --method cognates --hold-out 2 --folds 4
cp stdout fold.run
[ "$(cut -d ' ' -f 1 fold.run | sort -u | tr '\n' ' ')" = "2 6 " ] || fail "the fold is not topics 2 and 6"
expect 0 clir run $hidden --from en --to nl --method cognates --hold-out 2 --folds 4
same fold.run stdout
expect 0 clir validate $sources --from en --to nl --folds 4 --method cognates
cp stdout all.run
stderr_has "fold 4: shares "
stderr_has "validated"
ranks_well all.run qrels.nl 0.5
expect 0 clir validate $sources --from en --to nl --folds 2 --method cognates --threads 1
cp stdout all.run
stderr_has "fold 2: shares 0.3, 0.5, 0.25" # there is nothing to choose by
expect 0 clir validate $sources --from en --to nl --folds 2 --method cognates --threads 3
same all.run stdout
expect 1 clir run $sources --from en --to de --method cognates
stderr_has "there is no language 'de'"
expect 0 clir validate --languages en --docs 'docs.%' --topics 'topics.%' --qrels 'qrels.%' --from en --to en --method cognates
cp stdout same.run
ranks_well same.run qrels.en 0.9

# Names that are cut apart where there are no spaces are found whole; and topics that have nothing to do with each other teach nothing.
names='indonesia อินโดนีเซีย
singapore สิงคโปร์
hurricane เฮอร์รีเคน
california แคลิฟอร์เนีย
donald โดนัลด์
martin มาร์ติน
macedonia แม็คซิโดเนีย
pacific แปซิฟิก
mexico เม็กซิโก
christina คริสตินา'
echo "$names" | awk '{
  n = NR
  for (d = 1; d <= 3; d++) {
    printf "<DOC>\n<DOCNO>en-%d-%d</DOCNO>\n<TEXT>they saw %s and wrote about %s</TEXT>\n</DOC>\n", n, d, $1, $1 >"docs.xen"
    printf "<DOC>\n<DOCNO>th-%d-%d</DOCNO>\n<TEXT>วันนี้%sมาแล้ว ที่%sเป็น</TEXT>\n</DOC>\n", n, d, $2, $2 >"docs.xth"
    print n, 0, "en-" n "-" d, 1 >"qrels.xen"
    print n, 0, "th-" n "-" d, 1 >"qrels.xth"
    print (n + 3) % 10 + 1, 0, "th-" n "-" d, 1 >"unsorted"
  }
  printf "%d\t%s\n", n, $1 >"topics.xen"
  printf "%d\t%s\n", n, $2 >"topics.xth"
}'
thai="--languages en,th --docs docs.x% --topics topics.x% --from en --to th --method cognates"
expect 0 clir expand macedonia $thai --qrels 'qrels.x%'
stdout_has "แม็คซิโดเนีย"
stderr_is_empty
expect 0 clir run $thai --qrels 'qrels.x%' --hold-out 1
cp stdout thai.run
ranks_well thai.run qrels.xth 0.9
cp qrels.xen wrong.xen
sort -n unsorted >wrong.xth
expect 0 clir validate $thai --qrels 'wrong.x%'
stderr_has "of 5 folds letters are matched hardly better than by chance"
warned=0
for fold in 1 2 3 4 5; do
  expect 0 clir run $thai --qrels 'wrong.x%' --hold-out $fold
  grep -q "letters are matched hardly better than by chance (contrast " "$tmp/stderr" && warned=$((warned + 1))
done
[ "$warned" -ge 1 ] || fail "calque clir run does not warn"

# Japanese names, in an alphabet of more letters than are compared as they are: romanized, they are found.
for ((letter = 0x4E00; letter < 0x4E00 + 2500; letter++)); do
  printf -v code %x $letter
  printf '%b。' "\\u$code"
done >letters
echo "$names" | cut -d ' ' -f 1 | paste -d ' ' - <(printf '%s\n' インドネシア シンガポール ハリケーン カリフォルニア ドナルド マーティン \
  マケドニア パシフィック メキシコ クリスティーナ) | awk '{
  n = NR
  for (d = 1; d <= 3; d++) {
    printf "<DOC>\n<DOCNO>ja-%d-%d</DOCNO>\n<TEXT>今日は%sに来た。昔の%sだった。</TEXT>\n</DOC>\n", n, d, $2, $2 >"docs.xja"
    print n, 0, "ja-" n "-" d, 1 >"qrels.xja"
  }
  printf "%d\t%s\n", n, $2 >"topics.xja"
}'
printf '<DOC>\n<DOCNO>ja-all</DOCNO>\n<TEXT>%s</TEXT>\n</DOC>\n' "$(cat letters)" >>docs.xja
expect 0 clir run --languages en,ja --docs docs.x% --topics topics.x% --from en --to ja --method cognates --qrels 'qrels.x%' --hold-out 1
cp stdout ja.run
ranks_well ja.run qrels.xja 0.9

for option in "--kappa 5" "--window 10" "--tau 5" "--mix at-random" --all-documents --pseudo-in-all "--dim 10" "--epochs 1" \
  "--lr 0.1" "--sample 0" --cbow "--min-ngram 3" "--max-ngram 0" "--seed 1" --weighted --idf "--feedback 5" "--csls 0" --keep-words "--mu 9"; do
  expect 2 clir validate $sources --from en --to nl --folds 2 --method cognates $option
  stderr_has "${option%% *} is about word vectors, which --method cognates does without"
  stdout_is_empty
done
for option in "--tau 10" --weighted "--csls 0" --keep-words "--mu 2500"; do
  expect 2 clir run $sources --from en --to nl --method cognates $option
  stderr_has "${option%% *} is about word vectors, which --method cognates does without"
done
expect 2 clir run vectors.txt $sources --from en --to nl --method cognates
stderr_has "--method cognates takes no VECTORS, but there is 'vectors.txt'"

# Fuse: 1 / (k + rank), added up; ranks are by score, whatever the file's order and its column say.
printf '7 Q0 y 9 2.5 a\n7 Q0 x 9 3.5 a\n7 Q0 z 9 -1 a\n8 Q0 x 1 5 a\n' >a.txt
printf '7 Q0 y 1 0.2 b\n7 Q0 w 2 0.1 b\n' >b.txt
printf '7 Q0 y 1 1.5 both\n7 Q0 x 2 1 both\n7 Q0 w 3 0.5 both\n7 Q0 z 4 0.333333333333 both\n8 Q0 x 1 1 both\n' >fused.0
expect 0 clir fuse a.txt b.txt --rank-constant 0 --tag both
same fused.0 stdout
expect 0 clir fuse b.txt a.txt --rank-constant 0 --tag both
same fused.0 stdout
{ # 1/62 + 1/61, 1/61, 1/62, 1/63
  printf '7 Q0 y 1 0.032522474881 calque\n7 Q0 x 2 0.016393442623 calque\n7 Q0 w 3 0.0161290322581 calque\n'
  printf '7 Q0 z 4 0.015873015873 calque\n8 Q0 x 1 0.016393442623 calque\n'
} >fused.60
expect 0 clir fuse a.txt b.txt
same fused.60 stdout
grep -E '^. Q0 . [12] ' fused.60 >fused.2
expect 0 clir fuse a.txt b.txt --top 2
same fused.2 stdout
printf '7 Q0 y\n' >bad.txt
expect 1 clir fuse a.txt bad.txt
stderr_has "bad.txt:1: "
stdout_is_empty
expect 1 clir fuse a.txt nowhere.txt
stderr_has "nowhere.txt"
expect 2 clir fuse a.txt
expect 2 clir fuse a.txt b.txt --rank-constant -1
stderr_has "expected at least 0"

# A run's lines are cut at blanks, so that its name has none.
for tag in "two words" "tab	between" ""; do
  expect 1 clir run $sources --from en --to nl --method cognates --tag "$tag"
  stderr_has "the tag '$tag' is empty or has blanks"
  stdout_is_empty
  expect 1 clir run $sources --from en --to en --tag "$tag"
  stdout_is_empty
  expect 1 clir validate $sources --from en --to nl --folds 4 --method cognates --tag "$tag"
  stderr_has "is empty or has blanks"
  stdout_is_empty
  expect 1 clir fuse a.txt b.txt --tag "$tag"
  stderr_has "the tag '$tag' is empty or has blanks"
  stdout_is_empty
done

# Documents that judgements name and the collection lacks; topics without documents in one language.
{ cat qrels.en; echo "1 0 en-unknown 1"; echo "2 0 en-unknown 0"; } >more.en
grep -v '^3 ' qrels.nl >more.nl
expect 0 clir build more.txt --languages en,nl --docs 'docs.%' --topics 'topics.%' --qrels 'more.%' $learn
stderr_has "2 judgments are of documents that are not in the collection"
grep -q "^trein " more.txt && fail "words of a topic with documents in one language only were learned"

# What is refused.
cp docs.nl twice.nl
{ cat docs.en; printf '<DOC>\n<DOCNO>en-3-2</DOCNO>\n<TEXT>again</TEXT>\n</DOC>\n'; } >twice.en
expect 1 clir build refused.txt --languages en,nl,en --docs 'docs.%' --topics 'topics.%' --qrels 'qrels.%' --work refused
stderr_has "languages has 'en' twice"
expect 1 clir build refused.txt --languages en,nl --docs 'twice.%' --topics 'topics.%' --qrels 'qrels.%' --work refused
stderr_has "twice.en:$(($(wc -l <docs.en) + 1)): "
stderr_has "'en-3-2'"
absent refused.txt
absent refused
expect 1 clir run vectors.txt $sources --from en --to de
stderr_has "there is no language 'de' among the collections"
expect 1 clir expand vectors.txt river $sources --from de --to nl
expect 1 clir build refused.txt $sources --from de --hold-out 1
stderr_has "there is no language 'de'"
expect 1 clir build refused.txt --languages en,de --docs 'docs.%' --topics 'topics.%' --qrels 'qrels.%'
stderr_has "topics.de"
expect 1 clir build refused.txt --languages en --docs 'docs.%' --topics 'topics.%' --qrels 'qrels.%'
stderr_has "no topic has relevant documents in two of the languages"
expect 1 clir build refused.txt --languages english,nl --docs 'docs.en' --topics 'topics.en' --qrels 'qrels.en'
stderr_has "the language is 'english', expected a code of 2 or 3 letters"
expect 1 clir build refused.txt $sources --hold-out 6
stderr_has "there are 5 folds"
expect 1 clir run vectors.txt $sources --from en --to en --hold-out 3 --folds 2
sed 's/<num>/<num>1/' topics.nl >renamed.nl
cp topics.en renamed.en
expect 0 clir build other.txt --languages en,nl --docs 'docs.%' --topics 'topics.%' --qrels 'qrels.%' $base --epochs 1 # as it should be
expect 1 clir build refused.txt --languages en,nl --docs 'docs.%' --topics 'renamed.%' --qrels 'qrels.%'
stderr_has "the languages' topics have no number in common"
expect 1 clir run corpus.txt $sources --from en --to nl
stderr_has "corpus.txt"
expect 2 clir build $sources
expect 2 clir build refused.txt --docs 'docs.%' --topics 'topics.%' --qrels 'qrels.%'
stderr_has "--languages"
expect 2 clir run vectors.txt $sources --from en
expect 2 clir run vectors.txt $sources --from en --to nl --method guess
absent refused.txt
finish
