import Foundation

/// A small file system in memory, mounted for one program only, which takes it with it.
///
/// Works as root and, where the system lets users have namespaces of their own, without.
package enum SmallDisk {
  /// Runs a program that finds a disk of `bytes` at `folder`; blocks.
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

  /// Why this machine has none; nil where it has.
  package static let obstacle: String? = {
    do {
      let folder = try TemporaryFolder()
      let end = try run("true", [], bytes: 1 << 20, at: folder.path)
      return end.status == 0 ? nil : "no small file system can be mounted here: \(end.output)"
    } catch {
      return "no small file system can be mounted here: \(error)"
    }
  }()
}
