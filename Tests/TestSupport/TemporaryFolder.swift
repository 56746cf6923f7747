package import HostedFileIO
import Glibc

/// A temporary folder of a test.
///
/// The last reference removes it with its content.
package final class TemporaryFolder: Sendable {
  /// The absolute path.
  package let path: String
  /// The opened folder.
  package let directory: Directory

  /// Creates the folder below TMPDIR.
  package init() throws {
    let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array("\(base)/hostedcontent-XXXXXX".utf8CString)
    let made = template.withUnsafeMutableBufferPointer { buffer in
      buffer.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) }
    }
    path = made ?? base
    directory = try FileSystem.real.directory(at: made ?? "/no-temporary-folder")
  }

  deinit {
    guard let slash = path.lastIndex(of: "/") else { return }
    let name = String(path[path.index(after: slash)...])
    // If it cannot be removed, the cleanup of temporary files does it later.
    try? FileSystem.real.directory(at: String(path[..<slash])).removeTree(name)
  }

  /// Opens the folder again.
  ///
  /// `fileSystem` may make steps in it fail.
  package func opened(_ fileSystem: FileSystem = .real) throws -> Directory {
    try fileSystem.directory(at: path)
  }

  /// Returns the path of `name` below it.
  package func path(_ name: String) -> String { "\(path)/\(name)" }
}
