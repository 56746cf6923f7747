import HostedModel

/// Parses compressed frames, and rejects a frame whose decoder needs too much memory.
///
/// A decoder keeps a window of previous bytes. Each frame declares its size: up to 4 GiB in xz and
/// lzma, 128 MiB in zstd. libarchive 3.6.2 has no option to limit it. Sources: the .xz file format
/// 1.2.1, LZMA2 in xz-embedded, RFC 8878 §3.
struct WindowScanner {
  /// A compression format that declares its window.
  enum Format { case xz, zstd, lzma }

  /// The window of `xz -6` and `zstd -19`, in bytes.
  static let limit: UInt64 = 8 << 20

  private enum State {
    // States of zstd.
    case frame
    case zstdBlock(hasChecksum: Bool)
    // States of xz. A block is padded, and has a check of `checkLength` bytes at its end.
    case stream
    case block(checkLength: UInt64)
    case chunk(length: UInt64, checkLength: UInt64)
    case index(Index)
    // States of lzma.
    case properties
  }

  /// An index of xz, which consists of numbers.
  private struct Index {
    /// Its bytes so far; it is padded.
    var length: UInt64 = 1
    /// The numbers left, or nil until the count was read.
    var numbers: UInt64?
    var number: UInt64 = 0
    var shift: UInt64 = 0
  }

  private var state: State
  /// The bytes of the current field, and its length as far as it is known.
  private var field: [UInt8] = []
  private var wanted: Int
  /// The bytes before the next field.
  private var skip: UInt64 = 0

  init(_ format: Format) {
    switch format {
    case .xz: (state, wanted) = (.stream, 4)
    case .zstd: (state, wanted) = (.frame, 4)
    case .lzma: (state, wanted) = (.properties, 13)
    }
  }

