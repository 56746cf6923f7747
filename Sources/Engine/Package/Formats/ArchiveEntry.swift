/// The header of an archive's entry; the values are not checked.
struct ArchiveEntry {
  /// The raw bytes of the path; nil if missing.
  let path: [UInt8]?
  let kind: Kind
  /// Permission bits with setuid, setgid and sticky, 0 to 0o7777.
  let permissions: UInt32
  /// The length of the data in bytes, or nil if the archive does not record it.
  let size: Int64?

  enum Kind: Hashable {
    case file, directory
    case link(target: [UInt8])
    case hardLink(to: [UInt8])
    /// An unsupported type, in words.
    case other(String)
  }
}
