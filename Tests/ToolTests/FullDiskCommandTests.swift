import Foundation
import TestSupport
import Testing

@Suite(
  "Commands on a full disk",
  .enabled(if: SmallDisk.obstacle == nil, "\(SmallDisk.obstacle ?? "")"), .timeLimit(.minutes(10)))
struct FullDiskCommandTests {
  /// Runs commands on a library whose disk has no free byte.
  private static let script = """
    set -e
    tool=$1 disk=$2 library=$3 content=$4
    free() { df --output=avail "$disk" | tail -1; }
    fill() { cat /dev/zero >>"$disk/filler" 2>/dev/null || true; free; }
    cp -a "$library" "$disk/lib"
    fill
    "$tool" list --library "$disk/lib"
    "$tool" collect --library "$disk/lib"
    free
    fill
    "$tool" remove "$content" --library "$disk/lib"
    free
    fill
    "$tool" list --library "$disk/lib"
    """

  @Test("With no byte free, collect and remove succeed and free space")
  func collectAndRemove() async throws {
    let tool = try Tool.withBook()
    let common = ["--store", "store", "--library", "lib"]
    try tool.succeed("get", Tool.chapter1, "--store", "store", "--library", "lib")
    try tool.succeed("store", "publish", "store", Tool.sample("chapter1-1.1.pkg"))
    #expect(try tool.run(["update"] + common).status == 0)
    let end = try await onOwnThread {
      let disk = try TemporaryFolder()
      return try SmallDisk.run(
        "sh",
        ["-c", Self.script, "sh", Tool.path, disk.path, tool.folder.path("lib"), Tool.chapter1],
        bytes: 8 << 20, at: disk.path)
    }
    #expect(end.status == 0, "\(end.output)")
    // What `df` says: nothing, and more than nothing after each command that frees space.
    let free = end.output.split(separator: "\n").compactMap {
      Int($0.filter { !$0.isWhitespace })
    }
    #expect(free.map { $0 > 0 } == [false, true, false, true, false], "\(end.output)")
    #expect(end.output.contains("1.0: removed"))
    #expect(end.output.contains("1.1: removed"))
  }
}
