/// Bytes in memory that somebody lends: they stay as they are for as long as a copy of this is
/// kept.
///
/// So what arrives can go to other threads without being copied. The lender has its memory back
/// when the last copy is dropped, on the thread that does.
package struct LentBytes: @unchecked Sendable {
  // Unchecked, because nobody writes to the memory before the lender is let go.
  private let memory: UnsafeRawBufferPointer
  private let lender: AnyObject?

  /// Lends `memory`, which `lender` keeps as it is; nobody does for memory that stays for ever.
  package init(_ memory: UnsafeRawBufferPointer, from lender: AnyObject?) {
    self.memory = memory
    self.lender = lender
  }

  /// How many bytes.
  package var count: Int { memory.count }

  /// Calls `body` with the bytes, which are valid only within.
  package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows
    -> Result
  {
    try withExtendedLifetime(lender) { try body(memory) }
  }
}
