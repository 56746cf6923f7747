import HostedModel
import HostedFileIO
import Glibc

/// A temporary folder of a session; it is removed with its contents at the end.
final class SessionFolder: Sendable {
  let path: String
  private let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"

  init() throws {
    path = "\(parent)/hostedcontent-session-\(randomIdentifier())"
    _ = try FileSystem.real.directory(at: path, creating: true)
  }

  deinit {
    // If it cannot be removed, the cleanup of temporary files does it later.
    try? FileSystem.real.directory(at: parent).removeTree(path.lastPathComponent)
  }
}
