package import HostedModel
import Glibc

/// The type of an entry in a folder.
package enum FileKind: Hashable, Sendable {
  case file, directory, link, other

  /// Converts a type of readdir(3), or nil if the type is unknown.
  init?(entryType: UInt8) {
    guard Int(entryType) != Int(DT_UNKNOWN) else { return nil }
    // As the macro DTTOIF does.
    self.init(mode: UInt32(entryType) << 12)
  }

  init(mode: UInt32) {
    switch mode & S_IFMT {
    case S_IFREG: self = .file
    case S_IFDIR: self = .directory
    case S_IFLNK: self = .link
    default: self = .other
    }
  }
}

/// The status of a file, from lstat(2) or fstat(2).
package struct FileStatus: Hashable, Sendable {
  package let kind: FileKind
  /// The permission bits, 0 to 0o7777.
  package let permissions: UInt32
  package let identity: FileIdentity
  /// The user identifier of the owner.
  package let owner: UInt32
  /// The last access, in nanoseconds since 1970; the precision depends on mount options.
  package let accessed: Int64

  /// Whether it is readable by its owner, and neither writable nor executable.
  package var isSealed: Bool { permissions & 0o400 != 0 && permissions & ~0o444 == 0 }

  package var size: Int64 { identity.size }

  /// The last change of the bytes, in seconds since 1970.
  package var modified: Double {
    let (seconds, nanoseconds) = identity.modified.quotientAndRemainder(dividingBy: 1_000_000_000)
    return Double(seconds) + Double(nanoseconds) / 1e9
  }

  init(_ status: stat) {
    kind = FileKind(mode: status.st_mode)
    accessed = Self.nanoseconds(status.st_atim)
    permissions = status.st_mode & 0o7777
    owner = UInt32(status.st_uid)
    identity = FileIdentity(
      inode: UInt64(status.st_ino), size: Int64(status.st_size),
      modified: Self.nanoseconds(status.st_mtim), changed: Self.nanoseconds(status.st_ctim))
  }

  private static func nanoseconds(_ time: timespec) -> Int64 {
    Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }
}

extension timespec {
  /// The time in seconds since 1970.
  init(_ time: Double) {
    let seconds = time.rounded(.down)
    self.init(
      tv_sec: Int(exactly: seconds) ?? 0, tv_nsec: Int(((time - seconds) * 1e9).rounded(.down)))
  }
}
