#!/usr/bin/env bash
# What documents list, name, and count is there: commands, folders, libraries, plugins, targets of make, languages of the
# sample, commands that connect to the hub.
#
#   bash tests/scripts/test_facts.sh PROGRAM SOURCE_DIR
set -euo pipefail
export LC_ALL=C
program=$1
cd "$2"
failed=0
fail() { echo "FAILED: $*" >&2; failed=1; }

# same WHAT THERE DOCUMENTED: both lists are equal, and not empty.
same() {
  [ -n "$2" ] || fail "$1: none found"
  local difference
  difference=$(diff <(echo "$2") <(echo "$3")) || fail "$1, those there (<) and in documents (>):"$'\n'"$difference"
}
words=(zero one two three four five six seven eight nine ten)
# counts N FILE TEXT: the document has this text, where N is the number in words and ++ the number after it.
counts() {
  local text=${3//++/${words[$1 + 1]}}
  text=${text//N/${words[$1]}}
  tr '\n' ' ' <"$2" | tr -s ' ' | grep -qiF -- "$text" || fail "$2 does not say '$text'"
}
markdown() { find README.md ARCHITECTURE.md CONTRIBUTING.md SECURITY.md docs sample examples -name '*.md' ! -path 'docs/notes/*'; }

# Commands.
same 'commands of --help' "$("$program" --help | sed -nE 's/^  ([a-z][a-z-]*)  .*/\1/p' | sort -u)" \
  "$(sed -nE 's/^\|(.*)\|.*\|$/\1/p' docs/README.md | grep -oE '`calque [a-z-]+' | cut -d ' ' -f 2 | sort -u)"

# Folders, and files of the map.
for folder in src/*/ src/recipe/*/; do
  grep -qE "\b$(basename "$folder")\b" ARCHITECTURE.md || fail "ARCHITECTURE.md does not name $folder"
done
there=$(find . -path ./build -prune -o -path './.git' -prune -o -type d -printf '%p/\n' -o -print)
for path in $(grep -ohE '`[a-z_./-]+/[a-z_./-]*`' ARCHITECTURE.md | tr -d '`' | sort -u) \
  $(sed -nE 's/^\| (`[a-z]+\/`.*) \|.*/\1/p' docs/README.md | grep -oE '[a-z]+/'); do
  grep -qE "/${path//./\\.}/?$" <<<"$there" || fail "ARCHITECTURE.md or docs/README.md names $path, which is not there"
done

# Libraries: those that libcalque needs, and a plugin for each optional one.
dependencies() { sed -n '/^## Dependencies/,$p' docs/README.md | sed -nE 's/^\| (\[.*)/\1/p'; }
optional=$(sed -n '/libraries are optional/,$p' docs/README.md | grep -c '^| \[')
library=$(dirname "$program")/src/libcalque.so
if [ -f "$library" ]; then
  same 'libraries that libcalque needs' \
    "$(readelf -d "$library" | sed -nE 's/.*NEEDED.*\[lib(.*)\.so.*/\1/p' |
      grep -vE '^(c|m|gcc_s|stdc\+\+|[a-z]+san|clang_rt.*|gcov)$' |
      sed -E 's/^icu.*/icu/; s/_train$//; s/-?[0-9]+$//' | sort -u)" \
    "$(dependencies | head -n "-$optional" | grep -vE 'header alone|only (the program|\|)|tests only' | cut -d '|' -f 1 |
      grep -oE '\[[^]]+\]' | tr -d '[]' | tr '[:upper:]' '[:lower:]' |
      sed -E 's/^lib//; s/^zlib$/z/; s/^snowball$/stemmer/; s/[0-9]+$//' | sort -u)"
else
  echo "no $library: its libraries are not compared"
fi
plugins=$(grep -l '^cq_plugin(' src/*/CMakeLists.txt | wc -l)
[ "$plugins" = "$optional" ] || fail "$plugins plugins, $optional optional libraries in docs/README.md"
counts "$plugins" docs/README.md 'N libraries are optional'
counts "$plugins" docs/guides/install.md 'N plugins are built'

# Targets of make.
for target in $(markdown | xargs grep -ohE '(`|^    (\$ )?|&& |sudo )make [a-z]+' | sed 's/.*make //' | sort -u); do
  grep -qE "^$target:.* ## " Makefile || fail "documents name make $target, which the Makefile lacks"
done

# Languages of the sample: English, and those that the demonstration adds.
n=$(find sample/train -name 'en-*.tsv.gz' | wc -l)
counts "$n" README.md 'English and N other languages'
counts "$n" README.md 'model N languages in about a minute'
counts "$n" docs/README.md "the sample's teacher to N languages"
counts "$n" docs/sample.md 'extends it to N languages'
counts "$n" docs/sample.md 'sentences in all ++ languages'
counts "$n" sample/README.md 'English and N languages'
counts "$n" debian/control 'extends to N languages'
counts "$n" Makefile 'teach an English model N languages'
counts "$n" src/cli/train/demo_command.c 'extend an English model to N languages'

# The commands that connect to the hub.
hub=$(grep -lE 'calque/hub\.h|hub_command\.h' -r src/cli src/lab/cli --include='*_command.c' |
  sed -E 's#.*/([a-z]+)/([a-z]+)_command\.c#\1 \2#' | sort)
for document in docs/README.md SECURITY.md; do
  same "commands that connect to the hub ($document)" "$hub" \
    "$(tr '\n' ' ' <$document | sed -E 's/.*\*\*The network\.\*\* (.*) connect to the Hugging Face hub.*/\1/' |
      grep -oE '`[^`]+`' | tr -d '`' | sort)"
done
exit $failed
