/// What an archive says of one of its entries, unchecked.
struct ArchiveEntry {
  /// The path's bytes as they stand in the archive; nil when there are none.
  let path: [UInt8]?
  let kind: Kind
  /// Permission bits with setuid, setgid and sticky, 0 to 0o7777.
  let permissions: UInt32
  /// Bytes of data; nil when the archive does not say.
  let size: Int64?

  /// What an entry can be.
  enum Kind: Hashable {
    case file, directory
    /// A symbolic link and its target's bytes.
    case link(target: [UInt8])
    /// A second name of the file at this path.
    case hardLink(to: [UInt8])
    case characterDevice, blockDevice, pipe, socket, unknown
  }
}
