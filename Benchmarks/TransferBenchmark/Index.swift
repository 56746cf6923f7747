import HostedModel
import HostedTransfer
import HostedDigests
import HostedFileIO

/// A file with the digests of its blocks, like the signed index of a package.
struct Entry {
  /// The same length as the pieces that our builder creates.
  static let blockLength = 128 << 10

  let name: String
  let length: Int64
  let blocks: [Digest]

  var pieces: [Piece] {
    blocks.enumerated().map { number, digest in
      let offset = Int64(number * Self.blockLength)
      return Piece(
        offset: offset, length: Int(min(Int64(Self.blockLength), length - offset)), digest: digest)
    }
  }

  /// Reads the file `name` of `folder`.
  init(of name: String, in folder: Directory) throws {
    let file = try folder.file(name)
    let length = try file.status().size
    let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: Self.blockLength, alignment: 4096)
    defer { buffer.deallocate() }
    blocks = try stride(from: 0, to: length, by: Self.blockLength).map { offset in
      let count = try file.read(into: buffer, at: offset)
      return try Digest(of: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
    self.name = name
    self.length = length
  }

  /// Encodes name, length and digests in binary, which is fast to read in the benchmark.
  var encoded: [UInt8] {
    [UInt8(name.utf8.count)] + name.utf8 + withUnsafeBytes(of: length.littleEndian, Array.init)
      + blocks.flatMap(\.bytes)
  }

  /// Removes and decodes the first entry of `bytes`; nil if they are not an index.
  init?(_ bytes: inout ArraySlice<UInt8>) {
    func take(_ count: Int) -> ArraySlice<UInt8> {
      defer { bytes = bytes.dropFirst(count) }
      return bytes.prefix(count)
    }
    guard let nameLength = bytes.popFirst() else { return nil }
    name = String(decoding: take(Int(nameLength)), as: UTF8.self)
    length = take(8).reversed().reduce(0) { $0 << 8 | Int64($1) }
    guard length > 0, length < 1 << 40 else { return nil }
    let count = (Int(length) + Self.blockLength - 1) / Self.blockLength
    blocks = (0..<count).compactMap { _ in Digest(bytes: take(32)) }
    guard blocks.count == count else { return nil }
  }

  /// Reads the entries that `index` wrote.
  static func read(_ path: String) throws -> [Entry] {
    var bytes = try FileSystem.real.file(at: path).contents(limit: 1 << 30)[...]
    var entries: [Entry] = []
    while let entry = Entry(&bytes) { entries.append(entry) }
    return entries
  }
}
