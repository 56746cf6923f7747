public import ContentModel
public import FoundationEssentials

/// The blocking calls for callers in tasks; each runs on another thread until it returns.
extension PaymentQueue {
  /// As `lease(_:_:)`, without blocking the caller's thread.
  public func lease(_ content: ProductIdentifier, _ version: ContentVersion? = nil) async throws
    -> Lease
  {
    try await repairs.run { try self.lease(content, version) }
  }

  /// As `use(_:of:)`, without blocking the caller's thread.
  public func use(_ version: ContentVersion, of content: ProductIdentifier) async throws {
    try await repairs.run { try self.use(version, of: content) }
  }

  /// As `setPin(_:on:_:)`, without blocking the caller's thread.
  public func setPin(
    _ isPinned: Bool, on content: ProductIdentifier, _ version: ContentVersion
  ) async throws {
    try await repairs.run { try self.setPin(isPinned, on: content, version) }
  }

  /// As `remove(_:_:)`, without blocking the caller's thread.
  public func remove(_ content: ProductIdentifier, _ version: ContentVersion) async throws {
    try await repairs.run { try self.remove(content, version) }
  }

  /// As `collect(_:)`, without blocking the caller's thread.
  @discardableResult
  public func collect(_ policy: CollectionPolicy = CollectionPolicy()) async throws
    -> CollectionReport
  {
    try await repairs.run { try self.collect(policy) }
  }

  /// As `repairJournal()`, without blocking the caller's thread.
  @discardableResult
  public func repairJournal() async throws -> [ContentError] {
    try await repairs.run { try self.repairJournal() }
  }

  /// As `close()`, without blocking the caller's thread.
  public func shutDown() async { await BlockingCalls.onThread { self.close() } }
}

extension LibraryReader {
  /// Runs blocking calls of this reader on another thread, for callers in tasks.
  public func perform<Value: Sendable>(
    _ body: @escaping @Sendable (LibraryReader) throws -> Value
  ) async throws -> Value {
    try await BlockingCalls.onThread { Result { try body(self) } }.get()
  }
}

extension StoreLocation {
  /// As the blocking function of this name, without blocking the caller's thread.
  public func products(
    _ identifiers: Set<String>?, trustedRoot: [UInt8]?, trustsOnFirstUse: Bool = false,
    library: URL? = nil, mirrors: [StoreLocation] = [],
    network: NetworkSettings = NetworkSettings()
  ) async throws -> ProductsResponse {
    try await BlockingCalls.onThread {
      Result {
        try self.products(
          identifiers, trustedRoot: trustedRoot, trustsOnFirstUse: trustsOnFirstUse,
          library: library, mirrors: mirrors, network: network)
      }
    }.get()
  }
}
