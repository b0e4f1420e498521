# Sourced by tests that train: three languages made up of the same ten words, told word by word.
#   made_up 200 | cut -f 1,2 >pairs.tsv     # sentences of four or five words, the same at every call
made_up() {
  awk -v n_sentences="$1" 'BEGIN {
    x = 1
    n = split("the cat dog sees hears likes red old small house", a)
    split("lo gato can vido sento amo roso veco picol casa", b)
    split("da kat hund ser horer liker rod gammel liten hus", c)
    for (i = 0; i < n_sentences; i++) {
      s = t = u = ""; x = x * 16807 % 2147483647; words = 4 + x % 2
      for (k = 0; k < words; k++) {
        x = x * 16807 % 2147483647; w = int(x / 7) % n + 1; blank = k ? " " : ""
        s = s blank a[w]; t = t blank b[w]; u = u blank c[w]
      }
      print s "\t" t "\t" u
    }
  }'
}
