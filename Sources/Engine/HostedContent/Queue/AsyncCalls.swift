import HostedConcurrency
public import HostedModel

/// Async forms of the blocking calls; each runs on another thread until it returns.
extension PaymentQueue {
  /// Leases a version without blocking the caller's thread; see `lease(_:version:)`.
  public func lease(_ content: ProductIdentifier, version: ContentVersion? = nil) async throws
    -> Lease
  {
    try await performBlocking { try self.lease(content, version: version) }
  }

  /// Returns the current version without blocking the caller's thread; see `installedVersion(of:)`.
  public func installedVersion(of content: ProductIdentifier) async throws -> ContentVersion? {
    try await performBlocking { try self.installedVersion(of: content) }
  }

  /// Makes a version current without blocking the caller's thread; see `use(_:of:)`.
  public func use(_ version: ContentVersion, of content: ProductIdentifier) async throws {
    try await repairs.run { try self.use(version, of: content) }
  }

  /// Pins or unpins a version without blocking the caller's thread; see `setPin(_:on:version:)`.
  public func setPin(
    _ isPinned: Bool, on content: ProductIdentifier, version: ContentVersion
  ) async throws {
    try await repairs.run { try self.setPin(isPinned, on: content, version: version) }
  }

  /// Removes a version without blocking the caller's thread; see `remove(_:version:)`.
  public func remove(_ content: ProductIdentifier, version: ContentVersion) async throws {
    try await repairs.run { try self.remove(content, version: version) }
  }

  /// Removes unneeded versions without blocking the caller's thread; see `collect(_:)`.
  @discardableResult
  public func collect(_ policy: CollectionPolicy = CollectionPolicy()) async throws
    -> CollectionReport
  {
    try await repairs.run { try self.collect(policy) }
  }

  /// Repairs the journal without blocking the caller's thread; see `repairJournal()`.
  @discardableResult
  public func repairJournal() async throws -> [ContentError] {
    try await repairs.run { try self.repairJournal() }
  }

  /// Closes the queue without blocking the caller's thread; see `close()`.
  public func shutDown() async { await performBlocking { self.close() } }
}

extension PaymentTransaction {
  /// Returns the receipt without blocking the caller's thread; see the blocking function.
  public func transactionReceipt() async throws -> String? {
    try await performBlocking { try self.transactionReceipt() }
  }
}
