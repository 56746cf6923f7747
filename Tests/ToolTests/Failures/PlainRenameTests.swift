import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// The tool on a file system where renameat2(2) refuses flags, such as NFS and ZFS before 2.2.
@Suite("A file system without the flags of renameat2", .timeLimit(.hang))
struct PlainRenameTests {
  /// Runs a program in which the kernel returns EINVAL for renameat2 with flags.
  private static let filter = """
    import ctypes, os, platform, struct, sys
    number = {"x86_64": 316, "aarch64": 276}[platform.machine()]
    step = lambda code, yes, no, value: struct.pack("HBBI", code, yes, no, value)
    # The number of the call, its fifth argument, then EINVAL or the call itself.
    steps = (step(0x20, 0, 0, 0) + step(0x15, 0, 3, number) + step(0x20, 0, 0, 48)
      + step(0x15, 1, 0, 0) + step(0x06, 0, 0, 0x50016) + step(0x06, 0, 0, 0x7fff0000))
    steps = ctypes.create_string_buffer(steps)
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 6, ctypes.addressof(steps)))
    call = ctypes.CDLL(None).prctl
    call.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
    assert call(38, 1, 0, 0, 0) == 0 and call(22, 2, ctypes.addressof(program), 0, 0) == 0
    os.execvp(sys.argv[1], sys.argv[1:])
    """

  private static let obstacle: String? = {
    do {
      let end = try Program.run("/usr/bin/env", ["python3", "-c", filter, "true"])
      return end.status == 0 ? nil : "no system call can be filtered here: \(end.output)"
    } catch {
      return "no system call can be filtered here: \(error)"
    }
  }()

  private func succeed(_ tool: Tool, _ words: String...) throws {
    let result = try tool.run(
      ["python3", "-c", Self.filter, Tool.path] + words, program: "/usr/bin/env")
    #expect(result.status == 0, "\(words): \(result.errors)")
  }

  @Test(
    "Content is installed, repaired, removed and unpacked", .slow,
    .enabled(if: obstacle == nil, "\(obstacle ?? "")"))
  func commands() throws {
    let tool = try Tool.withBook()
    try succeed(tool, "get", Tool.chapter1, "--store", "store", "--library", "lib")
    let file = tool.folder.path("lib/products/\(Tool.chapter1)/1.0/ContentInfo.plist")
    try FileManager.default.removeItem(atPath: file)
    try Data("damaged".utf8).write(to: URL(filePath: file))
    try succeed(tool, "repair", "--store", "store", "--library", "lib")
    try succeed(tool, "verify", "--library", "lib")
    try succeed(tool, "remove", Tool.chapter1, "--library", "lib")
    let package = try tool.makePackage("com.example.a", "1.0", ["text": Data("A text\n".utf8)])
    try succeed(tool, "unpack", package, "--into", "unpacked")
    #expect(try tool.text("unpacked/Contents/text") == "A text\n")
  }
}