  mutating func push(_ bytes: UnsafeRawBufferPointer) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let passed = min(skip, UInt64(rest.count))
      rest = rest.dropFirst(Int(passed))
      skip -= passed
      let taken = rest.prefix(wanted - field.count)
      field += taken
      rest = rest.dropFirst(taken.count)
      if skip == 0, field.count == wanted { try endField() }
    }
  }

  private mutating func endField() throws {
    switch state {
    case .frame: try endFrameHeader()
    case .zstdBlock(let hasChecksum): try endZstdBlockHeader(hasChecksum)
    case .stream: try endStreamHeader()
    case .block(let checkLength): try endBlockHeader(checkLength)
    case .chunk(let length, let checkLength): try endChunkHeader(length, checkLength)
    case .index(let index): try endIndexByte(of: index)
    case .properties:
      try Self.check(window: field.littleEndian(1, 4))
      (field, skip) = ([], .max)
    }
  }

  /// Expects a field of at least `count` bytes, after `skip` other bytes.
  private mutating func expect(_ next: State, _ count: Int, after skip: UInt64 = 0) {
    state = next
    wanted = count
    self.skip = skip
    field.removeAll(keepingCapacity: true)
  }

  /// Throws if a decoder needs `window` bytes, and that is too much.
  static func check(window: UInt64) throws {
    guard window <= limit else {
      throw Finding(
        path: nil, rule: "limit-window",
        message: "Decompressing the package needs \(window) bytes of memory; the limit is \(limit)",
        remedy: "Compress it with Deflate or gzip, with xz -6 or with zstd -19",
        code: .limitExceeded)
    }
  }

  private static let damaged = Finding.damaged("The compressed data is damaged")

  // MARK: zstd

  private mutating func endFrameHeader() throws {
    let magic = field.littleEndian(0, 4)
    if magic & 0xffff_fff0 == 0x184d_2a50 {
      if field.count < 8 { return wanted = 8 }
      return expect(.frame, 4, after: field.littleEndian(4, 4))
    }
    guard magic == 0xfd2f_b528 else { throw Self.damaged }
    if field.count < 5 { return wanted = 5 }
    let isSingle = field[4] >> 5 & 1 == 1
    let identifierLength = [0, 1, 2, 4][Int(field[4] & 3)]
    let sizeLength = [isSingle ? 1 : 0, 2, 4, 8][Int(field[4] >> 6)]
    let total = 5 + (isSingle ? 0 : 1) + identifierLength + sizeLength
    if field.count < total { return wanted = total }
    if isSingle {
      let size = field.littleEndian(total - sizeLength, sizeLength)
      try Self.check(window: sizeLength == 2 ? size + 256 : size)
    } else {
      let base: UInt64 = 1 << (10 + UInt64(field[5] >> 3))
      try Self.check(window: base + base / 8 * UInt64(field[5] & 7))
    }
    expect(.zstdBlock(hasChecksum: field[4] >> 2 & 1 == 1), 3)
  }

  private mutating func endZstdBlockHeader(_ hasChecksum: Bool) throws {
    let header = field.littleEndian(0, 3)
    let type = header >> 1 & 3
    guard type < 3 else { throw Self.damaged }
    // An RLE block contains only the repeated byte.
    let size = type == 1 ? 1 : header >> 3
    let isLast = header & 1 == 1
    expect(
      isLast ? .frame : .zstdBlock(hasChecksum: hasChecksum), isLast ? 4 : 3,
      after: size + (isLast && hasChecksum ? 4 : 0))
  }

  // MARK: xz

  private mutating func endStreamHeader() throws {
    if field.count == 4, field.allSatisfy({ $0 == 0 }) { return expect(.stream, 4) }
    if field.count < 12 { return wanted = 12 }
    guard field.starts(with: [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]) else { throw Self.damaged }
    let check = field[7] & 0x0f
    expect(.block(checkLength: check == 0 ? 0 : 4 << UInt64((check - 1) / 3)), 1)
  }

  private mutating func endBlockHeader(_ checkLength: UInt64) throws {
    if field[0] == 0 { return expect(.index(Index()), 1) }
    let total = (Int(field[0]) + 1) * 4
    if field.count < total { return wanted = total }
    var rest = field[2...]
    if field[1] & 0x40 != 0 { _ = try Self.takeNumber(&rest) }
    if field[1] & 0x80 != 0 { _ = try Self.takeNumber(&rest) }
    var window: UInt64?
    for _ in 0...(field[1] & 3) {
      let filter = try Self.takeNumber(&rest)
      let count = Int(clamping: try Self.takeNumber(&rest))
      guard count <= rest.count else { throw Self.damaged }
      window = filter == 0x21 && count == 1 ? rest.first.map(Self.window) : nil
      rest = rest.dropFirst(count)
    }
    // The last filter is the one that compresses.
    guard let window else { throw Self.damaged }
    try Self.check(window: window)
    expect(.chunk(length: 0, checkLength: checkLength), 1)
  }

  /// Returns the window for the properties of LZMA2.
  private static func window(_ bits: UInt8) -> UInt64 {
    bits >= 40 ? 0xffff_ffff : UInt64(2 | bits & 1) << UInt64(bits / 2 + 11)
  }

  private static func takeNumber(_ bytes: inout ArraySlice<UInt8>) throws -> UInt64 {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 63, by: 7) {
      guard let byte = bytes.popFirst() else { break }
      value |= UInt64(byte & 0x7f) << shift
      if byte & 0x80 == 0 { return value }
    }
    throw damaged
  }

  private mutating func endChunkHeader(_ length: UInt64, _ checkLength: UInt64) throws {
    let control = field[0]
    if control == 0 {
      // Block and index are padded to a multiple of four bytes.
      return expect(
        .block(checkLength: checkLength), 1, after: (3 - length % 4) + checkLength)
    }
    guard control <= 2 || control >= 0x80 else { throw Self.damaged }
    let total = control <= 2 ? 3 : control < 0xc0 ? 5 : 6
    if field.count < total { return wanted = total }
    let place = control <= 2 ? 1 : 3
    let size = UInt64(field[place]) << 8 | UInt64(field[place + 1])
    expect(
      .chunk(length: length + UInt64(total) + size + 1, checkLength: checkLength), 1,
      after: size + 1)
  }

  private mutating func endIndexByte(of index: Index) throws {
    var index = index
    index.length += 1
    guard index.shift < 63 else { throw Self.damaged }
    index.number |= UInt64(field[0] & 0x7f) << index.shift
    index.shift += 7
    if field[0] & 0x80 == 0 {
      // Two numbers per block.
      guard index.number < 1 << 62 else { throw Self.damaged }
      index.numbers = index.numbers.map { $0 - 1 } ?? index.number * 2
      (index.number, index.shift) = (0, 0)
    }
    guard index.numbers == 0 else { return expect(.index(index), 1) }
    // Padding, the CRC-32 of the index and the footer of the stream.
    expect(.stream, 4, after: (4 - index.length % 4) % 4 + 4 + 12)
  }
}
