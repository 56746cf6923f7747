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

/// A libdeflate compressor; use it from one thread at a time.
struct Compressor: ~Copyable {
  private let handle: OpaquePointer

  /// Creates a compressor of `level` 0 (stored) to 12; throws `outOfMemory`.
  init(level: Int32) throws {
    guard let handle = libdeflate_alloc_compressor(level) else {
      throw ContentError.outOfMemory("libdeflate")
    }
    self.handle = handle
  }

  deinit { libdeflate_free_compressor(handle) }

  /// Writes a gzip member (RFC 1952) without a time; returns its length, or 0 if it does not fit.
  borrowing func compressMember(
    _ plain: UnsafeRawBufferPointer, into packed: UnsafeMutableRawBufferPointer
  ) -> Int {
    libdeflate_gzip_compress(
      handle, plain.baseAddress, plain.count, packed.baseAddress, packed.count)
  }

  /// Returns the zlib stream (RFC 1950) of `plain`.
  borrowing func compressedStream(_ plain: [UInt8]) -> [UInt8] {
    let bound = libdeflate_zlib_compress_bound(handle, plain.count)
    return [UInt8](unsafeUninitializedCapacity: bound) { packed, count in
      count = libdeflate_zlib_compress(handle, plain, plain.count, packed.baseAddress, bound)
    }
  }
}
