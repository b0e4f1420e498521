# Tokenizers whose rules multiply a text: refused by name, at once, and within little memory.
. "$(dirname "$0")/common.sh"

rm -rf model
cp -r "$SOURCE/tests/golden/models/xlmr-both" model
chmod -R u+w model
rm -f model/sentencepiece.bpe.model
printf 'a sentence, and another one\n' >text.txt

# steps NAME N JSON: so many of them as the tokenizer's normalizer or pre_tokenizer.
steps() {
  local list=$3 key=normalizers
  [ "$1" = normalizer ] || key=pretokenizers
  for ((i = 1; i < $2; i++)); do list+=,$3; done
  printf '{"version":"1.0","added_tokens":[],"normalizer":null,"pre_tokenizer":null,"post_processor":null,"decoder":null,' >model/tokenizer.json
  printf '"%s":{"type":"Sequence","%s":[%s]},' "$1" "$key" "$list" >>model/tokenizer.json
  printf '"model":{"type":"WordLevel","vocab":{"<unk>":0,"a":1},"unk_token":"<unk>"}}' >>model/tokenizer.json
}
# What a sanitizer needs does not fit into a limited address space: there only time is limited.
limits='ulimit -v 1000000 -t 2; timeout 60'
! is_sanitized || limits='timeout 20'
# refused TEXT: within two seconds of the processor's time and a gigabyte of addresses.
refused() {
  last="encode with $(head -c 300 model/tokenizer.json)"
  (eval "$limits $PROGRAM" encode --model model --threads 1 text.txt) >stdout 2>stderr
  code=$?
  [ "$code" -eq 1 ] || fail "exit code $code, expected 1"
  stderr_has "$1"
}
long=$(printf 'x%.0s' {1..1000})
many=$(printf 'a %.0s' {1..500})
steps normalizer 12 "{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"$many\"}"
refused "its rules are not to be trusted"
steps normalizer 40 '{"type":"Replace","pattern":{"String":"a"},"content":"aa"}'
refused "its rules are not to be trusted"
steps normalizer 200 "{\"type\":\"Prepend\",\"prepend\":\"$long\"}"
refused "its rules are not to be trusted"
steps normalizer 1000 "{\"type\":\"Prepend\",\"prepend\":\"x\"}"
refused "more than 256 steps"
steps pre_tokenizer 40 '{"type":"ByteLevel","add_prefix_space":true,"use_regex":false}'
printf 'grün über Öl\n' >text.txt
refused "its rules are not to be trusted"
steps pre_tokenizer 300 '{"type":"WhitespaceSplit"}'
refused "more than 256 steps"

# Tensors without number.
awk 'BEGIN { printf "{"; for (i = 0; i < 70000; i++) printf "%s\"t%d\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}", i ? "," : "", i; printf "}" }' >header
n=$(wc -c <header)
{ printf "$(printf '\\x%02x\\x%02x\\x%02x\\x%02x' $((n & 255)) $((n >> 8 & 255)) $((n >> 16 & 255)) $((n >> 24)))"; head -c 4 /dev/zero; cat header; } >many.safetensors
rm -rf model
cp -r "$SOURCE/tests/golden/models/bert-uncased" model
chmod -R u+w model
cp many.safetensors model/model.safetensors
refused "70000 tensors, at most 65536 are read"

# Files that are long where nothing is long: a configuration, a vocabulary, a header of tensors.
rm -rf model
cp -r "$SOURCE/tests/golden/models/bert-uncased" model
chmod -R u+w model
for file in model/config.json model/modules.json model/tokenizer.json model/tokenizer_config.json; do
  cp "$file" whole
  truncate -s 100M "$file"
  refused "${file#model/}: 104857600 bytes, at most 67108864 are read"
  cp whole "$file"
done
{ printf '\x00\x00\x00\x05\0\0\0\0{'; head -c 90000000 /dev/zero; } >model/model.safetensors
refused "a header of 83886080 bytes, at most 67108864 are read"
finish
