/// Writes numbers, texts, digests and files in a compact, unique encoding.
///
/// Numbers are LEB128 (seven bits per byte, low bits first). Digests are 32 bytes. A path is the
/// number of bytes shared with the previous path, followed by the rest.
struct CompactWriter {
  private(set) var bytes: [UInt8] = []

  mutating func append(_ more: some Sequence<UInt8>) { bytes += more }

  mutating func number(_ value: Int64) {
    var rest = UInt64(max(0, value))
    while rest > 0x7f {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  /// Appends eight bytes in little-endian order.
  mutating func word(_ value: UInt64) { withUnsafeBytes(of: value.littleEndian) { bytes += $0 } }

  mutating func digest(_ digest: Digest) { bytes += digest.bytes }

  mutating func text(_ text: [UInt8]) {
    number(Int64(text.count))
    bytes += text
  }

  /// Appends `files`, which must be sorted by the bytes of their paths.
  mutating func files(_ files: [IndexedFile]) {
    number(Int64(files.count))
    var previous: [UInt8] = []
    for file in files { self.file(file, after: &previous) }
  }

  private mutating func file(_ file: IndexedFile, after previous: inout [UInt8]) {
    let path = Array(file.path.utf8)
    var shared = 0
    while shared < min(path.count, previous.count), path[shared] == previous[shared] { shared += 1 }
    number(Int64(shared))
    number(Int64(path.count - shared))
    bytes += path[shared...]
    previous = path
    switch file.kind {
    case .file:
      number(file.digest == nil ? 3 : 0)
      number(file.size)
      if let digest = file.digest { self.digest(digest) }
    case .directory: number(1)
    case .link:
      number(2)
      text(Array((file.target ?? "").utf8))
    }
  }
}

/// Reads the encoding of `CompactWriter`; each count is limited by the remaining bytes.
struct CompactReader {
  /// The reason why the bytes are invalid.
  struct Unreadable: Error {
    let reason: String
  }

  private static let pathLimit = 4096

  private let bytes: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var isAtEnd: Bool { position == bytes.count }

  mutating func take(_ count: Int) throws -> ArraySlice<UInt8> {
    guard count >= 0, count <= bytes.count - position else {
      throw Unreadable(reason: "it is truncated")
    }
    defer { position += count }
    return bytes[position..<(position + count)]
  }

  mutating func number() throws -> Int64 {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), through: 56, by: 7) {
      guard position < bytes.count else { throw Unreadable(reason: "it is truncated") }
      let byte = bytes[position]
      position += 1
      value |= UInt64(byte & 0x7f) << shift
      if byte & 0x80 == 0 {
        // Reject a longer encoding of the same number.
        guard byte != 0 || shift == 0 else { break }
        return Int64(value)
      }
    }
    throw Unreadable(reason: "it has an invalid number")
  }

  /// Reads a count of elements that have at least `length` bytes each.
  mutating func count(ofAtLeast length: Int) throws -> Int {
    let count = try number()
    guard count <= (bytes.count - position) / length else {
      throw Unreadable(reason: "it is truncated")
    }
    return Int(count)
  }

  mutating func word() throws -> UInt64 {
    try take(8).withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) }
  }

  mutating func digest() throws -> Digest {
    guard let digest = Digest(bytes: try take(32)) else {
      throw Unreadable(reason: "it is truncated")
    }
    return digest
  }

  mutating func text(limit: Int) throws -> String {
    let count = try number()
    guard count <= limit, let text = String(validating: try take(Int(count)), as: UTF8.self) else {
      throw Unreadable(reason: "it has an invalid text")
    }
    return text
  }

  mutating func files() throws -> [IndexedFile] {
    let count = try count(ofAtLeast: 3)
    guard count <= PackageIndex.maximumEntryCount else {
      throw Unreadable(reason: "it has more than \(PackageIndex.maximumEntryCount) entries")
    }
    var files: [IndexedFile] = []
    files.reserveCapacity(count)
    var path: [UInt8] = []
    var total = 0
    for _ in 0..<count {
      try readPath(into: &path, isFirst: files.isEmpty)
      guard let text = String(validating: path, as: UTF8.self) else {
        throw Unreadable(reason: "it has an invalid path")
      }
      let file = try file(text)
      // Shared prefixes are encoded once but expanded for each path.
      total += path.count + (file.target?.utf8.count ?? 0)
      guard total <= PackageIndex.maximumPathTotal else {
        throw Unreadable(reason: "its paths are too long")
      }
      files.append(file)
    }
    return files
  }

  /// Replaces `path` with the next path.
  private mutating func readPath(into path: inout [UInt8], isFirst: Bool) throws {
    let (shared, count) = (try number(), try number())
    guard shared <= path.count, count <= Self.pathLimit - Int(shared) else {
      throw Unreadable(reason: "it has an invalid path")
    }
    let rest = try take(Int(count))
    guard isFirst || path[Int(shared)...].lexicographicallyPrecedes(rest) else {
      throw Unreadable(reason: "its paths are not in order")
    }
    path.replaceSubrange(Int(shared)..., with: rest)
  }

  private mutating func file(_ path: String) throws -> IndexedFile {
    switch try number() {
    case 0:
      let size = try number()
      return IndexedFile(path: path, kind: .file, size: size, digest: try digest())
    case 1: return IndexedFile(path: path, kind: .directory)
    case 2: return IndexedFile(path: path, kind: .link, target: try text(limit: Self.pathLimit))
    case 3: return IndexedFile(path: path, kind: .file, size: try number())
    default: throw Unreadable(reason: "it has an entry of unknown kind")
    }
  }
}
