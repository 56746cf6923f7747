import HostedModel
import ContentStore
import HostedFileIO
import Foundation
import HostedContent

/// An operation that tests interrupt at each step.
///
/// It moves a folder between two valid states.
package enum CrashOperation: String, CaseIterable, Sendable {
  case install, update, repair, finish, restore, publish, grow, collect, remove, prune

  /// The library that it uses, or nil if it changes a store.
  package var library: String? {
    switch self {
    case .publish, .grow, .prune: nil
    case .restore: "other"
    case .install, .update, .repair, .finish, .collect, .remove: "library"
    }
  }

  /// The installed versions of products before and after it.
  package var installed: (before: [String: [String]], after: [String: [String]]) {
    let own = World.own
    return switch self {
    case .install: ([:], [own: ["1.0"], World.foreign: ["1.0"]])
    case .update: ([own: ["1.0"]], [own: ["1.0", "1.1"]])
    case .repair, .finish: ([own: ["1.0"]], [own: ["1.0"]])
    case .restore: ([:], [own: ["1.0"]])
    case .publish, .grow, .prune: ([:], [:])
    case .collect: ([own: ["1.0", "1.1", "1.2", "1.3"]], [own: ["1.0", "1.3"]])
    case .remove: ([own: ["1.0", "1.1"]], [own: ["1.0"]])
    }
  }

  /// The versions of our product in the store before and after it.
  package var published: (before: [String], after: [String]) {
    switch self {
    case .install, .repair, .finish, .restore: (["1.0"], ["1.0"])
    case .update, .remove: (["1.0", "1.1"], ["1.0", "1.1"])
    case .publish, .grow: (["1.0"], ["1.0", "1.1"])
    case .prune: (["1.1"], ["1.1"])
    case .collect: (["1.0", "1.1", "1.2", "1.3"], ["1.0", "1.1", "1.2", "1.3"])
    }
  }

  /// The version that is pinned during the operation.
  package var pinned: String? {
    switch self {
    case .repair, .collect: "1.0"
    case .install, .update, .finish, .restore, .publish, .grow, .remove, .prune: nil
    }
  }

  /// The file that is damaged before the operation.
  package static let damagedFile = "Contents/film.bin"

  // MARK: Preparation

  /// Creates the initial state in an empty folder.
  package func prepare(_ world: World) async throws {
    _ = try StoreFolder.create(at: world.storePath)
    try world.publish("1.0")
    switch self {
    case .install: try world.publishForeign()
    case .publish: _ = try world.source("1.1")
    case .grow:
      // As many products as one list has. The next publication also changes our product, and
      // writes bins.
      try world.addProducts(1...127)
      _ = try world.source("1.1")
    case .prune:
      try world.publish("1.1")
      try world.store().retire(
        ProductIdentifier(validating: World.own), version: ContentVersion("1.0"))
    case .update, .remove:
      try await bring(in: world)
      try world.publish("1.1")
      if self == .remove { try await bring(in: world) }
    case .repair:
      try await bring(in: world)
      try pin(in: world)
      try damage(in: world)
    case .restore: try await bring(in: world)
    case .finish:
      let queue = try world.queue()
      defer { queue.close() }
      let payment = Payment(productIdentifier: try ProductIdentifier(validating: World.own))
      _ = try await queue.install(queue.purchase(payment))
    case .collect:
      try await bring(in: world)
      for version in ["1.1", "1.2", "1.3"] {
        try world.publish(version)
        try await bring(in: world)
      }
      try pin(in: world)
    }
  }

  private func bring(in world: World) async throws {
    let queue = try world.queue()
    defer { queue.close() }
    try await queue.bring(World.own)
  }

  private func pin(in world: World) throws {
    let queue = try world.queue()
    defer { queue.close() }
    try queue.setPin(
      true, on: ProductIdentifier(validating: World.own), version: ContentVersion("1.0"))
  }

  private func damage(in world: World) throws {
    let file = "\(world.libraryPath())/products/\(World.own)/1.0/\(Self.damagedFile)"
    var bytes = try Data(contentsOf: URL(filePath: file))
    bytes[150_000] ^= 1
    try FileManager.default.removeItem(atPath: file)
    try bytes.write(to: URL(filePath: file))
    try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: file)
  }
}
