/// Borrowed bytes in memory.
///
/// They do not change while a copy of this value exists. Received bytes can be passed to other
/// threads without a copy. The lender gets its memory back when the last copy is released, on the
/// thread that releases it.
package struct LentBytes: @unchecked Sendable {
  // Unchecked, because the memory does not change while the lender is retained.
  private let memory: UnsafeRawBufferPointer
  private let lender: AnyObject?

  /// Lends `memory`, which `lender` keeps unchanged, or nil if the memory stays valid forever.
  package init(_ memory: UnsafeRawBufferPointer, from lender: AnyObject?) {
    self.memory = memory
    self.lender = lender
  }

  package var count: Int { memory.count }

  /// Calls `body` with the bytes, which are only valid during the call.
  package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows
    -> Result
  {
    try withExtendedLifetime(lender) { try body(memory) }
  }
}
