import Foundation

/// A small file system, mounted for one program only, which takes it with it.
package enum SmallDisk {
  package enum Kind: Sendable {
    /// Works as root and, where the system lets users have namespaces of their own, without.
    case tmpfs
    /// Works as root with the package btrfs-progs, from 115 million bytes on.
    case btrfs

    fileprivate var isolation: [String] {
      switch self {
      case .tmpfs: ["--user", "--map-root-user", "--mount"]
      case .btrfs: ["--mount"]
      }
    }

    fileprivate var script: String {
      switch self {
      case .tmpfs: #"mount -t tmpfs -o size="$0",mode=755 tmpfs "$1""#
      case .btrfs:
        #"cd "$1" && truncate -s "$0" disk && mkfs.btrfs -q disk && mount -o loop disk "$1""#
      }
    }
  }

  /// Runs a program that finds a disk of `bytes` at `folder`; blocks.
  package static func run(
    _ program: String, _ words: [String], on kind: Kind = .tmpfs, bytes: Int, at folder: String
  ) throws -> Program.End {
    try Program.run(
      "/usr/bin/env",
      ["unshare"] + kind.isolation
        + ["sh", "-c", kind.script + #" && shift && exec "$@""#, "\(bytes)", folder, program]
        + words)
  }

  /// Why this machine has none; nil where it has.
  package static let obstacle: String? = obstacle(to: .tmpfs, bytes: 1 << 20)

  /// Why this machine has no such disk; nil where it has.
  package static func obstacle(to kind: Kind, bytes: Int) -> String? {
    do {
      let folder = try TemporaryFolder()
      let end = try run("true", [], on: kind, bytes: bytes, at: folder.path)
      return end.status == 0 ? nil : "no small file system can be mounted here: \(end.output)"
    } catch {
      return "no small file system can be mounted here: \(error)"
    }
  }
}
