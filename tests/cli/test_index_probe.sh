# calque index check --probe: what an index says of its own text, in several scripts, and bad input.
. "$(dirname "$0")/common.sh"

printf '%s\n' "강가에 있는 오래된 집에서 아침마다 커피를 끓여 마신다." "기차가 늦게 도착해서 우리는 역에서 오래 기다려야 했다." \
  "아이들은 눈이 오면 정원에서 하루 종일 뛰어논다." "도서관에서 빌린 책을 다음 주까지 돌려주어야 한다." >ko.txt
printf '%s\n' "Зимой старый мост через реку закрыт из-за снега." "В библиотеке сегодня читают письма капитана." >ru.txt
printf '%s\n' "冬天下雪的时候，河上的旧桥不能通行。" "图书馆今天晚上有人朗读船长写的信。" "孩子们早上在花园里玩到中午才回家吃饭。" \
  "火车晚点了两个小时，我们在车站等了很久。" >zh.txt
printf '%s\n' "ในฤดูหนาวสะพานเก่าข้ามแม่น้ำปิดเพราะหิมะ" "วันนี้ที่ห้องสมุดมีคนอ่านจดหมายของกัปตัน" >th.txt
printf '%s\n' "सर्दियों में नदी पर बना पुराना पुल बर्फ़ के कारण बंद रहता है।" "आज पुस्तकालय में कप्तान की चिट्ठियाँ पढ़ी जाएँगी।" >hi.txt
printf '%s\n' "في الشتاء يغلق الجسر القديم فوق النهر بسبب الثلج." "تقرأ اليوم في المكتبة رسائل القبطان القديمة." >ar.txt
printf '%s\n' "In winter the old bridge over the river is closed." "The captain's letters are read in the library today." >en.txt

# The model that calque ships covers them all, one that knows only English does not; adding says so, in one line.
CALQUE_MODELS=$SOURCE/models
export CALQUE_MODELS
expect 0 index new --model base base.index
expect 0 index add base.index ko.txt ru.txt zh.txt th.txt hi.txt ar.txt en.txt
! grep -q "does not cover" stderr || fail "calque-base covers these scripts: $(cat stderr)"
expect 0 index check base.index --probe
stdout_has "base.index: 18 documents, nothing is damaged"
stdout_has "probed 18 of 18 passages: 0 findings"
lines_are stdout 2
expect 0 index check base.index --probe --json
lines_are stdout 1
stdout_has '"documents": 18, "passages": 18, "sampled": 18, "truncated": 0, "decomposed": 0, "duplicates": 0, "recall": null, "hubs": []'
for script in Arabic Cyrillic Devanagari Han Hangul Latin Thai; do
  grep -Eq "\"script\": \"$script\", \"language\": \"[a-z]+\", \"passages\": [24], [^}]*\"covered\": true" stdout ||
    fail "$script is not covered: $(cat stdout)"
done
stdout_has '"findings": []}'

expect 0 index new --model "$TEACHER" english.index
expect 0 index add english.index ko.txt en.txt
stderr_has "the model's vocabulary does not cover Hangul (ko): 100 % of the pieces are unknown; searches in such text find little"
expect 0 index check english.index --probe
stdout_has "the model's vocabulary does not cover Hangul (ko): 100 % of the pieces are unknown"
expect 0 index check english.index --probe --json
stdout_has '"script": "Hangul", "language": "ko", "passages": 4, "unknown": 1.0000, "bytes": 0.0000'
python3 -c "import json, sys; json.load(open('stdout'))" || fail "not JSON: $(cat stdout)"

# Also when a folder's index is made.
mkdir folder && cp ko.txt folder
expect 0 search folder "커피" --model "$TEACHER"
stderr_has "does not cover Hangul (ko)"
expect 0 search folder "커피"
! grep -q "does not cover" stderr || fail "nothing was added: $(cat stderr)"

# An empty index, options without --probe, a model that is gone, and damage.
expect 0 index new --model "$TEACHER" empty.index
expect 0 index check empty.index --probe
stdout_has "probed 0 of 0 passages: 0 findings"
expect 2 index check empty.index --json
stderr_has "--json needs --probe"
expect 2 index check empty.index --model "$TEACHER"
stderr_has "--model needs --probe"
cp -r "$TEACHER" model
expect 0 index new --model model gone.index
expect 0 index add gone.index en.txt
mv model moved
expect 0 index check gone.index
expect 1 index check gone.index --probe
stderr_has "say where it is now"
expect 0 index check gone.index --probe --model moved
stdout_has "probed 2 of 2 passages"
expect 1 index check gone.index --probe --model "$SOURCE/tests/golden/models/bert-cased"
stderr_has "was made with another model"
vectors=$(echo gone.index/vectors-*)
printf 'damaged' | dd of="$vectors" bs=1 seek=20 conv=notrunc 2>/dev/null
expect 1 index check gone.index --probe --model moved
stdout_is_empty
stderr_has "vectors-"
finish
