import HostedModel
import HostedPackage
import HostedFileIO
import Glibc
import HostedTestSupport
import Testing

@Suite("Building packages")
struct BuildTests {
  /// The folder of new packages by default.
  ///
  /// Each test has its own.
  private let output: TemporaryFolder

  init() throws { output = try TemporaryFolder() }

  @Test("A built package unpacks to the same folder, byte for byte")
  func roundTrip() throws {
    let folder = try chapterFolder()
    let bytes = try builtChapter()
    let examination = try examine(bytes)
    #expect(examination.format == .flatProductArchive)
    #expect(examination.isValid)
    let unpacked = try Unpacked(bytes, expected: expectedPackage(entries: examination.entries))
    #expect(unpacked.made == (try tree(folder.directory)))
  }

  @Test("The same folder gives the same bytes at any path and time")
  func reproducible() throws {
    #expect(try builtChapter() == builtChapter())
  }

  @Test("Building returns the examination of the package")
  func examination() throws {
    let folder = try chapterFolder()
    let built = try build(folder)
    #expect(built.entries == (try examine(builtBytes()).entries))
    #expect(built.packedLength == Int64(try builtBytes().count))
    #expect(try output.directory.entries().map(\.name) == ["out.pkg"])
  }

  @Test("bsdtar lists and extracts the archive and its payload")
  func bsdtarReads() throws {
    let folder = try chapterFolder()
    let output = try TemporaryFolder()
    _ = try build(folder, into: output)
    let archive = "\(output.path)/out.pkg"
    let listed = try run("/usr/bin/bsdtar", ["-tf", archive])
    #expect(
      listed.split(separator: "\n").sorted() == [
        "Distribution", "com.example.test.pkg", "com.example.test.pkg/PackageInfo",
        "com.example.test.pkg/Payload",
      ])
    try run("/usr/bin/bsdtar", ["-xf", archive, "-C", output.path])
    let payload = "\(output.path)/com.example.test.pkg/Payload"
    let inside = try run("/usr/bin/bsdtar", ["-tf", payload]).split(separator: "\n")
    #expect(inside.first == ".")
    #expect(inside.contains("./Contents/deep/er/last"))
    #expect(Array(inside.dropFirst()) == inside.dropFirst().sorted())
    try output.directory.createDirectory("plain")
    try run("/usr/bin/bsdtar", ["-xf", payload, "-C", "\(output.path)/plain"])
    #expect(try tree(output.directory.directory("plain")) == tree(folder.directory))
    try run("/bin/sh", ["-c", "gzip -t < \(payload)"])
  }

  @Test("A product and a version create a missing ContentInfo.plist")
  func createsInfo() throws {
    let folder = try TemporaryFolder()
    try write(["Contents/a": "a"], to: folder.directory)
    #expect(code { _ = try build(folder) } == .contentInfoInvalid)
    let built = try build(folder, product: "com.example.new", version: "1.10")
    #expect(built.info?.productIdentifier.rawValue == "com.example.new")
    #expect(built.info?.version.rawValue == "1.10")
  }

  @Test("A product and a version override ContentInfo.plist, and other keys are kept")
  func overridesInfo() throws {
    let folder = try TemporaryFolder()
    let list = """
      <?xml version="1.0" encoding="UTF-8"?>
      <plist version="1.0"><dict>
      <key>ContentVersion</key><string>1.0</string>
      <key>IAPProductIdentifier</key><string>com.example.test</string>
      <key>Files</key><array><string>a &amp; b</string><integer>-3</integer><true/></array>
      <key>More</key><dict><key>x</key><real>0.5</real></dict>
      <key>Seal</key><data>AQID</data><key>When</key><date>2026-01-02T03:04:05Z</date>
      </dict></plist>
      """
    try write(["Contents/a": "a", "ContentInfo.plist": list], to: folder.directory)
    let built = try build(folder, version: "2.0")
    #expect(built.info?.productIdentifier.rawValue == "com.example.test")
    #expect(built.info?.contentIdentifier.rawValue == "com.example.test")
    #expect(built.info?.version.rawValue == "2.0")
    let unpacked = try Unpacked(builtBytes())
    let inside = try unpacked.outside.folder().directory.directory("inside")
    let text = String(
      decoding: try inside.contents(of: "ContentInfo.plist", limit: 10_000), as: UTF8.self)
    for part in [
      "a &amp; b", "<integer>-3</integer>", "<true/>", "<real>0.5</real>", "AQID\n",
      "<date>2026-01-02T03:04:05Z</date>",
    ] {
      #expect(text.contains(part), "\(text)")
    }
    #expect(try build(folder, version: "2.0").packedLength == built.packedLength)
    #expect(try Unpacked(builtBytes()).made == unpacked.made, "same bytes each time")
  }

  @Test(
    "A folder that breaks a rule is refused, and no file is left",
    arguments: [
      (["Contents/run": "#!/bin/sh"], ContentError.Code.executableContent),
      (["Contents/l": "-> ../../x"], .entryRefused),
      (["readme": "x", "Contents/a": "a"], .entryRefused),
      (["a/b": "x"], .buildFailed),
      (["Contents/a": "x", "Contents/A": "x"], .entryRefused),
    ])
  func refuses(files: [String: String], expected: ContentError.Code) throws {
    let folder = try TemporaryFolder()
    let output = try TemporaryFolder()
    try write(files, to: folder.directory)
    let thrown = code {
      _ = try build(folder, into: output, product: "com.example.x", version: "1")
    }
    #expect(thrown == expected)
    #expect(try output.directory.entries().isEmpty)
  }

  @Test("An entry with a name that is not UTF-8 is refused, not ignored", arguments: [false, true])
  func nameOfBytes(isFolder: Bool) throws {
    let folder = try TemporaryFolder()
    let contents = try folder.directory.createDirectory("Contents")
    try contents.createFile("a").write([1])
    try #require(contents.make(OddName.noText, isFolder: isFolder))
    let thrown = code { _ = try build(folder, product: "com.example.x", version: "1") }
    #expect(thrown == .entryRefused)
  }

  @Test("A link whose target is not UTF-8 is refused, not corrected")
  func targetOfBytes() throws {
    let folder = try TemporaryFolder()
    let contents = try folder.directory.createDirectory("Contents")
    let target = OddName.noText.map { CChar(bitPattern: $0) } + [0]
    #expect(symlink(target, "\(contents.path)/link") == 0)
    let thrown = code { _ = try build(folder, product: "com.example.x", version: "1") }
    #expect(thrown == .entryRefused)
  }

  @Test("A file with execute permission is refused")
  func executablePermission() throws {
    let folder = try TemporaryFolder()
    try folder.directory.createDirectory("Contents").createFile("a", mode: 0o755).write([1])
    let thrown = code { _ = try build(folder, product: "com.example.x", version: "1") }
    #expect(thrown == .executableContent)
  }

  @Test("A content identifier is written, kept with a new version, and removed again")
  func contentIdentifier() throws {
    let folder = try TemporaryFolder()
    try write(["Contents/a": "a"], to: folder.directory)
    let made = try build(folder, product: "com.example.x", content: "com.example.x.y", version: "1")
    #expect(made.info?.contentIdentifier.rawValue == "com.example.x.y")
    #expect(made.info?.productIdentifier.rawValue == "com.example.x")

    let unpacked = try Unpacked(builtBytes())
    let inside = try unpacked.outside.folder().directory.directory("inside")
    #expect(try infoText(in: inside).contains("<key>HCContentIdentifier</key>"))
    let source = TemporaryFolderBox()
    try write(["Contents/a": "a"], to: source.folder().directory)
    try source.folder().directory.replaceFile(
      "ContentInfo.plist", with: Array(infoText(in: inside).utf8))
    let next = try build(source.folder(), version: "2")
    #expect(next.info?.contentIdentifier.rawValue == "com.example.x.y")
    let moved = try build(source.folder(), product: "com.example.z", version: "2")
    #expect(moved.info?.contentIdentifier.rawValue == "com.example.x.y")

    let own = try build(source.folder(), content: "com.example.x")
    #expect(own.info?.contentIdentifier.rawValue == "com.example.x")
    #expect(try !String(decoding: infoBytes(), as: UTF8.self).contains("HCContentIdentifier"))
  }

  @Test("The content identifier of the product's own content is not written")
  func ownContent() throws {
    let folder = try TemporaryFolder()
    try write(["Contents/a": "a"], to: folder.directory)
    _ = try build(folder, product: "com.example.x", version: "1")
    let plain = try builtBytes()
    _ = try build(folder, product: "com.example.x", content: "com.example.x", version: "1")
    #expect(try builtBytes() == plain)
  }

  @Test("An invalid content identifier on disk is refused, even with product and version")
  func badContentOnDisk() throws {
    for list in [contentInfoText(content: "../x"), contentInfoText("", content: "../x")] {
      let folder = try TemporaryFolder()
      try write(["Contents/a": "a", "ContentInfo.plist": list], to: folder.directory)
      #expect(
        code { _ = try build(folder, product: "com.example.x", version: "1") }
          == .contentInfoInvalid)
      #expect(code { _ = try build(folder) } == .contentInfoInvalid)
      let replaced = try build(
        folder, product: "com.example.x", content: "com.example.x.y", version: "1")
      #expect(replaced.info?.contentIdentifier.rawValue == "com.example.x.y")
    }
  }

  private func infoText(in folder: Directory) throws -> String {
    String(decoding: try folder.contents(of: "ContentInfo.plist", limit: 10_000), as: UTF8.self)
  }

  private func infoBytes() throws -> [UInt8] {
    let unpacked = try Unpacked(builtBytes())
    let inside = try unpacked.outside.folder().directory.directory("inside")
    return try inside.contents(of: "ContentInfo.plist", limit: 10_000)
  }

  private func builtBytes() throws -> [UInt8] {
    try output.directory.contents(of: "out.pkg", limit: 1 << 24)
  }

  private func build(
    _ folder: TemporaryFolder, into output: TemporaryFolder? = nil, product: String? = nil,
    content: String? = nil, version: String? = nil
  ) throws -> PackageExamination {
    try buildPackage(
      folder: folder.directory, output: (output ?? self.output).directory, outputName: "out.pkg",
      productIdentifier: product.map { try ProductIdentifier(validating: $0) },
      contentIdentifier: content.map { try ProductIdentifier(validating: $0) },
      version: version.map { try ContentVersion(validating: $0) })
  }

  @Test("A file that appears with the temporary name causes an error and is kept")
  func fileAppears() throws {
    let source = try chapterFolder()
    let (path, directory) = (output.path, output.directory)
    let racing = FileSystem { operation, created in
      guard operation == .create, created.hasPrefix(path) else { return }
      let name = created.split(separator: "/").last.map(String.init) ?? ""
      try directory.createFile(name).write([1])
    }
    #expect(
      code {
        _ = try buildPackage(
          folder: source.directory, output: output.opened(racing), outputName: "out.pkg",
          productIdentifier: nil, version: nil)
      } == .fileFailed)
    let left = try directory.entries().map(\.name)
    #expect(left.count == 1)
    for name in left { #expect(try directory.contents(of: name, limit: 10) == [1]) }
  }

  @Test("A package is not put in place if another build has replaced its file, which is kept")
  func fileReplaced() throws {
    let source = try chapterFolder()
    let directory = output.directory
    let racing = FileSystem { operation, path in
      guard operation == .sync, path.hasSuffix("/.out.pkg.new") else { return }
      try directory.removeFile(".out.pkg.new")
      try directory.createFile(".out.pkg.new").write([1])
    }
    #expect(
      code {
        _ = try buildPackage(
          folder: source.directory, output: output.opened(racing), outputName: "out.pkg",
          productIdentifier: nil, version: nil)
      } == .buildFailed)
    #expect(try directory.status(of: "out.pkg") == nil)
    #expect(try directory.contents(of: ".out.pkg.new", limit: 10) == [1])
  }
}
