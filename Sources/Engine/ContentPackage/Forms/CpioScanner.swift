import ContentModel

/// Finds the data of each entry in the bytes of a cpio archive, odc or newc.
///
/// Pure. Bytes are pushed in chunks of any size. Checks that libarchive makes during the
/// examination are not repeated: the result counts only if both agree. Source: cpio(5).
struct CpioScanner {
  /// An entry as its header describes it.
  struct Entry: Hashable {
    let path: [UInt8]
    let mode: UInt32
    /// The start offset of its data in the archive.
    let offset: Int64
    let size: Int64
  }

  private static let nameLimit = PackageLimits.headerPathLength

  /// All entries so far, without the trailer; empty if entries are not kept.
  private(set) var entries: [Entry] = []
  private let keepsEntries: Bool
  /// Whether the trailer was read.
  private(set) var isAtEnd = false

  /// The number of entries with more than one link; folders may count, too.
  private(set) var linkedCount = 0
  /// Whether a name contains a NUL before its end.
  private(set) var hasSplitName = false

  /// Whether the name of the current header exceeds the limit.
  var isAtLongName: Bool {
    guard let form = Form(magic: header), header.count >= form.fixedLength else { return false }
    return (form.nameLength(header) ?? 0) > Self.nameLimit
  }

  init(keepingEntries: Bool = true) { keepsEntries = keepingEntries }

  private var position: Int64 = 0
  private var header: [UInt8] = []
  /// The bytes of data and padding before the next header.
  private var skip: Int64 = 0

  /// Takes the next bytes; returns false if they are not a cpio archive.
  mutating func push(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty, !isAtEnd {
      let passed = Int(min(skip, Int64(rest.count)))
      rest = rest.dropFirst(passed)
      position += Int64(passed)
      skip -= Int64(passed)
      guard skip == 0, !rest.isEmpty else { continue }
      guard let wanted = headerLength else { return false }
      let taken = rest.prefix(wanted - header.count)
      header += taken
      position += Int64(taken.count)
      rest = rest.dropFirst(taken.count)
      if header.count == headerLength, !endHeader() { return false }
    }
    return true
  }

  /// The length of the current header, as far as it is known, or nil if the header is invalid.
  private var headerLength: Int? {
    guard header.count >= 6 else { return 6 }
    guard let form = Form(magic: header) else { return nil }
    guard header.count >= form.fixedLength else { return form.fixedLength }
    guard let name = form.nameLength(header), (1...Self.nameLimit).contains(name) else {
      return nil
    }
    return form.padded(form.fixedLength + name)
  }

  private mutating func endHeader() -> Bool {
    guard let form = Form(magic: header), let nameLength = form.nameLength(header),
      let mode = form.mode(header), let size = form.size(header)
    else { return false }
    if let count = form.linkCount(header), count > 1 { linkedCount += 1 }
    let name = header[form.fixedLength..<(form.fixedLength + nameLength)]
    guard name.last == 0 else { return false }
    let path = name.dropLast()
    // NULs that pad the name are allowed.
    if let end = path.firstIndex(of: 0), path[end...].contains(where: { $0 != 0 }) {
      hasSplitName = true
    }
    if path.elementsEqual("TRAILER!!!".utf8) {
      isAtEnd = true
    } else if keepsEntries {
      entries.append(Entry(path: Array(path), mode: mode, offset: position, size: size))
    }
    skip = form.isPadded ? (size + 3) / 4 * 4 : size
    header.removeAll(keepingCapacity: true)
    return true
  }

  /// The two supported formats, and the offsets of their fields.
  private enum Form {
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
