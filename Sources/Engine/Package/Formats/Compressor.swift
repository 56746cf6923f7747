import HostedCDeflate
import HostedModel

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
