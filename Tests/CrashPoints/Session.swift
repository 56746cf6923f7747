package import HostedModel
import ContentStore
package import HostedFileIO
import Foundation
import HostedContent

/// The part of an operation that one process does.
///
/// Call `attempt` until it is complete.
package final class Session: Sendable {
  private let operation: CrashOperation
  private let world: World
  private let fileSystem: FileSystem
  /// Nil if no library is needed.
  private let queue: PaymentQueue?

  package init(_ operation: CrashOperation, _ world: World, _ fileSystem: FileSystem) throws {
    self.operation = operation
    self.world = world
    self.fileSystem = fileSystem
    queue = try operation.library.map { try world.queue($0, fileSystem) }
  }

  package func close() { queue?.close() }

  /// Does the rest of the operation, without knowledge of earlier attempts.
  ///
  /// Returns the errors. The rest can be tried again.
  package func attempt() async -> [ContentError] {
    switch operation {
    case .install: await all([World.own, World.foreign]) { try await self.queue?.bring($0) }
    case .update: await all([World.own]) { try await self.queue?.bring($0) }
    case .repair: await all([World.own]) { try await self.repair($0) }
    case .finish: await all([World.own]) { try await self.queue?.goOn(with: $0) }
    case .restore: await all([World.own]) { try await self.restore($0) }
    case .publish: await all([World.own]) { _ in try self.world.publish("1.1", self.fileSystem) }
    case .grow:
      await all([World.own]) { _ in
        try self.world.publish("1.1", self.fileSystem)
        try self.world.addProducts(128...128, self.fileSystem)
      }
    case .remove: await all([World.own]) { try self.remove($0) }
    case .prune: await all([World.own]) { _ in try self.prune() }
    case .collect:
      await all([World.own]) { _ in
        if let failure = try self.queue?.collect().failures.first { throw failure }
      }
    }
  }

  private func all(
    _ products: [String], _ body: @escaping @Sendable (String) async throws -> Void
  ) async -> [ContentError] {
    await withTaskGroup(of: ContentError?.self) { group in
      for product in products {
        group.addTask {
          do {
            try await body(product)
            return nil
          } catch {
            return ContentError(error, while: "processing \(product)")
          }
        }
      }
      return await group.reduce(into: []) { if let error = $1 { $0.append(error) } }
    }
  }

  /// Removes the current version, unless an earlier attempt has.
  private func remove(_ product: String) throws {
    do {
      try queue?.remove(ProductIdentifier(validating: product), version: ContentVersion("1.1"))
    } catch let error as ContentError where error.code == .notInstalled {}
  }

  /// Prunes the store as if all earlier catalogs were old.
  private func prune() throws {
    let later = Date().addingTimeInterval(40 * 86_400)
    try world.store(fileSystem).prune(keepDays: 30, now: later)
  }

  private func repair(_ product: String) async throws {
    let content = try world.reader().contents().first { $0.content.version.rawValue == "1.0" }
    guard let content = content?.content else {
      throw ContentError(.notInstalled, "\(product) is missing", remedy: "Check the log")
    }
    _ = try await queue?.repair(content)
  }

  private func restore(_ product: String) async throws {
    guard let queue else { return }
    try await queue.goOn(with: product)
    let content = try ProductIdentifier(validating: product)
    guard try await queue.installedVersion(of: content) == nil else { return }
    for transaction in try await queue.restore() {
      try await queue.complete(transaction)
    }
  }
}
