package import FileIO
import Glibc

/// A folder of a test's own, removed with all in it when the last reference goes.
package final class TemporaryFolder: Sendable {
  /// The absolute path.
  package let path: String
  /// The folder, opened.
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
    // What cannot be removed is left to whoever cleans the system's temporary folder.
    try? FileSystem.real.directory(at: String(path[..<slash])).removeTree(name)
  }

  /// The folder, opened anew; `fileSystem` may make steps in it fail.
  package func opened(_ fileSystem: FileSystem = .real) throws -> Directory {
    try fileSystem.directory(at: path)
  }

  /// The path of `name` below it.
  package func path(_ name: String) -> String { "\(path)/\(name)" }
}
