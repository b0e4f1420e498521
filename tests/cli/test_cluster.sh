# calque cluster: sentence-transformers' communities, texts and ids, and what is refused.
. "$(dirname "$0")/common.sh"

TEACHER=$SOURCE/sample/teacher

# The golden communities, whatever the first pass and the number of threads.
for case in "0.8 3" "0.5 10" "0.95 2" "0.3 40"; do
  set -- $case
  for more in "" "--first-pass int8 --threads 1" "--threads 3"; do
    expect 0 cluster "$SOURCE/tests/golden/communities/vectors.npy" --threshold "$1" --min-size "$2" $more
    cut -f 1,3 stdout >got
    same got "$SOURCE/tests/golden/communities/expected-$1-$2.tsv"
  done
done

# Text: a sentence that stands twice counts once, and its ids are both printed.
printf 'r1\tThe train to Vienna is late.\nr2\tA cat sleeps on the chair.\nr3\tThe train to Vienna is late.\nr4\tThe train to Vienna is very late.\n' >reviews.ids
expect 0 cluster --model "$TEACHER" --cache cache reviews.ids --threshold 0.8 --min-size 2
stderr_has "1 clusters of 2 sentences"
lines_are stdout 3
[ "$(head -n 1 stdout)" = "1	1.0000	r1	The train to Vienna is late." ] || fail "the center does not come first: $(head -n 1 stdout)"
cut -f 2 reviews.ids >reviews.txt
expect 0 cluster --model "$TEACHER" --cache cache reviews.txt --threshold 0.8 --min-size 1
lines_are stdout 3
expect 0 cluster --model "$TEACHER" --cache cache reviews.txt --threshold 0.8
stdout_is_empty

expect 1 cluster nowhere.npy
stderr_has "nowhere.npy"
expect 2 cluster reviews.txt --model "$TEACHER" --threshold 1.5
expect 2 cluster reviews.txt --model "$TEACHER" --dim 3
: >empty.txt
expect 1 cluster empty.txt --model "$TEACHER"
stderr_has "empty.txt"
finish
