# shellcheck shell=bash
# Measurements of a library and of the queue, for Benchmarks/run.

measure_list() {
  local count=1000 number
  "$tool" store init many >/dev/null
  for number in $(seq "$count"); do
    mkdir -p "source/$number/Contents"
    echo "$number" >"source/$number/Contents/text"
    tool_package "source/$number" "com.example.many.p$number" 1.0
  done
  "$tool" store publish many ./*.pkg >/dev/null
  rm ./*.pkg
  # shellcheck disable=SC2046
  "$tool" get $(seq -f 'com.example.many.p%g' "$count") --store many --library lib-many \
    --quiet >/dev/null
  [ "$("$tool" list --library lib-many --json | grep -c '"contentIdentifier"')" = "$count" ]
  echo "list, $count versions, seconds min/median/max of 20: $(
    for _ in $(seq 20); do seconds "$tool" list --library lib-many; done | spread)"
  echo "hostedcontent --version, the same way: $(
    for _ in $(seq 20); do seconds "$tool" --version; done | spread)"
}

make_large() {
  [ ! -e store-large ] || return 0
  mkdir -p large/Contents
  # Half of it compresses, half does not.
  head -c 500000000 /dev/urandom >large/Contents/film.bin
  yes "A line of text that compresses well, as texts in books do." | head -c 500000000 \
    >large/Contents/text.txt || true
  tool_package large com.example.large 1.0
  "$tool" store init store-large >/dev/null
  "$tool" store publish store-large com.example.large.pkg >/dev/null
}

measure_install() {
  make_large
  local get=("$tool" get com.example.large --store store-large --quiet --library)
  local bytes
  bytes=$(stat -c %s com.example.large.pkg)
  echo "install, 1000 MB in a package of $bytes bytes, peak memory in kB: $(peak "${get[@]}" lib-peak)"
  rm -rf lib-peak
  for run in 1 2 3; do
    seconds "${get[@]}" "lib-$run" >>ours
    rm -rf "lib-$run"
    mkdir -p by-hand/outer by-hand/content
    seconds sh -c "cp com.example.large.pkg by-hand/ && cd by-hand && \
      sha256sum com.example.large.pkg && bsdtar -xf com.example.large.pkg -C outer && \
      bsdtar -xf outer/*/Payload -C content && sync -f ." >>peer
    rm -rf by-hand
  done
  echo "install, seconds min/median/max of 3: $(spread <ours)"
  echo "by hand (cp, sha256sum, bsdtar twice, sync), the same runs: $(spread <peer)"
  echo "publish, seconds: $("$tool" store init again >/dev/null;
    seconds "$tool" store publish again com.example.large.pkg)"
}

# staged LIBRARY: the bytes in its staging folder.
staged() { du -s --block-size=1 "$1/staging" 2>/dev/null | cut -f1 | grep . || echo 0; }

measure_resume() {
  make_large
  "$tool" get com.example.large --store store-large --library lib-resume --quiet >/dev/null &
  local getter=$!
  until [ "$(staged lib-resume)" -gt 300000000 ]; do sleep 0.01; done
  kill -KILL $getter
  wait $getter 2>/dev/null || true
  local kept
  kept=$(staged lib-resume)
  echo "resume after SIGKILL with $kept bytes in staging, seconds: $(
    seconds "$tool" get com.example.large --store store-large --library lib-resume --quiet)"
}

# calls COMMAND…: the number of its system calls, and of the syncs among them.
calls() {
  strace -f -c -o trace "$@" >/dev/null
  awk '$NF == "total" { all = $4 } $NF ~ /^(fsync|fdatasync|syncfs)$/ { syncs += $4 }
    END { printf "%d, syncs: %d", all, syncs }' trace
}

measure_queue() {
  local bench
  bench=$("$release" HostedQueueBenchmark)/HostedQueueBenchmark
  "$bench" fill "$work/idle" 100000
  "$bench" open "$work/idle" 100000
  "$bench" publish "$work/tiny" 1000
  "$bench" purchases "$work/tiny" 10000
  echo "10000 products without content, system calls: $(
    calls "$bench" traced-purchases "$work/tiny" 10000)"
  "$bench" contents "$work/tiny" 1000
  echo "1000 products with tiny content, system calls: $(
    calls "$bench" traced-contents "$work/tiny" 1000)"
  "$bench" downloads "$work/tiny" 1000
  "$bench" delivers "$work/tiny" 10000
  "$bench" queued "$work/queued" 10000
}

# Restores from a store server: pages of 1,000 purchases, with verified receipts.
measure_restore() {
  local bench
  bench=$("$release" HostedRestoreBenchmark)/HostedRestoreBenchmark
  "$bench" "$tool" "$work/restore" 10000 100
}

# A feed of one million apps in rows of about 600 bytes. Searches the last row.
measure_app-update() {
  local rows=1000000
  awk -v rows="$rows" 'BEGIN {
    FS1 = "\001"; END2 = "\002\n"
    text = sprintf("%500s", ""); gsub(/ /, "x", text)
    printf "#export_date" FS1 "application_id" FS1 "title" FS1 "view_url" FS1 "description" FS1 "version" END2
    for (i = 1; i <= rows; i++)
      printf "1768478400%s%d%sApp %d%shttps://apps.example.com/app/id%d%s%s%s1.%d%s", \
        FS1, 100000000 + i, FS1, i, FS1, 100000000 + i, FS1, text, FS1, i, END2
    printf "#recordsWritten:%d%s", rows, END2
  }' >feed
  local bytes id=$((100000000 + rows))
  bytes=$(stat -c %s feed)
  local search=("$tool" app-update --id "$id" --installed 1.0 --feed feed --require-update)
  "${search[@]}" >/dev/null
  for run in 1 2 3 4 5; do
    seconds "${search[@]}" >>feed-ours
    seconds env LC_ALL=C grep -c -a -P "^[0-9]*\x01$id\x01" feed >>feed-peer
  done
  echo "feed of $rows rows, $bytes bytes, seconds min/median/max of 5: $(spread <feed-ours)"
  echo "the same in MB/s, median: $(sort -n feed-ours | awk -v b="$bytes" 'NR == 3 { printf "%d", b / $1 / 1e6 }')"
  echo "grep -P for the same row, the same runs: $(spread <feed-peer)"
  peak "${search[@]}" >feed-peak
  echo "peak memory in kB: $(cat feed-peak); of hostedcontent --version: $(peak "$tool" --version)"
  megabytes 1e3 <feed-peak | record memory "search in a feed of 584 MB, peak" ours MB
}
