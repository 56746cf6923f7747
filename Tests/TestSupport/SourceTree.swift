package import FoundationEssentials

/// The folder of this package's sources, for tests that read samples, scripts or documentation.
///
/// Only this file depends on its own place, so files of tests can be moved.
package enum SourceTree {
  package static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// Returns the absolute path of a file or folder, such as `Scripts/demo`.
  package static func path(_ name: String) -> String {
    root.appending(path: name).path(percentEncoded: false)
  }
}
