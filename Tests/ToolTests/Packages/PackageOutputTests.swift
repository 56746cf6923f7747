import Foundation
import Glibc
import HostedTestSupport
import Testing

/// The files that `package --output` may replace.
@Suite("Output of packages")
struct PackageOutputTests {
  private let tool: Tool

  init() throws {
    tool = try Tool()
    let contents = tool.folder.path("source/Contents")
    try FileManager.default.createDirectory(
      atPath: contents, withIntermediateDirectories: true)
    try Data("text".utf8).write(to: URL(filePath: "\(contents)/text"))
  }

  private func build(_ output: String, status: Int32, saying texts: [String] = []) throws {
    let result = try tool.run(
      "package", "source", "--output", output, "--product", "a", "--content-version", "1")
    #expect(result.status == status, "\(result.errors)")
    for text in texts { #expect(result.errors.contains(text), "\(result.errors)") }
  }

  private func type(_ name: String) throws -> FileAttributeType? {
    let path = name.hasPrefix("/") ? name : tool.folder.path(name)
    return try FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
  }

  @Test("A FIFO, a socket, a link and a folder are refused and not changed")
  func special() throws {
    #expect(mkfifo(tool.folder.path("fifo.pkg"), 0o644) == 0)
    try FileManager.default.createDirectory(
      atPath: tool.folder.path("folder.pkg"), withIntermediateDirectories: false)
    try Data("words".utf8).write(to: URL(filePath: tool.folder.path("words")))
    for (link, target) in [("link.pkg", "words"), ("dangling.pkg", "nowhere")] {
      try FileManager.default.createSymbolicLink(
        atPath: tool.folder.path(link), withDestinationPath: target)
    }
    let before = try ["fifo.pkg", "folder.pkg", "link.pkg", "dangling.pkg"].map(type)
    for name in ["fifo.pkg", "folder.pkg", "link.pkg", "dangling.pkg"] {
      try build(name, status: 2, saying: [name, "not a regular file"])
    }
    #expect(try ["fifo.pkg", "folder.pkg", "link.pkg", "dangling.pkg"].map(type) == before)
    #expect(try tool.text("words") == "words")
  }

  @Test("A device is refused and not changed", arguments: ["/dev/null", "/dev/full"])
  func device(path: String) throws {
    // As root, the rename would replace it for the whole system, so this uses a copy.
    try FileManager.default.createDirectory(
      atPath: tool.folder.path("dev"), withIntermediateDirectories: false)
    let name = "dev/\(URL(filePath: path).lastPathComponent)"
    var status = stat()
    guard stat(path, &status) == 0,
      mknod(tool.folder.path(name), S_IFCHR | 0o666, status.st_rdev) == 0
    else { return }
    try build(name, status: 2, saying: ["not a regular file"])
    #expect(try type(name) == .typeCharacterSpecial)
  }

  @Test("A regular file is replaced, and a new file is created")
  func regular() throws {
    try Data("old".utf8).write(to: URL(filePath: tool.folder.path("old.pkg")))
    try build("old.pkg", status: 0)
    try build("new.pkg", status: 0)
    #expect(
      FileManager.default.contentsEqual(
        atPath: tool.folder.path("old.pkg"), andPath: tool.folder.path("new.pkg")))
  }
}
