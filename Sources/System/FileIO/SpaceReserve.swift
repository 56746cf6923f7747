/// A file that reserves disk space for writes that a full disk must allow, such as a removal.
///
/// The file is the only state, so every part of a library can release the space. Use it from any
/// thread.
package struct SpaceReserve: Sendable {
  /// The reserved bytes.
  package static let size: Int64 = 1 << 20
  private static let name = "journal.reserve"

  private let folder: Directory

  package init(in folder: Directory) { self.folder = folder }

  /// Releases the space; returns false if none was reserved.
  package func release() -> Bool { isHeld && (try? folder.removeFile(Self.name)) != nil }

  /// Reserves the space, unless it is reserved, if the disk has several times as much.
  ///
  /// If this fails on a file system, nothing is reserved.
  package func fill() {
    guard !isHeld else { return }
    do {
      guard try folder.availableBytes() >= 4 * Self.size else { return }
      try folder.privateFile(Self.name).allocate(Self.size)
    } catch {
      try? folder.removeFile(Self.name)
    }
  }

  private var isHeld: Bool {
    (try? folder.status(of: Self.name)).map { $0.size >= Self.size } ?? false
  }
}
