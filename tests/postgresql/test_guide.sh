# The commands of docs/guides/postgresql.md as they are printed, but for the server, which would not end.
. "$(dirname "$0")/common.sh"
PGDATABASE=postgres sql -c "DROP DATABASE IF EXISTS news"
ln -s "$SOURCE/sample" sample
mkdir programs
ln -s "$PROGRAM" programs/calque
ln -s "$CALQUE_PG_BIN/createdb" programs/createdb
PATH=$PWD/programs:$PATH
grep '^    ' "$SOURCE/docs/guides/postgresql.md" | grep -v 'calque serve' >commands
[ "$(wc -l <commands)" -ge 8 ] || fail "the guide has $(wc -l <commands) commands"
while read -r last; do
  (eval "$last") >stdout 2>stderr </dev/null || fail "a command of the guide"
done <commands
expect 0 search postgresql:///news "how to mend a bicycle tyre" --top 1
lines_are stdout 1
finish
