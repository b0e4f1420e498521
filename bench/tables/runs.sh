#!/usr/bin/env bash
# Trains the students that the tables compare: equal steps each, one after the other.
#
#   bench/tables/runs.sh PROGRAM DATA TEACHER WORK [RUN...]
#
#   DATA   holds parallel/en-XX/{train-*,dev-ntrex}.tsv.gz, dict/xling-en-de-train.tsv, sts/stsb-en-{train,dev}.tsv.gz
#   WORK   keeps text, students and models (WORK/RUN); called again, the script continues where it stopped
#   RUN    none: the list. English-German on the body of the teacher under a vocabulary of both languages:
#            size-1k size-5k size-10k size-25k size-all       so many pairs of all
#            set-everyday set-captions set-news set-technical set-dict     one kind of text; set-dict: words alone
#            set-gloss                              English sentences, translated word by word with the dictionary of set-dict
#          the same text as size-all on other students:
#            student-transformer student-bilstm student-static     without the teacher's body
#            student-static-20k                     the last with 20,000 steps, which take it a few minutes
#            student-static-teacher                 static, begun from the teacher's vectors of single pieces, 10,000 steps
#          other languages:
#            lang-es lang-ar                        one with English
#            langs-all langs-50k                    seven, drawn from alike, a vocabulary from at most 50,000
#                                                   pairs of each; the first LONG steps, the second 1,000 of these pairs
#          a baseline without other languages:
#            teacher-stsb                           the teacher after the scores of stsb-en, four epochs of batches of 16
#          not in the list, on multilingual bodies that you have (names in the local Hugging Face cache, or MBERT and XLM_R):
#            mbert-nli-stsb xlm-r-nli-stsb          the body after DATA/nli/train.tsv.gz (sentence, sentence, label), then stsb-en
#            mbert-langs xlm-r-langs                the body as a student, LONG steps of seven languages
#   STEPS (1000), BATCH (64), SEED (1), THREADS (2), LONG (6000: steps of langs-all) in the environment change the runs
set -euo pipefail
shopt -s inherit_errexit
[ $# -ge 4 ] || { sed -n '2,26s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$1 data=$2 teacher=$3 work=$4
shift 4
all=(size-{1k,5k,10k,25k,all} set-{everyday,captions,news,technical,dict,gloss} student-{transformer,bilstm,static,static-20k,static-teacher} lang-{es,ar} langs-{all,50k} teacher-stsb)
seven=(ar de es fr hi ru zh)
[ $# -gt 0 ] || { printf '%s\n' "${all[@]}"; exit; }
threads=${THREADS:-2} seed=${SEED:-1}
mkdir -p "$work/text"

# text NAME FILE...: the files' pairs as one file, each once, in random order; prints its path.
text() {
  local out=$work/text/$1.tsv
  shift
  if [ ! -s "$out" ]; then
    "$program" data dedup "$@" | awk -v seed="$seed" 'BEGIN { srand(seed) } { printf "%.9f\t%s\n", rand(), $0 }' | LC_ALL=C sort |
      cut -f 2- >"$out.tmp"
    mv "$out.tmp" "$out"
  fi
  echo "$out"
}

# finetune FROM TO OPTION...: as SBERT was.
finetune() {
  "$program" finetune --model "$1" --output "$2" "${@:3}" --sts "$data/sts/stsb-en-dev.tsv.gz" --resume --batch 16 --lr 2e-5 \
    --evaluate-every 360 --seed "$seed" --threads "$threads" >&2
}

# width MODEL: how many numbers its vectors have.
width() { "$program" model info --json "$1" | awk -F '[:,]' '$1 ~ /"dim"/ { print $2 + 0; exit }'; }

for run in "$@"; do
  model=$work/$run student=$work/student-of-$run
  [ ! -d "$model" ] || continue
  case $run in
  mbert-*) body=${MBERT:-bert-base-multilingual-cased} ;;
  xlm-r-*) body=${XLM_R:-xlm-roberta-base} ;;
  *) body=$teacher ;;
  esac
  if [ "${run##*-}" = stsb ]; then
    if [ "$run" != teacher-stsb ]; then
      [ -d "$work/$run-first" ] || finetune "$body" "$work/$run-first" --nli "$data/nli/train.tsv.gz" --epochs 1
      body=$work/$run-first
    fi
    finetune "$body" "$model" --scored "$data/sts/stsb-en-train.tsv.gz" --epochs 4
    continue
  fi
  options=(--kind new-vocabulary --from "$teacher" --vocab-size 32000)
  rates=(--lr 3e-4 --embedding-lr 1e-3 --eps 1e-9 --dropout 0)
  steps=${STEPS:-1000}
  pairs=() words_from=() mono=() dev=("$data/parallel/en-de/dev-ntrex.tsv.gz") balanced=()
  de=$data/parallel/en-de/train
  case $run in
  size-*)
    whole=$(text en-de "$de"-*.tsv.gz)
    n=${run#size-}
    if [ "$n" = all ]; then
      pairs=("$whole")
    else
      pairs=("$work/text/en-de-$n.tsv")
      head -n "${n%k}000" "$whole" >"${pairs[0]}"
    fi
    ;;
  set-everyday) pairs=("$(text everyday "$de"-{anki,tatoeba}.tsv.gz)") ;;
  set-captions) pairs=("$(text captions "$de"-{multi30k,stsb-mt}.tsv.gz)") ;;
  set-news) pairs=("$(text news "$de"-news.tsv.gz)") ;;
  set-technical) pairs=("$(text technical "$de"-tldr.tsv.gz)") ;;
  set-dict)
    pairs=("$(text dict "$data/dict/xling-en-de-train.tsv")")
    rates=(--lr 3e-5 --embedding-lr 1e-3 --eps 1e-9 --dropout 0) # the body is to stay one for sentences
    ;;
  set-gloss)
    words_from=("$(text dict "$data/dict/xling-en-de-train.tsv")")
    pairs=("$work/text/gloss.tsv")
    "$program" data gloss --dictionary "${words_from[0]}" "$(text en-de "$de"-*.tsv.gz)" --output "${pairs[0]}"
    ;;
  student-*)
    pairs=("$(text en-de "$de"-*.tsv.gz)")
    kind=${run#student-}
    options=(--kind "${kind%-20k}" --dim 384 --vocab-size 32000 --normalize)
    [ "$run" != student-static-20k ] || steps=20000
    [ "$run" != student-static-teacher ] || options=(--kind static --from "$teacher" --vocab-size 32000 --normalize) steps=10000
    case $run in # chosen on dev-ntrex in a quarter of the steps
    *-transformer) rates=(--lr 5e-4 --embedding-lr 1e-1 --eps 1e-9 --dropout 0) ;;
    *-bilstm) rates=(--lr 1e-3 --embedding-lr 1e-1 --eps 1e-9 --dropout 0) options+=(--layers 1) ;;
    *-static-teacher) rates=(--lr 3e-2 --weight-decay 0 --eps 1e-9 --dropout 0) ;;
    *-static*) rates=(--lr 3e-1 --embedding-lr 3e-1 --eps 1e-9 --dropout 0) ;;
    esac
    ;;
  lang-*)
    pairs=("$(text "en-${run#lang-}" "$data/parallel/en-${run#lang-}"/train-*.tsv.gz)")
    dev=("$data/parallel/en-${run#lang-}/dev-ntrex.tsv.gz")
    [ "$run" != lang-ar ] || options[-1]=24000 # 12,754 pairs have no more pieces
    ;;
  langs-* | *-langs)
    dev=()
    options=(--kind new-vocabulary --from "$teacher" --vocab-size 64000)
    if [ "${run##*-}" = langs ]; then
      rates=(--lr 2e-5 --eps 1e-6) # the paper's
      options=(--kind copy --from "$body")
      [ "$(width "$body")" = "$(width "$teacher")" ] || options+=(--output-dim "$(width "$teacher")")
    fi
    balanced=(--balanced)
    for language in "${seven[@]}"; do
      whole=$(text "en-$language" "$data/parallel/en-$language"/train-*.tsv.gz)
      some=$work/text/en-$language-50k.tsv
      head -n 50000 "$whole" >"$some"
      words_from+=("$some") # the pieces of a language that has little text would be few among those of all text
      if [ "$run" = langs-50k ]; then pairs+=("$some"); else pairs+=("$whole"); fi
      dev+=("$data/parallel/en-$language/dev-ntrex.tsv.gz")
    done
    [ "$run" = langs-50k ] || steps=${LONG:-6000}
    ;;
  *) echo "there is no run $run" >&2; exit 2 ;;
  esac
  # German that nobody has translated is not scarce: words come from all of it, their meaning from the pairs.
  case $run in
  size-* | set-*)
    mono=("$work/text/en-de.txt")
    if [ ! -s "${mono[0]}" ]; then
      tr '\t' '\n' <"$(text en-de "$de"-*.tsv.gz)" >"${mono[0]}.tmp"
      mv "${mono[0]}.tmp" "${mono[0]}"
    fi
    ;;
  esac
  echo "== $run: $(cat "${pairs[@]}" | wc -l) pairs, $steps steps" >&2
  [ ${#words_from[@]} -gt 0 ] || words_from=("${pairs[@]}") # what new words mean is learned from
  words_from+=("${mono[@]}")
  [ "${options[1]}" != copy ] || words_from=()
  [ -d "$student" ] || "$program" model new "$student" "${options[@]}" --threads "$threads" "${words_from[@]/#/--text=}" >&2
  "$program" distill --teacher "$teacher" --student "$student" "${pairs[@]/#/--train=}" "${dev[@]/#/--dev=}" "${balanced[@]}" --output "$model" \
    --cache "$work/cache" --resume --steps "$steps" --batch "${BATCH:-64}" "${rates[@]}" --warmup 0.1 --evaluate-every 500 \
    --checkpoint-every 500 --best-by last --seed "$seed" --threads "$threads" >&2
done
