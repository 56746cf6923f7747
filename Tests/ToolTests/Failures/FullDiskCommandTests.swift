import Foundation
import HostedFileServer
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite(
  "Commands on a full disk",
  .enabled(if: SmallDisk.obstacle == nil, "\(SmallDisk.obstacle ?? "")"), .timeLimit(.hang))
struct FullDiskCommandTests {
  /// Runs commands on a library on a full disk.
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

  @Test("On a full disk, collect and remove succeed and free space", .slow)
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
    // The output of `df`: zero, and more than zero after each command that frees space.
    let free = end.output.split(separator: "\n").compactMap {
      Int($0.filter { !$0.isWhitespace })
    }
    #expect(free.map { $0 > 0 } == [false, true, false, true, false], "\(end.output)")
    #expect(end.output.contains("1.0: removed"))
    #expect(end.output.contains("1.1: removed"))
  }

  /// The length of an incompressible file in bytes.
  private static let filmLength = 20 << 20

  /// Downloads an archive from tar and gzip onto a disk of `bytes`.
  private func getForeignFilm(bytes: Int) async throws -> (end: Program.End, sent: Int64) {
    let tool = try Tool()
    let source = tool.folder.path("source")
    try FileManager.default.createDirectory(
      atPath: "\(source)/Contents", withIntermediateDirectories: true)
    var random = SplitMix(state: 3)
    try Data(random.bytes(Self.filmLength)).write(to: URL(filePath: "\(source)/Contents/film"))
    try tool.write(
      """
      <?xml version="1.0" encoding="UTF-8"?><plist version="1.0"><dict>
      <key>ContentVersion</key><string>1.0</string>
      <key>IAPProductIdentifier</key><string>a</string></dict></plist>
      """, to: "source/ContentInfo.plist")
    let tar = try Program.run(
      "/usr/bin/bsdtar",
      ["-zcf", tool.folder.path("a.pkg"), "-C", source, "Contents", "ContentInfo.plist"])
    try #require(tar.status == 0, "\(tar.output)")
    try tool.succeed("store", "init", "store")
    try tool.succeed("store", "publish", "store", "a.pkg")
    let server = try tool.serveStore()
    let url = server.url
    let end = try await onOwnThread {
      let disk = try TemporaryFolder()
      return try SmallDisk.run(
        Tool.path,
        [
          "get", "a", "--store", url, "--root",
          tool.folder.path("store/metadata/1.root.json"), "--library", disk.path("lib"),
        ], bytes: bytes, at: disk.path)
    }
    let packages = server.requests.filter { $0.path.hasSuffix(".pkg") }
    return (end, packages.reduce(0) { $0 + $1.bytesSent })
  }

  @Test(
    "A package built elsewhere that does not fit with its files is refused before the download",
    .slow)
  func foreignPackage() async throws {
    // The files alone would fit, and so would the archive.
    let refused = try await getForeignFilm(bytes: 36 << 20)
    #expect(refused.end.status == 1, "\(refused.end.output)")
    #expect(refused.end.output.contains("where"), "\(refused.end.output)")
    #expect(refused.end.output.contains("are free"), "\(refused.end.output)")
    #expect(refused.sent == 0)
    let fitting = try await getForeignFilm(bytes: 52 << 20)
    #expect(fitting.end.status == 0, "\(fitting.end.output)")
    #expect(fitting.sent > Self.filmLength)
  }
}
