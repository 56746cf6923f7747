/// The bytes of an index, compact and with one way only to write it.
///
/// `HCIX`, the format's number, then numbers as LEB128 (seven bits a byte, low ones first), digests
/// as 32 bytes, paths in byte order as the count of bytes that they share with the one before and
/// the rest. Everything is bounded before room for it is made.
extension PackageIndex {
  /// The number of this format; readers take the one before it, too, and refuse any later one.
  public static let currentFormat: UInt8 = 2
  private static let magic = Array("HCIX".utf8)

  /// The index as it is published.
  public var encoded: [UInt8] {
    var writer = IndexWriter()
    writer.bytes += Self.magic + [Self.currentFormat]
    writer.number(packageLength)
    writer.number(Int64(files.count))
    var previous: [UInt8] = []
    for file in files { writer.file(file, after: &previous) }
    writer.number(payload == nil ? 0 : 1)
    if let payload {
      writer.payload(payload, of: files)
    } else {
      writer.number(Int64(blockLength))
      writer.number(Int64(blocks.count))
      for block in blocks { writer.digest(block) }
      writer.text(Array((obstacle ?? "").utf8))
    }
    return writer.bytes
  }

  /// Reads an index; throws `storeDamaged` unless it is whole and its numbers agree, `formUnknown`
  /// when newer software wrote it.
  public init(encoded bytes: [UInt8]) throws {
    guard Int64(bytes.count) <= Self.maximumLength else {
      throw IndexReader.damaged("it is too long")
    }
    if IndexFormatOne.begins(bytes) {
      do {
        self = try IndexFormatOne(json: bytes).index
      } catch let error as ContentError {
        throw error
      } catch {
        throw IndexReader.damaged("\(error)")
      }
      guard isConsistent else { throw IndexReader.damaged("its numbers contradict each other") }
      return
    }
    var reader = IndexReader(bytes)
    guard try reader.take(4).elementsEqual(Self.magic) else {
      throw IndexReader.damaged("it does not begin as one")
    }
    let format = try reader.take(1).first ?? 0
    guard format <= Self.currentFormat else { throw ContentError.indexFormatUnknown(Int(format)) }
    guard format == Self.currentFormat else {
      throw IndexReader.damaged("it has the format \(format), not \(Self.currentFormat)")
    }
    let packageLength = try reader.number()
    let files = try reader.files()
    let kind = try reader.number()
    guard kind <= 1 else { throw IndexReader.damaged("it has an unknown layout") }
    if kind == 1 {
      let payload = try reader.payload(of: files)
      self.init(packageLength: packageLength, payload: payload, files: files)
    } else {
      let blockLength = Int(try reader.number())
      let blocks = try (0..<reader.count(ofAtLeast: 32)).map { _ in try reader.digest() }
      let obstacle = try reader.text(limit: 1024)
      self.init(
        packageLength: packageLength, blockLength: blockLength, blocks: blocks, files: files,
        obstacle: obstacle.isEmpty ? nil : obstacle)
    }
    guard reader.isAtEnd, isConsistent else {
      throw IndexReader.damaged("its numbers contradict each other")
    }
  }
}

/// Appends the parts of an index.
private struct IndexWriter {
  var bytes: [UInt8] = []

