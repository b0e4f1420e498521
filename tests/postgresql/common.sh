# Sourced by the tests of indexes in PostgreSQL: what tests/cli/common.sh has, and a database of the test's own. Without
# a server, which scripts/test-postgresql starts, a test is skipped.
if [ -z "${CALQUE_POSTGRESQL:-}" ]; then
  echo "skipped: there is no PostgreSQL server; scripts/test-postgresql starts one"
  exit 0
fi
. "$(dirname "${BASH_SOURCE[0]}")/server.sh"
. "$(dirname "${BASH_SOURCE[0]}")/../cli/common.sh"

sql() { PGOPTIONS="-c client_min_messages=warning" "$CALQUE_PG_BIN/psql" -X -q -A -t -v ON_ERROR_STOP=1 "$@"; }

# A fresh database, which PGDATABASE and ADDRESS name from now on; with pgvector.
new_database() {
  PGDATABASE=postgres sql -c "DROP DATABASE IF EXISTS $1 WITH (FORCE)" -c "CREATE DATABASE $1" >/dev/null || exit 1
  export PGDATABASE=$1
  ADDRESS=$CALQUE_POSTGRESQL/$1
  sql -c "CREATE EXTENSION vector"
}

# The whole of an index's tables, as text: the same for the same index.
dump() {
  local schema=${1:-calque}
  sql -c "SELECT n_documents, n_passages, n_occurrences FROM $schema.calque_index" \
    -c "SELECT id, language, title, url, text, metadata FROM $schema.document ORDER BY id" \
    -c "SELECT d.id, p.position, p.starts, p.ends, p.embedding, w.length, w.terms, substring(w.forward FROM 17) FROM $schema.passage p
        JOIN $schema.document d ON d.number = p.document JOIN $schema.words w ON w.passage = p.number ORDER BY 1, 2" \
    -c "SELECT * FROM $schema.term WHERE n_passages <> 0 ORDER BY 1"
}

# Counts are what the tables have.
is_consistent() {
  local schema=${1:-calque} wrong
  wrong=$(sql -c "SELECT count(*) FROM $schema.calque_index WHERE
    (n_documents, n_passages, n_occurrences) IS DISTINCT FROM ((SELECT count(*) FROM $schema.document),
    (SELECT count(*) FROM $schema.passage), (SELECT coalesce(sum(length), 0) FROM $schema.words))" \
    -c "SELECT count(*) FROM (SELECT hash, n_passages, n_occurrences FROM $schema.term WHERE n_passages <> 0 EXCEPT
    SELECT h, count(DISTINCT passage), count(*) FROM $schema.words, unnest(terms) AS h GROUP BY h) AS x" | tr '\n' ' ')
  [ "$wrong" = "0 0 " ] || fail "the counts of $schema are not those of its tables: $wrong"
}

finish() {
  [ "$failures" -eq 0 ] || { echo "$failures failures"; exit 1; }
}
