# shellcheck shell=bash
# Measurements of packages: builds, installations, updates and repairs, for Benchmarks/run.

# package_rows FOLDER [remove]: installs, updates and repairs in FOLDER. With `remove`, deletes the files of each run
# after it.
package_rows() {
  local place=$1 run film
  mkdir -p "$place"
  cd "$place"
  start_nginx "$place"
  cp "$work/plain.xar" .
  "$tool" store init store >/dev/null
  "$tool" store publish store "$pair/old.pkg" >/dev/null
  # The store before and after the new version is published.
  cp -r store store-old
  "$tool" store publish store "$pair/new.pkg" >/dev/null
  mapfile -t served < <(find "$PWD/store" "$PWD/store-old" "$PWD/plain.xar" -type f)
  local old=(--store "$web/store-old" --root store/metadata/1.root.json)
  local new=(--store "$web/store" --root store/metadata/1.root.json)
  # On disk, nothing is removed between the runs, because ext4 finds free inodes slowly after many were freed.
  both_processors
  for run in $(seq "${runs:-5}"); do
    mkdir "out-$run" "piped-$run" "synced-$run"
    # Compared commands run directly after each other. Other commands between them changed the ratio, probably
    # because memory that these had freed was returned to the host.
    settled peer sh -c "curl -s -o x-$run $web/plain.xar && bsdtar -xf x-$run -C out-$run"
    settled ours "$tool" get com.example.pair "${old[@]}" --library "lib-$run" --quiet
    settled pipe sh -c "curl -s $web/plain.xar | bsdtar -xf - -C piped-$run"
    # Not durable, like the two peers. In memory, there is no difference.
    [ -n "${2:-}" ] ||
      settled unsynced eatmydata "$tool" get com.example.pair "${old[@]}" --library "unsynced-$run" --quiet
    settled update "$tool" update "${new[@]}" --library "lib-$run" --quiet
    settled synced sh -c "curl -s -o y-$run $web/plain.xar && bsdtar -xf y-$run -C synced-$run && sync -f ."
    # The time that the disk needs for these files.
    settled copy sh -c "cp -r $pair/old copy-$run && sync -f ."
    diff -r "$pair/new/Contents" "lib-$run/products/com.example.pair/current/Contents"
    [ -z "${2:-}" ] || rm -rf ./*"-$run"
  done
  both_processors
  echo "bytes of the index: $(cat store-old/targets/*/*/*.content.index | wc -c)"
  echo "install, seconds min/median/max: $(spread <ours)"
  echo "curl -o, then bsdtar -xf, the same runs: $(spread <peer)"
  echo "the runs' ratios: $(ratio ours peer)"
  echo "CPU steal of the two in seconds: $(spread <ours-stolen); $(spread <peer-stolen)"
  [ -n "${2:-}" ] || {
    echo "install without its syncs (eatmydata): $(spread <unsynced); CPU steal $(spread <unsynced-stolen)"
    echo "the runs' ratios, to curl -o and to the pipe: $(ratio unsynced peer); $(ratio unsynced pipe)"
  }
  echo "curl -o, then bsdtar -xf, then sync: $(spread <synced); the runs' ratios: $(ratio ours synced)"
  echo "cp -r of the content, then sync: $(spread <copy)"
  echo "curl | bsdtar -xf -, the same runs: $(spread <pipe); the runs' ratios: $(ratio ours pipe)"
  echo "update of 1 %, the same runs: $(spread <update); the runs' ratios: $(ratio update ours)"
  echo "install, CPU seconds: $(
    cpu "$tool" get com.example.pair "${old[@]}" --library lib-cpu --quiet)"
  mkdir out
  echo "curl -o, then bsdtar -xf, CPU seconds: $(
    cpu sh -c "curl -s -o x $web/plain.xar && bsdtar -xf x -C out")"
  peak "$tool" get com.example.pair "${old[@]}" --library lib --quiet >peaks
  echo "install, peak memory in kB: $(cat peaks)"
  megabytes 1e3 <peaks | record memory "install of 790 MB, peak" ours MB
  if [ -n "${2:-}" ]; then
    record install "in memory" ours s <ours
    record install "in memory" "curl -o, bsdtar" s <peer
  else
    record install "on disk, both durable" ours s <ours
    record install "on disk, both durable" "curl -o, bsdtar, sync" s <synced
    record install "on disk, peer not synced" ours s <ours
    record install "on disk, peer not synced" "curl | bsdtar" s <pipe
  fi
  echo "bytes in the library, of the content: $(du -sb lib | cut -f1) $(du -sb "$pair/old" | cut -f1)"
  "$tool" updates "${new[@]}" --library lib --json >updates.json
  echo "update, bytes: $(grep -oE '"bytes[A-Za-z]*" *: *[0-9]+' updates.json | xargs)"
  grep -oE '"bytesToMove" *: *[0-9]+' updates.json | grep -oE '[0-9]+$' | megabytes 1e6 |
    record update-bytes "1 % of the files changed" ours MB
  grep -oE '"bytesInFull" *: *[0-9]+' updates.json | grep -oE '[0-9]+$' | megabytes 1e6 |
    record update-bytes "1 % of the files changed" "the package" MB
  film=lib/products/com.example.pair/current/Contents/films/film-00.bin
  chmod 644 "$film"
  printf x | dd of="$film" bs=1 seek=4000000 conv=notrunc 2>/dev/null
  chmod 444 "$film"
  echo "one byte damaged: $("$tool" repair "${new[@]}" --library lib)"
  stop_nginx
  served=()
  cd "$work"
  rm -rf "$place"
}

measure_package() {
  local run
  pair=$work/pair
  "$benchmarks/make-content" "$pair" "${files:-10000}"
  for run in $(seq "${runs:-5}"); do
    seconds "$tool" package "$pair/old" --output "$pair/old.pkg" --product com.example.pair \
      --content-version 1.0 >>build
    seconds bsdtar --format xar -cf plain.xar -C "$pair/old" Contents >>xar
  done
  "$tool" package "$pair/new" --output "$pair/new.pkg" --product com.example.pair \
    --content-version 2.0 >/dev/null
  echo "build, seconds min/median/max: $(spread <build)"
  echo "bsdtar --format xar, the same runs: $(spread <xar)"
  echo "bytes of content, package, xar: $(du -sb "$pair/old" | cut -f1) $(
    stat -c %s "$pair/old.pkg" plain.xar | xargs)"
  # In memory first, because writes to the disk keep the host busy for a long time.
  if [ -z "${disk_only:-}" ]; then
    echo "--- in memory"
    package_rows "$memory/package" remove
  fi
  [ -z "${memory_only:-}" ] || return 0
  echo "--- on disk"
  package_rows "$work/disk"
}

# served LOG PATTERN FIRST: the bytes of bodies in the server's log, from line FIRST.
served() { tail -n "+$3" "$1" | grep -E "$2" | awk '{ s += $NF } END { print s + 0 }'; }

# The worst update: everything changed. Compares its bytes, as the server counts them, with a full download.
measure_worst() {
  local place=$work/worst version number server before url shown
  mkdir -p "$place"
  cd "$place"
  for version in 1 2; do
    mkdir -p "v$version/Contents/texts" "v$version/Contents/films"
    for number in $(seq 4); do
      head -c 8000000 /dev/urandom >"v$version/Contents/films/$number.bin"
    done
    for number in $(seq 900); do
      head -c 15000 /dev/urandom | base64 | sed "1s,^,text ," >"v$version/Contents/texts/$number.txt"
    done
    tool_package "v$version" com.example.worst "$version.0"
    "$tool" store init "store-$version" >/dev/null
    "$tool" store publish "store-$version" com.example.worst.pkg >/dev/null
  done
  # The library changes to the other store, whose catalog has other keys.
  get() {
    local version=$1 library=$2
    shift 2
    rm -rf "$library/trust"
    "$tool" "$@" --store "$url" --root "store-$version/metadata/1.root.json" --library "$library"
  }
  for version in 1 2; do
    "$tool" serve "store-$version" --listen 127.0.0.1:0 --verbose >"log-$version" 2>&1 &
    server=$!
    until grep -q http "log-$version"; do sleep 0.02; done
    url=$(grep -o 'http://[^ ]*' "log-$version" | head -n 1)
    if [ "$version" = 1 ]; then
      get 1 lib get com.example.worst --quiet >/dev/null
    else
      get 2 fresh get com.example.worst --quiet >/dev/null
      served log-2 'content\.(pkg|index)' 1 >full
      echo "full download, bytes: $(cat full)"
      megabytes 1e6 <full | record update-bytes "everything changed" "the package" MB
      get 2 lib updates --json >updates.json
      shown=$(grep -oE '"bytesToMove" *: *[0-9]+' updates.json | grep -oE '[0-9]+$')
      before=$(wc -l <log-2)
      get 2 lib update --quiet >/dev/null
      served log-2 'content\.(pkg|index)' $((before + 1)) >moved
      echo "update where everything changed, bytes, as shown before: $(cat moved) $shown"
      megabytes 1e6 <moved | record update-bytes "everything changed" ours MB
      diff -r v2/Contents lib/products/com.example.worst/current/Contents
    fi
    kill $server
    wait $server 2>/dev/null || true
  done
  cd "$work"
}

# Small packages of 100 KB each, durable, on disk.
measure_small() {
  local number run count=${packages:-1000} place=$work/small
  mkdir -p "$place"
  cd "$place"
  for number in $(seq "$count"); do
    mkdir -p "source/$number/Contents"
    head -c 100000 /dev/urandom >"source/$number/Contents/data.bin"
    tool_package "source/$number" "com.example.small.p$number" 1.0
    bsdtar --format xar -cf "$number.xar" -C "source/$number" Contents
  done
  start_nginx "$place"
  "$tool" store init store >/dev/null
  "$tool" store publish store ./*.pkg >/dev/null
  for number in $(seq "$count"); do
    printf 'url = %s/%s.xar\noutput = %s.xar\n' "$web" "$number" "$number"
  done >list
  # shellcheck disable=SC2016
  local unpack='cd "$0" && curl -s --parallel --config ../list &&
    for file in *.xar; do mkdir "${file%.xar}" && bsdtar -xf "$file" -C "${file%.xar}"; done'
  for run in $(seq "${runs:-5}"); do
    # Nothing is removed between the runs, as for the rows of the large package.
    mkdir "out-$run" "synced-$run"
    settled peer sh -c "$unpack" "out-$run"
    settled synced sh -c "$unpack && sync -f ." "synced-$run"
    # shellcheck disable=SC2046
    settled ours "$tool" get $(seq -f 'com.example.small.p%g' "$count") --store "$web/store" \
      --root store/metadata/1.root.json --library "lib-$run" --quiet
  done
  echo "$count packages of 100 KB, seconds min/median/max: $(spread <ours)"
  echo "curl --parallel, then bsdtar for each, the same runs: $(spread <peer)"
  echo "the same, then sync: $(spread <synced)"
  record small-packages "1,000 packages of 100 KB" "ours, durable" s <ours
  record small-packages "1,000 packages of 100 KB" "curl --parallel, bsdtar, sync" s <synced
  record small-packages "1,000 packages of 100 KB" "the same, not synced" s <peer
  stop_nginx
  cd "$work"
}

# A disk that writes 200 MB per second: an ext4 file system in memory, on a loop device with a rate limit. Needs root
# and the controller blkio of cgroup v1.
measure_slow_disk() {
  local bytes=200000000 run
  limit=/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device
  [ -w "$limit" ] || {
    echo "slow_disk needs root and a writable $limit." >&2
    return 1
  }
  "$benchmarks/make-content" pair 10000
  tool_package pair/old com.example.pair 1.0
  "$tool" store init store >/dev/null
  "$tool" store publish store com.example.pair.pkg >/dev/null
  start_nginx "$work"
  slow=$memory/slow
  slow_device=
  # Remove the limit for the next user of the loop device.
  trap 'stop_nginx; [ -z "$slow_device" ] || { echo "$slow_device 0" >"$limit"; umount "$slow/disk"; }
    rm -rf "$work" "$memory"' EXIT
  mkdir -p "$slow/disk"
  truncate -s 6G "$slow/image"
  for run in $(seq "${runs:-3}"); do
    mkfs.ext4 -q -F -E nodiscard "$slow/image"
    mount -o loop "$slow/image" "$slow/disk"
    slow_device=$(mountpoint -d "$slow/disk")
    echo "$slow_device $bytes" >"$limit"
    settled slow-ours "$tool" get com.example.pair --store "$web/store" --root store/metadata/1.root.json \
      --library "$slow/disk/library" --quiet
    settled slow-copy sh -c "cp -r pair/old $slow/disk/copy && sync -f $slow/disk"
    echo "$slow_device 0" >"$limit"
    umount "$slow/disk"
    slow_device=
  done
  echo "install on a disk of 200 MB/s, seconds min/median/max: $(spread <slow-ours)"
  echo "cp -r of the content, then sync: $(spread <slow-copy); the runs' ratios: $(ratio slow-ours slow-copy)"
}
