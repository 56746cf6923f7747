import HostedCDeflate
import HostedModel

/// A libdeflate decompressor; use it from one thread at a time.
struct Decompressor: ~Copyable {
  private let handle: OpaquePointer

  /// Creates a decompressor; throws `outOfMemory`.
  init() throws {
    guard let handle = libdeflate_alloc_decompressor() else {
      throw ContentError.outOfMemory("libdeflate")
    }
    self.handle = handle
  }

  deinit { libdeflate_free_decompressor(handle) }

  enum Member: Equatable {
    /// The compressed and the decompressed length in bytes.
    case complete(packed: Int, plain: Int)
    /// The content does not fit into the buffer.
    case tooLong
    /// The bytes are damaged or incomplete.
    case damaged
  }

  /// Decompresses the gzip member (RFC 1952) at the start of `packed`.
  borrowing func decompressMember(
    _ packed: UnsafeRawBufferPointer, into plain: UnsafeMutableRawBufferPointer
  ) -> Member {
    var (packedCount, plainCount) = (0, 0)
    let result = libdeflate_gzip_decompress_ex(
      handle, packed.baseAddress, packed.count, plain.baseAddress, plain.count, &packedCount,
      &plainCount)
    return switch result {
    case LIBDEFLATE_SUCCESS: .complete(packed: packedCount, plain: plainCount)
    case LIBDEFLATE_INSUFFICIENT_SPACE: .tooLong
    default: .damaged
    }
  }

  /// Decompresses a zlib stream (RFC 1950); nil if it is damaged or does not have `length` bytes.
  borrowing func decompressStream(_ packed: [UInt8], length: Int) -> [UInt8]? {
    var plain = [UInt8](repeating: 0, count: length)
    let result = libdeflate_zlib_decompress(handle, packed, packed.count, &plain, length, nil)
    return result == LIBDEFLATE_SUCCESS ? plain : nil
  }
}
