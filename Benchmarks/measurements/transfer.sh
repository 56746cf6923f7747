# shellcheck shell=bash
# Measurements of transfers and of faults, for Benchmarks/run.

# sides NAME: medians of the wall-clock and CPU seconds of ours and of the peer, and of their ratios.
sides() {
  paste -d' ' ours-times peer-times | awk -v name="$1" '
    { w[NR] = $1; c[NR] = $2 + $3; pw[NR] = $4; pc[NR] = $5 + $6; r[NR] = $1 / $4; q[NR] = c[NR] / pc[NR] }
    function median(v,  i, j, x) {
      for (i = 2; i <= NR; i++) { x = v[i]; for (j = i - 1; j > 0 && v[j] > x; j--) v[j + 1] = v[j]; v[j + 1] = x }
      return v[int((NR + 1) / 2)]
    }
    END { printf "%s: wall %.2f against %.2f s, ratio %.2f; CPU %.2f against %.2f s, ratio %.2f (medians of %d)\n",
      name, median(w), median(pw), median(r), median(c), median(pc), median(q), NR }'
  rm -f ours-times peer-times
}

# timed FILE COMMAND…: runs it after settle, and appends its wall, user and system seconds to FILE.
timed() {
  local file=$1
  shift
  settle
  env time -a -o "$file" -f '%e %U %S' "$@" >/dev/null 2>>peer-errors
}

measure_transfer() {
  local bench url number
  bench=$("$release" HostedTransferBenchmark)/HostedTransferBenchmark
  mkdir -p served/one served/many
  head -c 1000000000 /dev/urandom >served/one/large.bin
  for number in $(seq 1000); do head -c 100000 /dev/urandom >"served/many/$number"; done
  "$bench" index served/one
  "$bench" index served/many
  start_nginx "$work/served"
  url=$web/
  # More pairs than elsewhere, because the load of the host changes the result by up to a fifth.
  for number in $(seq 11); do
    mkdir "out-one-$number"
    timed ours-times "$bench" fetch "${url}one" served/one "out-one-$number" 1
    rm -f out-one-*/large.bin
    timed peer-times sh -c "curl -s -o out-peer ${url}one/large.bin"
    rm -f out-peer
  done
  cp ours-times ours-kept
  sides "one file of 1 GB, against curl -o"
  mv ours-kept ours-times
  for number in $(seq 11); do
    timed peer-times sh -c "curl -s -o out-peer ${url}one/large.bin && sha256sum out-peer"
    rm -f out-peer
  done
  sides "the same, against curl -o and sha256sum"
  for number in $(seq 1000); do
    printf 'url = "%smany/%s"\noutput = "out/%s"\n' "$url" "$number" "$number"
  done >curl-list
  # Twice as many downloads as a session's eight connections to a host, so that some are written
  # while others arrive. Nothing is removed between the runs, because ext4 finds free inodes slowly
  # after many were freed.
  for number in $(seq 5); do
    mkdir "out-ours-$number" "out-peer-$number"
    timed ours-times "$bench" fetch "${url}many" served/many "out-ours-$number" 16
    ln -sfn "out-peer-$number" out
    timed peer-times curl -s --parallel --parallel-max 8 --config curl-list
  done
  for number in $(seq 1000); do cmp "served/many/$number" "out-ours-1/$number"; done
  sides "1,000 files of 100 KB, against curl --parallel --parallel-max 8"
  stop_nginx
  measure_limited "$bench"
}

# A server with a latency of 20 ms that sends 50 MB per second.
measure_limited() {
  "$tool" store init slow >/dev/null
  mkdir slow/targets/files
  head -c 300000000 served/one/large.bin >slow/targets/files/large.bin
  "$1" index slow/targets/files
  "$tool" serve slow --listen 127.0.0.1:0 --latency 20ms --rate 50MB/s >serve-out &
  local server=$! url number
  until grep -q http serve-out; do sleep 0.02; done
  url=$(grep -o 'http://[^ ]*' serve-out)
  for number in $(seq 3); do
    mkdir out-ours
    seconds "$1" fetch "${url}targets/files" slow/targets/files out-ours 1 >>limited
    rm -rf out-ours
  done
  echo "300 MB at 50 MB/s with 20 ms of latency, seconds min/median/max of 3: $(spread <limited), $(
    sort -n limited | awk 'NR == 2 { printf "%.1f %% of the limit", 600 / $1 }')"
  kill $server
  wait $server 2>/dev/null || true
}

# The bytes that the server sends again after a SIGKILL at half of a package. This includes bytes that were unread
# in sockets.
measure_kill() {
  local length run before getter server
  mkdir -p half/Contents
  head -c 400000000 /dev/urandom >half/Contents/film.bin
  tool_package half com.example.half 1.0
  "$tool" store init store-half >/dev/null
  "$tool" store publish store-half com.example.half.pkg >/dev/null
  length=$(stat -c %s com.example.half.pkg)
  "$tool" serve store-half --listen 127.0.0.1:0 --rate 100MB/s --verbose >half-log 2>&1 &
  server=$!
  until grep -q http half-log; do sleep 0.02; done
  local get=("$tool" get com.example.half --store "$(grep -o 'http://[^ ]*' half-log | head -n 1)"
    --root store-half/metadata/1.root.json --library lib-half --quiet)
  for run in $(seq 15); do
    before=$(wc -l <half-log)
    rm -rf lib-half
    "${get[@]}" >/dev/null &
    getter=$!
    until [ "$(find lib-half/staging -type f -printf '%b\n' 2>/dev/null |
      awk '{ s += $1 * 512 } END { print s + 0 }')" -gt $((length / 2)) ]; do sleep 0.02; done
    kill -KILL $getter
    wait $getter 2>/dev/null || true
    "${get[@]}" >/dev/null
    tail -n "+$((before + 1))" half-log | grep 'content.pkg' |
      awk -v l="$length" '{ s += $NF } END { print s - l }' >>half-more
  done
  kill $server
  wait $server 2>/dev/null || true
  echo "killed at half of $length bytes, bytes sent again, min/median/max of 15: $(spread <half-more)"
}

measure_faults() {
  "$("$release" HostedFaultMatrix)/HostedFaultMatrix"
}
