/// A file that holds disk space for what must also be written on a full disk, such as a removal.
///
/// The file is the only state, so every part of a library can release the space. May be used from
/// any thread.
package struct SpaceReserve: Sendable {
  /// Bytes that are held.
  package static let size: Int64 = 1 << 20
  private static let name = "journal.reserve"

  private let folder: Directory

  /// The reserve in a library's folder.
  package init(in folder: Directory) { self.folder = folder }

  /// Gives the space back to the file system; false if none was held.
  package func release() -> Bool {
    guard isHeld else { return false }
    do {
      try folder.removeFile(Self.name)
      return true
    } catch {
      return false
    }
  }

  /// Takes the space again once the disk has several times as much; true if it is held.
  ///
  /// On a file system where that fails nothing is held.
  package func fill() -> Bool {
    if isHeld { return true }
    do {
      guard try folder.availableBytes() >= 4 * Self.size else { return false }
      try folder.privateFile(Self.name).allocate(Self.size)
      return true
    } catch {
      try? folder.removeFile(Self.name)
      return false
    }
  }

  private var isHeld: Bool {
    guard let status = try? folder.status(of: Self.name) else { return false }
    return status.size >= Self.size
  }
}
