# Sourced by scripts that use FreeDict's dictionaries: Debian's packages dict-freedict-eng-deu, -deu-eng and so on, fetched with
# apt-get and unpacked, not installed. Wants `program` and `work` to be set.

declare -A freedict_code=([ar]=ara [bg]=bul [cs]=ces [da]=dan [de]=deu [el]=ell [eo]=epo [es]=spa [fi]=fin [fr]=fra [hi]=hin [hu]=hun
  [id]=ind [it]=ita [ja]=jpn [lt]=lit [nb]=nor [pl]=pol [pt]=por [ru]=rus [sk]=slk [sl]=slv [sv]=swe [tr]=tur)

freedict_fetch() { # NAME: unpacks dict-freedict-NAME, and prints its index; nothing when there is none
  local package=dict-freedict-$1
  if [ ! -d "$work/packages/$1" ]; then
    mkdir -p "$work/packages" && chmod a+rwx "$work/packages"
    (cd "$work/packages" && apt-get download "$package" >/dev/null 2>&1) || return 0
    dpkg-deb -x "$work/packages/$package"_*.deb "$work/packages/$1"
  fi
  find "$work/packages/$1" -name '*.index'
}

freedict() { # LANGUAGE: makes WORK/LANGUAGE.dict.tsv of both directions; empty when Debian has neither
  local index
  [ ! -e "$work/$1.dict.tsv" ] || return 0
  [ "$1" != zh ] || freedict ja
  {
    # Debian has none for Chinese: Japanese's words of Han characters alone, most of which are Chinese words, too.
    [ "$1" != zh ] || LC_ALL=C.UTF-8 grep -P '^[^\t]{1,39}\t[\x{4E00}-\x{9FFF}]{2,}$' "$work/ja.dict.tsv" || true
    [ -z "${freedict_code[$1]:-}" ] || {
      index=$(freedict_fetch "eng-${freedict_code[$1]}") && [ -z "$index" ] || "$program" data convert --from dictd "$index"
      index=$(freedict_fetch "${freedict_code[$1]}-eng") && [ -z "$index" ] ||
        "$program" data convert --from dictd --columns 2,1 "$index"
    }
  } 2>/dev/null | sort -u >"$work/$1.dict.tmp"
  mv "$work/$1.dict.tmp" "$work/$1.dict.tsv"
}
