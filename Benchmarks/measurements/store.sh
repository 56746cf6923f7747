# shellcheck shell=bash
# Measurements of a store with many products, for Benchmarks/run.

# The cost of a catalog by its number of products; products="100 1000000" Benchmarks/run trust measures others.
measure_trust() {
  local bench count folder name value unit
  bench=$("$release" HostedTrustBenchmark)/HostedTrustBenchmark
  for count in ${products:-100 1000 10000 100000}; do
    echo "--- $count products"
    folder=$work/trust-$count
    # Not durable, because each product needs several syncs. The figures are of durable publications.
    eatmydata "$bench" make "$folder" "$count"
    settle
    start_nginx "$folder"
    "$bench" measure "$folder" "$count" "$web/store" | tee trust
    stop_nginx
    # Figures of this number with other names are those of an earlier version.
    sed -i "/^products\t$count\t/d" "$benchmarks/results.tsv"
    sed -nE 's/^(.*): ([0-9.]+) ([a-zA-Z]+)$/\1\t\2\t\3/p' trust |
      while IFS=$'\t' read -r name value unit; do
        echo "$value" | record products "$count" "$name" "$unit"
      done
    rm -rf "$folder"
  done
}

# lengths FOLDER: the bytes of its files, without the folder itself.
lengths() { find "$1" -type f -printf '%s\n' | awk '{ sum += $1 } END { printf "%d", sum }'; }

# Changes of titles in a store of 1,000 products, and what is left when all earlier catalogs are 31 days old.
measure_prune() {
  local number count=${publications:-10000} clock=/usr/lib/$(gcc -print-multiarch)/faketime/libfaketimeMT.so.1
  "$tool" store init pruned >/dev/null
  for number in $(seq "$count"); do
    "$tool" store add pruned "com.example.p$((number % 1000))" --title "Title $number" >/dev/null
  done
  echo "metadata after $count publications, bytes: $(lengths pruned/metadata)"
  # A shell starts the tool: a Swift program does not find its arguments in the first process that loads this library.
  LD_PRELOAD=$clock FAKETIME=+31d sh -c "exec '$tool' store prune pruned" | tail -n 1
  echo "the same, pruned: $(lengths pruned/metadata)"
  "$tool" store verify pruned | tail -n 1
}
