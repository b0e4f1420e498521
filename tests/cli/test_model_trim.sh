# calque model trim.
. "$(dirname "$0")/common.sh"

pairs 60 >text.tsv
cut -f 1 text.tsv >english.txt
expect 0 model trim "$TEACHER" --text english.txt -o small
stdout_has "pieces"
stderr_has "wrote small"
expect 0 model check "$TEACHER" small english.txt
stdout_has "max difference       0"
for model in "$TEACHER" small; do "$PROGRAM" encode --model "$model" english.txt -o "$(basename "$model").npy" || fail "encode"; done
same "$(basename "$TEACHER").npy" small.npy
expect 0 model trim "$TEACHER" --text english.txt --text text.tsv --keep 100 --json -o larger
stdout_has '"n_sentences": 180,'
[ "$(find small -name '*.safetensors' -size -1000k | wc -l)" -ge 1 ] || fail "small has no weights"

# What is trimmed can be trained and stored in fewer bits like any other model.
expect 0 model quantize small --precision int8 -o small-int8
expect 1 model trim small-int8 --text english.txt -o out
stderr_has "quantized"

# A RoBERTa model whose config names another padding than its tokenizer: that id has no position of its own.
for pad in 0 5 9; do
  cp -r "$SOURCE/tests/golden/models/roberta-mean" "padded-$pad"
  sed -i "s/\"pad_token_id\": 1/\"pad_token_id\": $pad/" "padded-$pad/config.json"
  printf 'A dog! 5 "cats" & #dogs (%%)\n%% ( & ) * + $ # zebra\n' >signs.txt
  expect 0 model trim "padded-$pad" --text signs.txt -o "padded-$pad-small"
  expect 0 model check "padded-$pad" "padded-$pad-small" signs.txt
  stdout_has "max difference       0"
done

# A static model of fewer dimensions.
static=$SOURCE/tests/golden/models/static-normalized
dim=$("$PROGRAM" model info "$static" | awk '$1 == "dim" { print $2 }')
expect 0 model trim "$static" --text english.txt --dimensions $((dim / 2)) -o half
expect 0 model info half
stdout_has "dim                      $((dim / 2))"
expect 1 model trim "$static" --text english.txt --dimensions $((dim + 1)) -o out
stderr_has "$dim dimensions"
expect 1 model trim "$TEACHER" --text english.txt --dimensions 8 -o out
stderr_has "static"

expect 1 model trim "$TEACHER" --text english.txt -o small
stderr_has "exists"
expect 0 model trim "$TEACHER" --text english.txt --replace -o small
: >empty.txt
expect 1 model trim "$TEACHER" --text empty.txt -o out
stderr_has "no text"
expect 1 model trim "$TEACHER" --text absent.txt -o out
stderr_has "absent.txt"
expect 1 model trim no-such-model --text english.txt -o out
stderr_has "no-such-model"
expect 2 model trim "$TEACHER" -o out
stderr_has "--text"
expect 2 model trim "$TEACHER" --text english.txt
stderr_has "--output"
[ ! -e out ] || fail "something was written"
finish
