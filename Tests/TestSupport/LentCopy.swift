package import FileIO

extension LentBytes {
  /// Lends a copy of `bytes`, which goes when the last of it is dropped.
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
    // Who still reads what was given back finds out.
    memory.initializeMemory(as: UInt8.self, repeating: 0xa5)
    memory.deallocate()
  }
}
