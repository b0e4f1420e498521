# Sourced by scripts that use FreeDict's dictionaries: Debian's packages dict-freedict-eng-deu, -deu-eng and so on, fetched with
# apt-get and unpacked, not installed. Wants `program` and `work` to be set; makes the directory, and its path
# absolute. A small dictionary is completed by way of other languages, and Chinese has words of Japanese's:
# docs/results/dictionary.md, "Dictionaries by way of other languages".

mkdir -p "$work"
work=$(cd "$work" && pwd)

declare -A freedict_code=([ar]=ara [bg]=bul [cs]=ces [da]=dan [de]=deu [el]=ell [eo]=epo [es]=spa [fi]=fin [fr]=fra [hi]=hin [hu]=hun
  [id]=ind [it]=ita [ja]=jpn [lt]=lit [nb]=nor [pl]=pol [pt]=por [ru]=rus [sk]=slk [sl]=slv [sv]=swe [tr]=tur)

freedict_fetch() { # NAME: unpacks dict-freedict-NAME, and prints its index; nothing when there is none
  local package=dict-freedict-$1
  if [ ! -d "$work/packages/$1" ]; then
    mkdir -p "$work/packages" && chmod a+rwx "$work/packages"
    if ! (cd "$work/packages" && apt-get download "$package" >/dev/null 2>&1); then
      apt-cache show "$package" >/dev/null 2>&1 || mkdir "$work/packages/$1" # there is none: not asked for again
      return 0
    fi
    dpkg-deb -x "$work/packages/$package"_*.deb "$work/packages/$1"
  fi
  find "$work/packages/$1" -name '*.index'
}

freedict_entries() { # FROM TO: of the packages of both directions, as FROM, tab, TO; nothing when there are none
  local index
  {
    index=$(freedict_fetch "$1-$2") && [ -z "$index" ] || "$program" data convert --from dictd "$index"
    index=$(freedict_fetch "$2-$1") && [ -z "$index" ] || "$program" data convert --from dictd --columns 2,1 "$index"
  } 2>/dev/null
}

freedict_through() { # CODE: English words and those of a language, of which two words or more of others are translations
  local pivot
  for pivot in deu ell fin fra ita jpn nld pol por spa swe; do
    [ "$pivot" != "$1" ] || continue
    freedict_entries "$pivot" "$1" | sort -u >"$work/$1.pivot"
    [ ! -s "$work/$1.pivot" ] || freedict_entries eng "$pivot" | sort -u |
      "$program" data pivot --quiet --on 2,1 - "$work/$1.pivot"
  done | LC_ALL=C sort | LC_ALL=C uniq -c | sed -n 's/^ *\([2-9]\|[1-9][0-9]\+\) //p'
  rm -f "$work/$1.pivot"
}

freedict() { # LANGUAGE: makes WORK/LANGUAGE.dict.tsv; empty when there is none
  local code=${freedict_code[$1]:-} file=$work/$1.dict.tsv
  [ ! -e "$file" ] || return 0
  if [ "$1" = zh ]; then
    # Debian has none for Chinese: Japanese's words of Han characters alone, most of which are Chinese words, too.
    freedict ja
    LC_ALL=C.UTF-8 grep -P '^[^\t]{1,39}\t[\x{4E00}-\x{9FFF}]{2,}$' "$work/ja.dict.tsv" || true
  elif [ -n "$code" ]; then
    freedict_entries eng "$code"
  fi | sort -u >"$file.tmp"
  # A small one is completed by way of other languages (inverse consultation, Tanaka & Umemura 1994).
  if [ -n "$code" ] && [ "$(wc -l <"$file.tmp")" -lt 50000 ]; then
    freedict_through "$code" | sort -u - "$file.tmp" >"$file.tmp2"
    mv "$file.tmp2" "$file.tmp"
  fi
  mv "$file.tmp" "$file"
}