  mutating func number(_ value: Int64) {
    var rest = UInt64(max(0, value))
    while rest > 0x7f {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  mutating func digest(_ digest: Digest) { bytes += digest.bytes }

  mutating func text(_ text: [UInt8]) {
    number(Int64(text.count))
    bytes += text
  }

  mutating func file(_ file: IndexedFile, after previous: inout [UInt8]) {
    let path = Array(file.path.utf8)
    let shared = zip(path, previous).prefix { $0 == $1 }.count
    number(Int64(shared))
    text(Array(path[shared...]))
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

  mutating func payload(_ payload: PayloadIndex, of files: [IndexedFile]) {
    number(payload.offset)
    number(Int64(payload.members.count))
    for member in payload.members {
      number(Int64(member.packedLength))
      number(Int64(member.plainLength) << 1 | (member.plainDigest == nil ? 0 : 1))
      digest(member.digest)
      if let plainDigest = member.plainDigest { digest(plainDigest) }
    }
    var end: Int64 = 0
    for (file, start) in zip(files, payload.dataOffsets) where file.size > 0 {
      number(start - end)
      end = start + file.size
    }
  }
}

/// Takes an index apart; each count is bounded by the bytes that are left.
private struct IndexReader {
  private static let pathLimit = 4096
  // Shared beginnings are written once but held again and again.
  private static let pathTotalLimit = 128 << 20

  private let bytes: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var isAtEnd: Bool { position == bytes.count }

  mutating func take(_ count: Int) throws -> ArraySlice<UInt8> {
    guard count >= 0, count <= bytes.count - position else { throw Self.damaged("it breaks off") }
    defer { position += count }
    return bytes[position..<(position + count)]
  }

  mutating func number() throws -> Int64 {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), through: 56, by: 7) {
      guard position < bytes.count else { throw Self.damaged("it breaks off") }
      let byte = bytes[position]
      position += 1
      value |= UInt64(byte & 0x7f) << shift
      if byte & 0x80 == 0 {
        // One way only to write a number.
        guard byte != 0 || shift == 0 else { break }
        return Int64(value)
      }
    }
    throw Self.damaged("it holds a number that cannot be")
  }

  /// A count of things that take at least `length` bytes each.
  mutating func count(ofAtLeast length: Int) throws -> Int {
    let count = try number()
    guard count <= (bytes.count - position) / length else { throw Self.damaged("it breaks off") }
    return Int(count)
  }

  mutating func digest() throws -> Digest {
    guard let digest = Digest(bytes: try take(32)) else { throw Self.damaged("it breaks off") }
    return digest
  }

  mutating func text(limit: Int) throws -> String {
    let count = try number()
    guard count <= limit, let text = String(validating: try take(Int(count)), as: UTF8.self) else {
      throw Self.damaged("it holds a text that cannot be")
    }
    return text
  }

  mutating func files() throws -> [IndexedFile] {
    let count = try count(ofAtLeast: 3)
    var files: [IndexedFile] = []
    files.reserveCapacity(count)
    var path: [UInt8] = []
    var total = 0
    for _ in 0..<count {
      let next = try nextPath(after: path)
      guard files.isEmpty || path.lexicographicallyPrecedes(next) else {
        throw Self.damaged("its paths are not in order")
      }
      path = next
      total += path.count
      guard total <= Self.pathTotalLimit, let text = String(validating: path, as: UTF8.self) else {
        throw Self.damaged("it holds a path that cannot be")
      }
      files.append(try file(text))
    }
    return files
  }

  private mutating func nextPath(after path: [UInt8]) throws -> [UInt8] {
    let (shared, rest) = (try number(), try number())
    guard shared <= path.count, rest <= Self.pathLimit - Int(shared) else {
      throw Self.damaged("it holds a path that cannot be")
    }
    return try Array(path[..<Int(shared)] + take(Int(rest)))
  }

  private mutating func file(_ path: String) throws -> IndexedFile {
    switch try number() {
    case 0:
      let size = try number()
      return IndexedFile(path: path, kind: .file, size: size, digest: try digest())
    case 1: return IndexedFile(path: path, kind: .directory)
    case 2: return IndexedFile(path: path, kind: .link, target: try text(limit: Self.pathLimit))
    case 3: return IndexedFile(path: path, kind: .file, size: try number())
    default: throw Self.damaged("it holds an entry of an unknown kind")
    }
  }

  mutating func payload(of files: [IndexedFile]) throws -> PayloadIndex {
    let offset = try number()
    let count = try count(ofAtLeast: 34)
    var members: [IndexedMember] = []
    members.reserveCapacity(count)
    for _ in 0..<count {
      let (packed, plain) = (try number(), try number())
      let digest = try digest()
      members.append(
        IndexedMember(
          packedLength: Int(packed), plainLength: Int(plain >> 1), digest: digest,
          plainDigest: plain & 1 == 1 ? try self.digest() : nil))
    }
    var end: Int64 = 0
    let offsets = try files.map { file -> Int64 in
      guard file.size > 0 else { return 0 }
      let gap = try number()
      // Wrong sums are found by the check of the whole; here they must only not trap.
      let start = end.addingReportingOverflow(gap).partialValue
      end = start.addingReportingOverflow(file.size).partialValue
      return start
    }
    return PayloadIndex(offset: offset, members: members, dataOffsets: offsets)
  }

  static func damaged(_ reason: String) -> ContentError {
    ContentError(
      .storeDamaged, "The index of a package cannot be read: \(reason)",
      remedy: "Ask the store's owner to publish the package again")
  }
}
