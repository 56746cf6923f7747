import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// `package --from` and `store publish --repackage`.
@Suite("Commands that convert archives", .timeLimit(.hang))
struct ConversionCommandTests {
  private let tool: Tool

  init() throws { tool = try Tool() }

  /// Creates a folder with an incompressible file, and archives it with bsdtar.
  private func archive(
    _ name: String, _ version: String, _ options: [String] = ["-z"], bytes: Int = 300_000,
    page: String = "A page"
  ) throws {
    let source = tool.folder.path("source-\(name)")
    var random = SplitMix(state: 5)
    try FileManager.default.createDirectory(
      atPath: "\(source)/Contents", withIntermediateDirectories: true)
    try Data(random.bytes(bytes)).write(to: URL(filePath: "\(source)/Contents/film"))
    try Data(page.utf8).write(to: URL(filePath: "\(source)/Contents/page"))
    let info = """
      <?xml version="1.0" encoding="UTF-8"?><plist version="1.0"><dict>
      <key>ContentVersion</key><string>\(version)</string>
      <key>IAPProductIdentifier</key><string>a</string></dict></plist>
      """
    try Data(info.utf8).write(to: URL(filePath: "\(source)/ContentInfo.plist"))
    let end = try Program.run(
      "/usr/bin/bsdtar",
      options + ["-cf", tool.folder.path(name), "-C", source, "Contents", "ContentInfo.plist"])
    try #require(end.status == 0, "\(end.output)")
  }

  private var names: Set<String> {
    get throws { Set(try FileManager.default.contentsOfDirectory(atPath: tool.folder.path)) }
  }

  // MARK: package --from

