import Foundation

/// A small file system, mounted for one program, which unmounts it at its end.
package enum SmallDisk {
  package enum Kind: Sendable {
    /// Needs root, or permission to create user namespaces.
    case tmpfs
    /// Needs root and the package btrfs-progs, and at least 115 million bytes.
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

  /// Runs a program with a disk of `bytes` bytes at `folder`.
  ///
  /// Blocks.
  package static func run(
    _ program: String, _ words: [String], on kind: Kind = .tmpfs, bytes: Int, at folder: String
  ) throws -> Program.End {
    try Program.run(
      "/usr/bin/env",
      ["unshare"] + kind.isolation
        + ["sh", "-c", kind.script + #" && shift && exec "$@""#, "\(bytes)", folder, program]
        + words)
  }

  /// Why this machine cannot mount a small disk in memory, or nil if it can.
  package static let obstacle: String? = obstacle(to: .tmpfs, bytes: 1 << 20)

  /// Why this machine cannot mount a small disk of `kind`, or nil if it can.
  package static func obstacle(to kind: Kind, bytes: Int) -> String? {
    do {
      let folder = try TemporaryFolder()
      let end = try run("true", [], on: kind, bytes: bytes, at: folder.path)
      return end.status == 0 ? nil : "cannot mount a small file system: \(end.output)"
    } catch {
      return "cannot mount a small file system: \(error)"
    }
  }
}
