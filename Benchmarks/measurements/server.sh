# shellcheck shell=bash
# Measurements of a store server, for Benchmarks/run.

# start_sales WORDS…: sells the store `sold` with these options, on a free port; sets $sales, $sales_url and $sell,
# the command that buys for $seconds. If $counter has words, they run the server.
start_sales() {
  : >sales-out
  "${counter[@]}" "$tool" store-server run sold --data selling "$@" --listen 127.0.0.1:0 >sales-out &
  sales=$!
  until grep -q http sales-out || ! kill -0 $sales; do sleep 0.02; done
  sales_url=$(grep -o '127[0-9.]*:[0-9]*' sales-out)
  sell=("$bench" "$sales_url" token com.example.sold 32 "${seconds:-10}")
}

stop_sales() {
  [ -n "$sales" ] || return 0
  kill "$sales" 2>/dev/null || true
  wait "$sales" 2>/dev/null || true
  sales=
}

# as_postgres PROGRAM WORDS…: runs a program of PostgreSQL, which refuses root.
as_postgres() {
  local as=()
  [ "$(id -u)" != 0 ] || as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
  "${as[@]}" "/usr/lib/postgresql/15/bin/$1" "${@:2}"
}

# start_postgres: starts a server with an empty database; sets $postgres, the path of its folder.
start_postgres() {
  postgres=$work/postgres
  mkdir "$postgres"
  [ "$(id -u)" != 0 ] || chown postgres "$postgres"
  as_postgres initdb --pgdata "$postgres/data" --username=postgres --auth=trust --encoding=UTF8 >/dev/null
  as_postgres pg_ctl start --pgdata "$postgres/data" --silent --wait --log "$postgres/log" \
    --options "-c listen_addresses= -c unix_socket_directories=$postgres"
}

stop_postgres() {
  [ -n "$postgres" ] || return 0
  as_postgres pg_ctl stop --pgdata "$postgres/data" --silent --mode fast || true
  postgres=
}

# rates NAME: purchases per second with 32 connections, and the latency of 500 per second, min/median/max of the runs.
rates() {
  local run
  rm -f rate latency
  for run in $(seq "${runs:-3}"); do
    "${sell[@]}" | tee -a sales-log | sed -n 's/.* s, \([0-9]*\) per second.*failures: none$/\1/p' >>rate
    "${sell[@]}" 500 | tee -a sales-log | sed -n 's/.*99 % \([0-9.]*\),.*failures: none$/\1/p' >>latency
  done
  # A run with failures has no figure.
  [ "$(cat rate latency | wc -l)" = $((2 * ${runs:-3})) ] || { cat sales-log >&2 && return 1; }
  echo "$1: purchases per second, 32 connections: $(spread <rate); at 500 per second, 99 % within ms: $(
    spread <latency)"
}

# A store server that sells one product, in SQLite and in PostgreSQL. On the disk of $TMPDIR.
measure_sales() {
  local bench counter=() run sell syncs
  bench=$("$release" HostedSalesBenchmark)/HostedSalesBenchmark
  sales='' postgres=''
  trap 'stop_sales; stop_postgres; stop_nginx; rm -rf "$work" "$memory"' EXIT
  "$tool" store init sold >/dev/null
  "$tool" store add sold com.example.sold --type consumable >/dev/null
  (umask 077 && "$tool" store-server key add --data selling --scopes read,purchase >token 2>/dev/null)
  start_sales
  rates SQLite
  stop_sales
  start_sales
  "$benchmarks/idle-streams" "$sales_url" token "$sales"
  stop_sales
  # A commit syncs the log once. A tracer would slow the server, and thereby change how many purchases share a commit.
  cc -O2 -fPIC -shared -o count-syncs.so "$benchmarks/../Tests/SyncDelay/SyncDelay.c"
  : >syncs
  counter=(env "LD_PRELOAD=$work/count-syncs.so" "SYNC_RECORD=$work/syncs")
  start_sales
  for run in $(seq "${runs:-3}"); do
    : >syncs
    "${sell[@]}" | tee -a sales-log >counted
    awk -v n="$(grep -c '^end .*-wal$' syncs)" '{ printf "%.1f\n", $1 / n }' counted >>per-commit
  done
  stop_sales
  counter=()
  echo "SQLite: purchases per commit, 32 connections: $(spread <per-commit)"
  if [ -x /usr/lib/postgresql/15/bin/initdb ]; then
    start_postgres
    # The key is in the other ledger.
    local database="postgresql://postgres@/postgres?host=$postgres"
    (umask 077 && "$tool" store-server key add --database "$database" --scopes read,purchase >token 2>/dev/null)
    start_sales --database "$database"
    rates "PostgreSQL 15, Unix socket"
    as_postgres psql --host "$postgres" --quiet --command "select pg_stat_reset_shared('wal')" >/dev/null
    "${sell[@]}" >counted
    stop_sales
    # A process of PostgreSQL reports its syncs when it ends.
    syncs=$(as_postgres psql --host "$postgres" --tuples-only --no-align --command "select wal_sync from pg_stat_wal")
    echo "PostgreSQL: $(awk -v n="$syncs" \
      '{ printf "%d purchases, %d syncs of the log, %.1f purchases per sync", $1, n, $1 / n }' counted)"
    stop_postgres
  else
    echo "PostgreSQL 15 not found: its purchases are not measured."
  fi
  trap 'stop_nginx; rm -rf "$work" "$memory"' EXIT
}

# The gates of a store server: their cost, renewals and revocations.
measure_gate() { "$benchmarks/gate" "$tool"; }

# Installs over a network with latency, compared with curl. Needs root.
measure_latency() { "$benchmarks/latency" "$tool"; }
