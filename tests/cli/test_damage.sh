# Files that calque has written itself, with some bytes changed on disk: whatever it reads back is as it was, or it says
# what is damaged.
. "$(dirname "$0")/common.sh"

TEACHER=$SOURCE/sample/teacher
gzip -dc "$SOURCE/sample/test/en-de.tsv.gz" | cut -f 1 | awk '!seen[$0]++' | head -n 120 >all.txt
head -n 80 all.txt >source.txt
tail -n 80 all.txt >target.txt

# damage FILE AT [N]: changes N bytes (1) from AT on.
damage() {
  local at
  for ((at = $2; at < $2 + ${3:-1}; at++)); do
    local byte
    byte=$(od -An -tu1 -j "$at" -N 1 "$1")
    printf "\\x$(printf %02x $(((byte + 85) % 256)))" | dd of="$1" bs=1 seek="$at" conv=notrunc status=none
  done
}
# places FILE N: N places spread over it
places() { awk -v size="$(wc -c <"$1")" -v n="$2" 'BEGIN { for (i = 0; i < n; i++) print int(size * (i + 0.37) / n) }'; }

# The vector cache: what is damaged is computed again.
mine="mine --model $TEACHER --cache cache source.txt target.txt"
expect 0 $mine
cp stdout pairs
cp -r cache sound
store=$(cd sound && echo vectors/*)
for file in keys vectors; do
  for at in $(places "sound/$store/$file" 12); do
    rm -rf cache
    cp -r sound cache
    damage "cache/$store/$file" "$at" 1
    expect 0 $mine
    cmp -s stdout pairs || fail "damage at $at of $file changes what is found"
    stderr_has "cache/$store/vectors is damaged: "
    expect 0 $mine
    cmp -s stdout pairs || fail "what was computed again is something else"
  done
done
finish
