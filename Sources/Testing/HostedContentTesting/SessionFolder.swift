import ContentModel
import FileIO
import FoundationEssentials
import Glibc

/// A temporary folder of a session; it is removed with its contents at the end.
final class SessionFolder: Sendable {
  let path: String

  init() throws {
    let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    path = "\(parent)/hostedcontent-session-\(randomIdentifier())"
    _ = try FileSystem.real.directory(at: path, creating: true)
  }

  deinit { try? remove() }

  /// Removes the folder and its contents.
  func remove() throws {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return }
    try FileSystem.real.directory(at: String(path[..<slash]))
      .removeTree(String(path[path.index(after: slash)...]))
  }
}
