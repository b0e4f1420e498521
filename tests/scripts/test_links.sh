#!/usr/bin/env bash
# Links of documents lead to files that are there, and to headings that these have.
set -euo pipefail
cd "$2"
mapfile -t documents < <(find . \( -name build -o -name .git -o -path ./tests/golden \) -prune -o -name '*.md' -print | LC_ALL=C sort)
[ ${#documents[@]} -gt 20 ] || { echo "FAILED: only ${#documents[@]} documents" >&2; exit 1; }

anchors=$(mktemp)
trap 'rm -f "$anchors"' EXIT

# File, tab, anchor, for each heading, as GitHub makes them.
LC_ALL=C awk '/^```/ { code = !code } !code && /^#+ / {
    sub(/^#+ /, ""); $0 = tolower($0); gsub(/[][!-,.\/:-@\\^`{|}~]/, ""); gsub(/ /, "-"); print FILENAME "\t" $0
  }' "${documents[@]}" >"$anchors"

links=0 broken=0
while IFS=$'\t' read -r document target; do
  links=$((links + 1))
  file=${target%%#*}
  if [ -z "$file" ]; then path=$document; else path=./$(realpath -m --relative-to=. "$(dirname "$document")/$file"); fi
  if [ ! -e "$path" ]; then
    echo "FAILED: $document: $target: no such file" >&2 && broken=1
  elif [[ $target = *#* && $path = *.md ]] && ! grep -qxF "$path"$'\t'"${target#*#}" "$anchors"; then
    echo "FAILED: $document: $target: no such heading" >&2 && broken=1
  fi
done < <(LC_ALL=C awk '/^```/ { code = !code } !code && !/^    / {
    while (match($0, /\]\([^) ]+\)/)) {
      target = substr($0, RSTART + 2, RLENGTH - 3); $0 = substr($0, RSTART + RLENGTH)
      if (target !~ /^[a-z]+:/) print FILENAME "\t" target
    }
  }' "${documents[@]}")
[ "$links" -gt 100 ] || { echo "FAILED: only $links links" >&2; exit 1; }
exit $broken
