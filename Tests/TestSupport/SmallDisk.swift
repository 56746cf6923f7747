import Foundation

/// A small file system in memory, mounted for one program, which unmounts it at its end.
///
/// It needs root, or permission to create user namespaces.
package enum SmallDisk {
  /// Runs a program with a disk of `bytes` bytes at `folder`.
  ///
  /// Blocks.
  package static func run(
    _ program: String, _ words: [String], bytes: Int, at folder: String
  ) throws -> Program.End {
    try Program.run(
      "/usr/bin/env",
      [
        "unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
        #"mount -t tmpfs -o size="$0",mode=755 tmpfs "$1" && shift && exec "$@""#,
        "\(bytes)", folder, program,
      ] + words)
  }

  /// Why this machine cannot mount such a disk, or nil if it can.
  package static let obstacle: String? = {
    do {
      let folder = try TemporaryFolder()
      let end = try run("true", [], bytes: 1 << 20, at: folder.path)
      return end.status == 0 ? nil : "cannot mount a small file system: \(end.output)"
    } catch {
      return "cannot mount a small file system: \(error)"
    }
  }()
}