  @Test(
    "An archive is converted to the package that its folder would give", .slow,
    arguments: ["zip", "xar", "pax"])
  func package(format: String) throws {
    try archive("a.\(format)", "1.0", ["--format", format])
    let result = try tool.succeed("package", "--from", "a.\(format)", "--output", "a.pkg")
    #expect(result.output.hasPrefix("a.pkg: a 1.0, 3 files, "), "\(result.output)")
    try tool.succeed("package", "source-a.\(format)", "--output", "b.pkg")
    #expect(
      FileManager.default.contentsEqual(
        atPath: tool.folder.path("a.pkg"), andPath: tool.folder.path("b.pkg")))
    try tool.succeed(
      "package", "--from", "a.\(format)", "--output", "c.pkg", "--product", "c",
      "--content-version", "2")
    #expect(try tool.succeed("inspect", "c.pkg").output.contains("2"))
  }

  @Test("Exactly one of folder and archive is required")
  func usage() throws {
    for words in [[], ["folder", "--from", "a.zip"]] {
      let result = try tool.run(["package", "--output", "a.pkg"] + words)
      #expect(result.status == 2, "\(words)")
      #expect(result.errors.contains("either FOLDER or --from ARCHIVE"), "\(result.errors)")
    }
    try tool.fail("package", "--from", "none.zip", "--output", "a.pkg", saying: ["none.zip"])
  }

  @Test("Each hostile sample is refused, and leaves no files", arguments: Tool.badSamples)
  func hostile(path: String) throws {
    try tool.fail("package", "--from", path, "--output", "out.pkg", saying: [path])
    #expect(try tool.tree().isEmpty)
  }

  @Test("An interrupted conversion leaves no files", .slow, arguments: [SIGINT, SIGTERM])
  func interrupted(signal: Int32) throws {
    try archive("a.tar", "1.0", [], bytes: 40 << 20)
    let before = try names
    let process = try tool.start(["package", "--from", "a.tar", "--output", "out.pkg"])
    try process.wait { try names != before }
    process.kill(signal)
    process.waitUntilExit()
    // The signal may come after everything is written. Then the package is complete.
    let isDone = tool.exists("out.pkg")
    #expect(process.terminationStatus == (isDone ? 0 : 130))
    #expect(try names == (isDone ? before.union(["out.pkg"]) : before))
  }

  @Test(
    "If files and package do not fit on the disk, nothing is written",
    .enabled(if: SmallDisk.obstacle == nil, "\(SmallDisk.obstacle ?? "")"))
  func disk() async throws {
    try archive("a.tar", "1.0", [], bytes: 10 << 20)
    let end = try await onOwnThread {
      let disk = try TemporaryFolder()
      let words = [
        "-c", #""$1" package --from "$2" --output "$3/a.pkg"; ls -A "$3""#, "sh", Tool.path,
        tool.folder.path("a.tar"), disk.path,
      ]
      return try SmallDisk.run("sh", words, bytes: 18 << 20, at: disk.path)
    }
    #expect(end.output.contains("for its files and the package"), "\(end.output)")
    #expect(end.output.hasSuffix("are free") || end.output.contains("Free "), "\(end.output)")
    #expect(!end.output.contains("a.pkg:"), "\(end.output)")
    #expect(end.output.split(separator: "\n").count == 1, "nothing is on the disk: \(end.output)")
  }

  // MARK: store publish --repackage

  @Test(
    "Updates of repackaged archives only fetch changes, and publishing again changes nothing", .slow
  )
  func publish() throws {
    try tool.succeed("store", "init", "store")
    try archive("a-1.zip", "1.0", ["--format", "zip"])
    try archive("a-2.tgz", "1.1", page: "Another page")
    let before = try Set(FileManager.default.contentsOfDirectory(atPath: tool.folder.path("store")))
    try tool.succeed("store", "publish", "store", "a-1.zip", "--repackage")
    let common = ["--store", "store", "--library", "lib"]
    #expect(try tool.run(["get", "a"] + common).status == 0)
    #expect(
      FileManager.default.contentsEqual(
        atPath: tool.folder.path("lib/products/a/1.0/Contents"),
        andPath: tool.folder.path("source-a-1.zip/Contents")))
    try tool.succeed("store", "publish", "store", "a-2.tgz", "--repackage")
    let update = try tool.run(["updates", "--json"] + common).json()
    let row = try #require((update["updates"] as? [[String: Any]])?.first)
    let (bytes, whole) = (row["bytesToMove"] as? Int ?? 0, row["bytesInFull"] as? Int ?? 0)
    #expect(bytes > 0 && bytes < whole / 4, "\(row)")
    let again = try tool.succeed("store", "publish", "store", "a-2.tgz", "--repackage")
    #expect(again.output == "The store already has these packages.\n")
    let after = try Set(FileManager.default.contentsOfDirectory(atPath: tool.folder.path("store")))
    #expect(after == before)
  }

  @Test("The next publication removes the files of a killed conversion")
  func leftover() throws {
    try tool.succeed("store", "init", "store")
    try FileManager.default.createDirectory(
      atPath: tool.folder.path("store/.repackaging-1f"), withIntermediateDirectories: false)
    try tool.write("half", to: "store/.repackaging-1f/0.pkg")
    try FileManager.default.createDirectory(
      atPath: tool.folder.path("store/targets/.publication"), withIntermediateDirectories: false)
    try tool.write("half", to: "store/targets/.publication/0.pkg")
    try tool.write("a note", to: "store/.repackaging")
    try archive("a.zip", "1.0", ["--format", "zip"])
    try tool.succeed("store", "publish", "store", "a.zip", "--repackage")
    #expect(!tool.exists("store/.repackaging-1f"))
    #expect(!tool.exists("store/targets/.publication"))
    #expect(tool.exists("store/.repackaging"))
  }

  @Test("A package with an index is published unchanged")
  func indexed() throws {
    try tool.succeed("store", "init", "store")
    let package = Tool.sample("chapter1-1.0.pkg")
    try tool.succeed("store", "publish", "store", package, "--repackage")
    let again = try tool.succeed("store", "publish", "store", package)
    #expect(again.output == "The store already has these packages.\n")
  }

  @Test("One hostile archive refuses all, and the store does not change")
  func hostilePublish() throws {
    try tool.succeed("store", "init", "store")
    try archive("a.zip", "1.0", ["--format", "zip"])
    let before = try tool.tree("store")
    let bad = Tool.sample("bad/escaping-link.pkg")
    try tool.fail("store", "publish", "store", "a.zip", bad, "--repackage", saying: [bad])
    #expect(try tool.tree("store") == before)
    try tool.fail("store", "publish", "store", "a.zip", saying: ["does not end in .pkg"])
  }
}
