import HostedModel

/// Finds the data of each entry in the bytes of a cpio archive, odc or newc.
///
/// Pure. Bytes are pushed in chunks of any size. Checks that libarchive makes during the
/// examination are not repeated: the result counts only if both agree. Names are checked first,
/// since libarchive allocates any length that a name declares, up to 4 GB, truncates a name at a
/// NUL, and compares each hard-linked file with all previous ones. Source: cpio(5).
struct CpioScanner {
  /// An entry as its header describes it.
  struct Entry: Hashable {
    let path: [UInt8]
    let mode: UInt32
    /// The start offset of its data in the archive.
    let offset: Int64
    let size: Int64
  }

  private static let linkedLimit = 32_768
  private static let unknown = Finding.damaged("The payload is not a cpio archive (odc or newc)")

  /// All entries so far, without the trailer; empty if entries are not kept.
  private(set) var entries: [Entry] = []
  private let keepsEntries: Bool
  /// Whether the trailer was read.
  private(set) var isAtEnd = false

  /// The number of entries with more than one link; folders may count, too.
  private var linkedCount = 0

  init(keepingEntries: Bool = true) { keepsEntries = keepingEntries }

  private var position: Int64 = 0
  private var header: [UInt8] = []
  /// The bytes of data and padding before the next header.
  private var skip: Int64 = 0

  /// Takes the next bytes; throws a finding if they are not a cpio archive, or a name is invalid.
  mutating func push(_ bytes: UnsafeRawBufferPointer) throws {
    var rest = bytes[...]
    while !rest.isEmpty, !isAtEnd {
      let passed = Int(min(skip, Int64(rest.count)))
      rest = rest.dropFirst(passed)
      position += Int64(passed)
      skip -= Int64(passed)
      guard skip == 0, !rest.isEmpty else { continue }
      let taken = rest.prefix(try headerLength() - header.count)
      header += taken
      position += Int64(taken.count)
      rest = rest.dropFirst(taken.count)
      if try header.count == headerLength() { try endHeader() }
    }
  }

  /// Returns the length of the current header, as far as it is known.
  private func headerLength() throws -> Int {
    guard header.count >= 6 else { return 6 }
    guard let format = Format(magic: header) else { throw Self.unknown }
    guard header.count >= format.fixedLength else { return format.fixedLength }
    guard let name = format.nameLength(header), name > 0 else { throw Self.unknown }
    guard name <= PackageLimits.headerPathLength else {
      throw Finding.limit("limit-header", "The header of an entry exceeds the size limit")
    }
    return format.padded(format.fixedLength + name)
  }

  private mutating func endHeader() throws {
    guard let format = Format(magic: header), let nameLength = format.nameLength(header),
      let mode = format.mode(header), let size = format.size(header)
    else { throw Self.unknown }
    if let count = format.linkCount(header), count > 1 { linkedCount += 1 }
    guard linkedCount <= Self.linkedLimit else {
      throw Finding.limit(
        "limit-entries", "More than \(Self.linkedLimit) files and folders have several links")
    }
    let name = header[format.fixedLength..<(format.fixedLength + nameLength)]
    guard name.last == 0 else { throw Self.unknown }
    let path = name.dropLast()
    // NULs that pad the name are allowed.
    if let end = path.firstIndex(of: 0), path[end...].contains(where: { $0 != 0 }) {
      throw Finding.entry("path-control", "A name contains a NUL character", path: "")
    }
    if path.elementsEqual("TRAILER!!!".utf8) {
      isAtEnd = true
    } else if keepsEntries {
      entries.append(Entry(path: Array(path), mode: mode, offset: position, size: size))
    }
    skip = format.isPadded ? (size + 3) / 4 * 4 : size
    header.removeAll(keepingCapacity: true)
  }

  /// The two supported formats, and the offsets of their fields.
  private enum Format {
    case odc, newc

    init?(magic: [UInt8]) {
      switch magic.prefix(6) {
      case let magic where magic.elementsEqual("070707".utf8): self = .odc
      case let magic where magic.elementsEqual("070701".utf8): self = .newc
      default: return nil
      }
    }

    var isPadded: Bool { self == .newc }
    var fixedLength: Int { self == .odc ? 76 : 110 }

    /// Returns `length` of header and name, rounded up to the start of the data.
    func padded(_ length: Int) -> Int { isPadded ? (length + 3) / 4 * 4 : length }

    func mode(_ header: [UInt8]) -> UInt32? {
      number(header, self == .odc ? 18..<24 : 14..<22).flatMap { UInt32(exactly: $0) }
    }

    func linkCount(_ header: [UInt8]) -> Int64? { number(header, self == .odc ? 36..<42 : 38..<46) }

    func nameLength(_ header: [UInt8]) -> Int? {
      number(header, self == .odc ? 59..<65 : 94..<102).map(Int.init)
    }

    func size(_ header: [UInt8]) -> Int64? { number(header, self == .odc ? 65..<76 : 54..<62) }

    private func number(_ header: [UInt8], _ range: Range<Int>) -> Int64? {
      var value: Int64 = 0
      for byte in header[range] {
        let digit: UInt8
        switch byte {
        case 48...57: digit = byte - 48
        case 65...70: digit = byte - 55
        case 97...102: digit = byte - 87
        default: return nil
        }
        guard self == .newc || digit < 8 else { return nil }
        value = value << (self == .odc ? 3 : 4) | Int64(digit)
      }
      return value
    }
  }
}
