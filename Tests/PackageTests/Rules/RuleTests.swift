import HostedModel
import HostedPackage
import HostedFileIO
import HostedTestSupport
import Testing

@Suite("Package rules")
struct RuleTests {
  /// A broken rule: the entries in addition to ContentInfo.plist, and the expected finding.
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let entries: @Sendable () -> [RawEntry]
    let rule: String
    let code: ContentError.Code

    init(
      _ name: String, _ rule: String, _ entries: @autoclosure @escaping @Sendable () -> [RawEntry]
    ) {
      self.init(name, rule, .entryRefused, entries())
    }

    init(
      _ name: String, _ rule: String, _ code: ContentError.Code,
      _ entries: @autoclosure @escaping @Sendable () -> [RawEntry]
    ) {
      testDescription = name
      self.rule = rule
      self.code = code
      self.entries = entries
    }
  }

  static let deep = "Contents/" + String(repeating: "d/", count: 32) + "f"
  static let long = "Contents/" + String(repeating: "n", count: 256)
  static let longer =
    "Contents/" + String(repeating: String(repeating: "n", count: 120) + "/", count: 9) + "f"

  static let cases: [Case] = [
    Case("an absolute path", "path-absolute", [.file("/Contents/a")]),
    Case("a path that leads out", "path-parent", [.file("../a")]),
    Case("a path that leads out further down", "path-parent", [.file("Contents/../../a")]),
    Case("a path that leads out and in again", "path-parent", [.file("Contents/b/../a")]),
    Case(
      "a path that leads out before a combining mark", "path-parent",
      [.file("Contents/../\u{338}a")]),
    Case("a path with a component “.”", "path-dot", [.file("Contents/./a")]),
    Case("a path with an empty component", "path-empty", [.file("Contents//a")]),
    Case("an empty path", "path-empty", [.file("")]),
    Case("a root that is not a folder", "path-dot", [.file(".")]),
    Case("a control character in a path", "path-control", [.file("Contents/a\nb")]),
    Case("a C1 control character in a path", "path-control", [.file("Contents/a\u{85}b")]),
    Case("a backslash in a path", "path-backslash", [.file("Contents\\a")]),
    Case("a backslash that leads out", "path-backslash", [.file("Contents/..\\..\\a")]),
    Case("a component of 256 bytes", "path-length", [.file(long)]),
    Case("a path of more than 1024 bytes", "path-length", [.file(longer)]),
    Case(
      "a path that is not UTF-8", "path-encoding",
      [RawEntry(path: Array("Contents/".utf8) + [0xff])]
    ),
    Case(
      "an overlong UTF-8 dot", "path-encoding",
      [RawEntry(path: Array("Contents/".utf8) + [0xc0, 0xae, 0xc0, 0xae])]),
    Case("a character device", "entry-type", [.special("Contents/a", type: "3")]),
    Case("a block device", "entry-type", [.special("Contents/a", type: "4")]),
    Case("a FIFO", "entry-type", [.special("Contents/a", type: "6")]),
    Case("a setuid bit", "entry-mode", [.file("Contents/a", mode: 0o4644)]),
    Case("a setgid bit", "entry-mode", [.file("Contents/a", mode: 0o2644)]),
    Case("a sticky folder", "entry-mode", [.folder("Contents/a/", mode: 0o1755)]),
    Case("a file twice", "path-duplicate", [.file("Contents/a"), .file("Contents/a", "y")]),
    Case("a folder twice", "path-duplicate", [.folder("Contents/a/"), .folder("Contents/a/")]),
    Case(
      "a file at the path of a folder", "path-duplicate",
      [.file("Contents/a/b"), .file("Contents/a")]),
    Case(
      "a folder at the path of a file", "path-duplicate",
      [.file("Contents/a"), .folder("Contents/a/")]),
    Case("a file used as a folder", "path-file", [.file("Contents/a"), .file("Contents/a/b")]),
    Case(
      "names that differ in case", "path-same-name", [.file("Contents/a"), .file("Contents/A")]),
    Case(
      "names that differ in Unicode composition", "path-same-name",
      [.file("Contents/\u{e9}"), .file("Contents/e\u{301}")]),
    Case(
      "names that differ in non-ASCII case", "path-same-name",
      [.file("Contents/Ä"), .file("Contents/a\u{308}")]),
    Case(
      "implied folders that differ in case", "path-same-name",
      [.file("Contents/a/x"), .file("Contents/A/y")]),
    Case("a link that is absolute", "link-absolute", [.link("Contents/l", "/etc/passwd")]),
    Case("a link that leads out", "link-escape", [.link("Contents/l", "../../x")]),
    Case("a link to the content's parent", "link-escape", [.link("Contents/a/l", "../../..")]),
    Case("a link with “..” after a name", "link-escape", [.link("Contents/l", "a/../b")]),
    Case(
      "a chain of links that leads out", "link-escape",
      [.link("Contents/d", ".."), .link("Contents/l", "d/..")]),
    Case("a link to nothing", "link-target", [.link("Contents/l", "")]),
    Case("a link with a control character", "link-target", [.link("Contents/l", "a\u{1b}")]),
    Case("a link with a backslash", "link-target", [.link("Contents/l", "..\\a")]),
    Case(
      "a write through a link", "path-link",
      [.link("Contents/l", ".."), .file("Contents/l/a")]),
    Case(
      "a write over a link", "path-duplicate", [.link("Contents/l", "b"), .file("Contents/l")]),
    Case("a hard link to nothing", "hard-link", [.hardLink("Contents/h", "Contents/none")]),
    Case("a hard link out", "path-parent", [.hardLink("Contents/h", "../x")]),
    Case(
      "a hard link to an absolute path", "path-absolute", [.hardLink("Contents/h", "/etc/passwd")]),
    Case(
      "a hard link to a link", "hard-link",
      [.link("Contents/l", "a"), .hardLink("Contents/h", "Contents/l")]),
    Case(
      "a hard link to a folder", "hard-link",
      [.folder("Contents/d/"), .hardLink("Contents/h", "Contents/d")]),
    Case("a file next to Contents", "layout", [.file("readme.txt")]),
    Case("a folder next to Contents", "layout", [.file("Scripts/postinstall")]),
    Case("a file instead of the folder Contents", "layout", [.file("Contents")]),
    Case("a link instead of the folder Contents", "layout", [.link("Contents", ".")]),
    Case("Contents in small letters", "layout", [.file("contents/a")]),
    Case(
      "an execute permission", "executable-mode", .executableContent,
      [.file("Contents/a", mode: 0o645)]),
    Case("a script", "executable-code", .executableContent, [.file("Contents/a", "#!/bin/sh")]),
    Case(
      "an ELF program", "executable-code", .executableContent, [.file("Contents/a", "\u{7f}ELF")]),
    Case(
      "a Windows program", "executable-code", .executableContent,
      [.file("Contents/a", "MZ\u{90}")]),
    Case("too deep a path", "limit-depth", .limitExceeded, [.file(deep)]),
  ]

  @Test("Refused when unpacked and found when examined", arguments: cases)
  func refused(_ broken: Case) throws {
    let bytes = tar([.info()] + broken.entries())
    #expect(try examine(bytes).findings.map(\.rule).contains(broken.rule))
    let box = TemporaryFolderBox()
    let thrown = code { _ = try Unpacked(bytes, into: box) }
    #expect(thrown == broken.code)
    #expect(try box.folder().directory.entries().map(\.name) == ["inside"])
  }

  @Test("The same rules apply to a cpio payload, which can also contain a socket")
  func socket() throws {
    let rules = try examinePayload([.info(), .special("Contents/s", type: "s")])
    #expect(rules == ["entry-type"])
  }

  @Test(
    "Mach-O programs of every kind are executable code",
    arguments: [
      [0xfe, 0xed, 0xfa, 0xce], [0xce, 0xfa, 0xed, 0xfe], [0xcf, 0xfa, 0xed, 0xfe],
      [0xca, 0xfe, 0xba, 0xbe],
    ] as [[UInt8]])
  func machO(magic: [UInt8]) throws {
    let entry = RawEntry(path: Array("Contents/a".utf8), data: magic + [0, 0])
    #expect(try examine(tar([.info(), entry])).findings.map(\.code) == [.executableContent])
  }

  @Test("A hard link with data is refused")
  func hardLinkWithData() throws {
    let entries: [RawEntry] = [
      .info(), .file("Contents/a"), .hardLink("Contents/h", "Contents/a", data: "other"),
    ]
    // Only pax defines the data of a hard link in tar. In any case, they change nothing.
    let made = try? Unpacked(tar(entries)).made
    #expect(made == nil || made?["Contents/h"] == made?["Contents/a"])
  }

  @Test("All broken rules are found at once, with a path and a remedy")
  func allAtOnce() throws {
    let examination = try examine(
      tar([
        .file("Contents/good"), .file("../out"), .link("Contents/l", "/etc"),
        .file("Contents/run", "#!/bin/sh", mode: 0o755), .file("Contents/good"), .file("other"),
      ]))
    #expect(
      examination.findings.map(\.rule) == [
        "path-parent", "link-absolute", "executable-mode", "executable-code", "path-duplicate",
        "layout", "content-info-missing",
      ])
    #expect(!examination.isValid)
    #expect(examination.findings.allSatisfy { !$0.remedy.isEmpty })
    #expect(examination.findings.first?.path == "../out")
    #expect(examination.findings.first?.message.contains("../out") == true)
  }

  @Test("An archive of any content may contain programs, without execute permission")
  func anyArchive() throws {
    let entries: [RawEntry] = [.file("bin/run", "#!/bin/sh", mode: 0o755), .file("readme")]
    let unpacked = try Unpacked(tar(entries), isContent: false)
    #expect(unpacked.made.keys.sorted() == ["bin", "bin/run", "readme"])
    let run = try unpacked.outside.folder().directory.directory(at: ["inside", "bin"])
    #expect(try run.status(of: "run")?.permissions == 0o444)
  }

  @Test(
    "The safety rules apply to archives of any content",
    arguments: [
      [.file("../a")], [.link("l", "..")], [.link("l", "/")], [.special("f", type: "6")],
      [.link("l", "."), .file("l/a")], [.file("/a")],
    ] as [[RawEntry]])
  func anyArchiveSafety(entries: [RawEntry]) throws {
    #expect(code { _ = try Unpacked(tar(entries), isContent: false) } == .entryRefused)
  }

  @Test("Links inside the content, even to its root, are kept unchanged")
  func inwardLinks() throws {
    let entries: [RawEntry] = [
      .info(), .file("Contents/a/b"), .link("Contents/a/up", "../.."), .link("Contents/l", "a/b"),
      .link("Contents/a/same", "./b"), .link("Contents/dangling", "a/nothing"),
    ]
    let unpacked = try Unpacked(tar(entries))
    #expect(unpacked.made["Contents/a/up"] == "-> ../..")
    #expect(unpacked.made["Contents/l"] == "-> a/b")
    #expect(unpacked.made["Contents/a/same"] == "-> ./b")
  }

  @Test("Hard links to earlier files become the same file")
  func hardLinks() throws {
    let entries: [RawEntry] = [
      .info(), .file("Contents/a", "bytes"), .hardLink("Contents/d/h", "Contents/a"),
      .hardLink("Contents/i", "Contents/d/h"),
    ]
    let unpacked = try Unpacked(
      tar(entries), expected: expectedPackage(entries: examine(tar(entries)).entries))
    #expect(unpacked.made["Contents/i"] == unpacked.made["Contents/a"])
    let identities = unpacked.files.filter { $0.entry.size == 5 }.map(\.identity)
    #expect(identities.count == 3)
    #expect(Set(identities).count == 1)
    let folder = try unpacked.outside.folder().directory.directory(at: ["inside", "Contents"])
    #expect(try folder.status(of: "a")?.identity == identities.first)
  }

  private func examinePayload(_ entries: [RawEntry]) throws -> [String] {
    let folder = try TemporaryFolder()
    try folder.directory.createFile("Payload").write(cpio(entries))
    try folder.directory.createFile("PackageInfo").write(Array("<pkg-info/>".utf8))
    let bytes = try bsdtar(["--format", "xar"], folder: folder.path, ["PackageInfo", "Payload"])
    return try examine(bytes).findings.compactMap(\.rule)
  }
}
