# Models as they are published: tokens without a row, heads of other tasks, lengths past the configuration's, pointers of
# Git LFS, NaN.
. "$(dirname "$0")/common.sh"

golden=$SOURCE/tests/golden/models
copy() { # NAME: as model, writable
  rm -rf model
  cp -r "$golden/$1" model
  chmod -R u+w model
}
printf 'The river bends twice.\n' >text.txt

# An added token past the end of the table: the model opens, and the token is an error.
add_token() { # ID TEXT
  sed -i "0,/\"added_tokens\": *\[/s//&{\"id\":$1,\"content\":\"$2\",\"special\":true,\"normalized\":false},/" model/tokenizer.json
}
printf 'An <image_soft_token> here.\n' >image.txt
for name in bert-uncased gemma3-dense; do
  rows=$(grep -o '"vocab_size": *[0-9]*' "$golden/$name/config.json" | grep -o '[0-9]*')
  expect 0 encode --model "$golden/$name" --replace -o before.npy text.txt
  for id in "$rows" $((rows + 70)); do
    copy $name
    add_token "$id" '<image_soft_token>'
    expect 0 encode --model model --replace -o after.npy text.txt
    same before.npy after.npy
    expect 1 encode --model model image.txt
    stderr_has "the token '<image_soft_token>', whose id $id has no row"
    expect 1 encode --model model --replace -o mixed.npy text.txt image.txt
  done
  # Trimmed, the token is gone.
  expect 0 model trim --text text.txt -o trimmed-$name model
  expect 0 encode --model trimmed-$name --replace -o after.npy text.txt
  same before.npy after.npy
  expect 0 encode --model trimmed-$name image.txt
done
# A piece of the model past the end is another vocabulary.
copy bert-uncased
sed -i 's/"vocab":{/&"piecepast":420,/' model/tokenizer.json
expect 1 encode --model model text.txt
stderr_has "the tokenizer has 421 ids, tensor 'embeddings.word_embeddings.weight' has 420 rows"

# Rotary positions are computed: max_seq_length and --max-length may be larger than max_position_embeddings.
for i in {1..30}; do printf 'river mill boat snow %d ' "$i"; done >long.txt
for name in nomic nomic-5 gte modernbert qwen3-last; do
  copy $name
  key=max_position_embeddings
  [ $name != nomic ] || key=n_positions
  sed -i -E 's/("max_seq_length": )[0-9]+/\1500/' model/sentence_bert_config.json
  expect 0 model info model
  [ "$(awk '$1 == "max_seq_length" { print $2 }' stdout)" = 500 ] || fail "not 500"
  expect 0 encode --model model --replace -o given.npy long.txt
  expect 0 encode --model "$golden/$name" --max-length 500 --replace -o option.npy long.txt
  same given.npy option.npy
  sed -i -E "s/(\"$key\": )[0-9]+/\19999/" model/config.json
  expect 0 encode --model model --replace -o longer.npy long.txt
  same given.npy longer.npy
  expect 0 encode --model model --max-length 64 --replace -o cut.npy long.txt
  ! cmp -s given.npy cut.npy || fail "$name: the text is not longer than 64 tokens"
done
copy nomic # a factor: as in transformers, it only limits the usual length
sed -i 's/"rotary_scaling_factor": null/"rotary_scaling_factor": 2/' model/config.json
expect 0 encode --model model --max-length 500 --replace -o longer.npy long.txt
expect 0 encode --model "$golden/nomic" --max-length 500 --replace -o given.npy long.txt
same given.npy longer.npy
rm model/sentence_bert_config.json
sed -i -E 's/("model_max_length": )[0-9]+/\11000/' model/tokenizer_config.json
expect 0 model info model
[ "$(awk '$1 == "max_seq_length" { print $2 }' stdout)" = 64 ] || fail "not 64"
expect 1 encode --model "$golden/bert-uncased" --max-length 500 long.txt
stderr_has "the model takes 1 to"

# The head of another task is ignored, with one line.
add_tensor() { # NAME...
  local file=model/model.safetensors n size header name
  n=$(od -An -t u8 -N 8 $file | tr -d ' ')
  size=$(wc -c <$file)
  header=$(head -c $((8 + n)) $file | tail -c "$n" | sed 's/}[ ]*$//')
  tail -c +$((9 + n)) $file >data
  for name; do
    header+=",\"$name\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[$((size - 8 - n)),$((size - 4 - n))]}"
    printf '\0\0\0\0' >>data
    size=$((size + 4))
  done
  header+='}'
  n=${#header}
  { printf "$(printf '\\x%02x\\x%02x\\x%02x\\x%02x' $((n & 255)) $((n >> 8 & 255)) $((n >> 16 & 255)) $((n >> 24)))"; head -c 4 /dev/zero; printf '%s' "$header"; cat data; } >$file
}
for name in bert-uncased distilbert-dense modernbert gte qwen3-last nomic-5; do
  expect 0 encode --model "$golden/$name" --replace -o before.npy text.txt
  copy $name
  add_tensor qa_outputs.weight pre_classifier.bias score.weight classifier.bias
  expect 0 encode --model model --replace -o after.npy text.txt
  same before.npy after.npy
  [ "$(grep -c "head of another task is ignored ('qa_outputs.weight')" stderr)" -eq 1 ] || fail "not one notice"
  add_tensor scores.weight
  expect 1 encode --model model text.txt
  stderr_has "tensor 'scores.weight' is not part of the architecture"
done

# Truncation at the start: a long text has the vector of its end.
end=$(for i in {1..80}; do printf ' river %d' "$i"; done)
printf 'Here it begins.%s\n' "$end" >long.txt
printf '%s\n' "${end# }" >end.txt
left() { # NAME FILE SED
  copy "$1"
  expect 0 encode --model model --replace -o long.npy long.txt
  expect 0 encode --model model --replace -o end.npy end.txt
  ! cmp -s long.npy end.npy || fail "$1 truncates at the start already"
  sed -i -E "$3" "model/$2"
  expect 0 encode --model model --replace -o long.npy long.txt
  expect 0 encode --model model --replace -o end.npy end.txt
  same long.npy end.npy
}
left static-truncation "$(cd "$golden/static-truncation" && find . -name tokenizer.json)" 's/"Right"/"Left"/'
left bert-uncased tokenizer_config.json 's/^[{]/{"truncation_side": "left",/'
left qwen3-last tokenizer_config.json 's/^[{]/{"truncation_side": "left",/'

# A pointer of Git LFS instead of a file.
pointer() {
  printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 470641600\n' 7 >"$1"
  expect 1 encode --model model text.txt
  stderr_has "$1: a pointer of Git LFS, not the file itself: run 'git lfs pull'"
}
copy bert-uncased
pointer model/tokenizer.json
pointer model/model.safetensors
rm model/model.safetensors
pointer model/pytorch_model.bin
copy pool-sharded
pointer "$(echo model/model-00001-*.safetensors)"
copy xlmr-model
pointer model/sentencepiece.bpe.model

# Python's NaN and Infinity: accepted where the key is ignored, named where it is not.
for value in NaN Infinity -Infinity; do
  copy bert-uncased
  sed -i "s/^{/{\"summary_scale\": [$value, 1],/" model/config.json
  expect 0 encode --model model --replace -o after.npy text.txt
  sed -i -E "s/(\"layer_norm_eps\": )[^,]*/\1$value/" model/config.json
  expect 1 encode --model model text.txt
  stderr_has "model/config.json: \"layer_norm_eps\" is a string, expected a number"
done
finish
