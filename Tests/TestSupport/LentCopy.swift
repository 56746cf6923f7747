package import HostedFileIO

extension LentBytes {
  /// Lends a copy of `bytes`, which is freed with the last copy of this value.
  package init(copyOf bytes: some Collection<UInt8>) {
    let copy = LentCopy(bytes)
    self.init(UnsafeRawBufferPointer(copy.memory), from: copy)
  }
}

private final class LentCopy {
  let memory: UnsafeMutableRawBufferPointer

  init(_ bytes: some Collection<UInt8>) {
    memory = .allocate(byteCount: bytes.count, alignment: 16)
    memory.copyBytes(from: bytes)
  }

  deinit {
    // Overwritten, so that a read after the return is noticed.
    memory.initializeMemory(as: UInt8.self, repeating: 0xa5)
    memory.deallocate()
  }
}
