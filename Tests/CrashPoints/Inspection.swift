import HostedLibrary
import HostedModel
import ContentStore
import HostedTrust
import HostedDigests
import HostedFileIO
import Foundation
import HostedContent
import HostedShop

/// Checks a folder after an operation was interrupted.
///
/// Uses the real code, and returns problems.
package struct Inspection {
  private let operation: CrashOperation
  private let world: World
  private var problems: [String] = []

  private init(_ operation: CrashOperation, _ world: World) {
    self.operation = operation
    self.world = world
  }

  /// Returns the problems directly after the end of a process.
  ///
  /// The view is that of a reader that does not wait for a restart.
  package static func afterEnd(of operation: CrashOperation, in world: World) throws -> [String] {
    var inspection = Inspection(operation, world)
    try inspection.checkCurrent()
    try inspection.checkStore(isFinal: false)
    return inspection.problems
  }

  /// Returns the problems after the next start, before the operation continues.
  package static func afterRestart(of operation: CrashOperation, in world: World) throws
    -> [String]
  {
    var inspection = Inspection(operation, world)
    try inspection.restart()
    try inspection.checkCurrent()
    try inspection.checkLibrary(isFinal: false)
    return inspection.problems
  }

  /// Returns the problems and leftovers after the operation has succeeded.
  package static func afterSuccess(of operation: CrashOperation, in world: World) throws
    -> [String]
  {
    var inspection = Inspection(operation, world)
    try inspection.checkCurrent()
    try inspection.checkLibrary(isFinal: true)
    try inspection.checkStore(isFinal: true)
    try inspection.checkTemporaryNames()
    return inspection.problems
  }

  private mutating func expect(_ condition: Bool, _ problem: @autoclosure () -> String) {
    if !condition { problems.append(problem()) }
  }

  private func restart() throws {
    guard let library = operation.library else { return }
    try world.queue(library).close()
  }

  // MARK: Library

  private var libraryPath: String? { operation.library.map(world.libraryPath) }

  /// Checks that `current` names a complete, expected version, and never an older one.
  private mutating func checkCurrent() throws {
    guard let libraryPath else { return }
    let (before, after) = operation.installed
    for product in Set(before.keys).union(after.keys) {
      let folder = "\(libraryPath)/products/\(product)"
      let current = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/current")
      guard let current else {
        expect(before[product] == nil, "\(product) lost its current version")
        continue
      }
      let allowed = [before[product], after[product]].compactMap { $0?.last }
      expect(allowed.contains(current), "\(product): current version: \(current)")
      try checkFiles(product, current, "\(folder)/current")
    }
  }

  private mutating func checkFiles(_ product: String, _ version: String, _ folder: String) throws {
    for (path, bytes) in try World.expectedFiles(product, version) {
      let found = try? Data(contentsOf: URL(filePath: "\(folder)/\(path)"))
      let isDamaged = operation == .repair && path == CrashOperation.damagedFile
      expect(
        found == Data(bytes) || (isDamaged && found?.count == bytes.count),
        "\(product) \(version) \(path) is incomplete")
    }
  }

  private mutating func checkLibrary(isFinal: Bool) throws {
    guard let library = operation.library, let libraryPath else { return }
    let (before, after) = operation.installed
    let reader = try world.reader(library)
    let entries = try reader.contents()
    for product in Set(before.keys).union(after.keys) {
      let found = Set(
        entries.filter { $0.content.contentIdentifier.rawValue == product }
          .map(\.content.version.rawValue))
      let (old, new) = (Set(before[product] ?? []), Set(after[product] ?? []))
      if isFinal {
        expect(found == new, "\(product): \(found.sorted()) installed")
      } else {
        expect(found.isSuperset(of: old.intersection(new)), "\(product) lost of \(found.sorted())")
        expect(found.isSubset(of: old.union(new)), "\(product): unexpected \(found.sorted())")
      }
      let folders = Self.names(in: "\(libraryPath)/products/\(product)").subtracting(["current"])
      expect(folders == found, "\(product): folders: \(folders.sorted())")
    }
    for entry in entries { try checkWhole(entry, reader, isFinal) }
    let pins = try reader.pins().map(\.version.rawValue)
    expect(pins == [operation.pinned].compactMap { $0 }, "pinned: \(pins)")
    try checkTransactions(reader, isFinal)
    let staged = Self.names(in: "\(libraryPath)/staging").subtracting(["CACHEDIR.TAG"])
    if isFinal { expect(staged.isEmpty, "staging contains \(staged.sorted())") }
  }

  private mutating func checkWhole(
    _ entry: LibraryReader.Entry, _ reader: LibraryReader, _ isFinal: Bool
  ) throws {
    let product = entry.content.contentIdentifier.rawValue
    let version = entry.content.version.rawValue
    let damages = try reader.verify(entry.content).map(\.path)
    let mayBeDamaged = operation == .repair && !isFinal
    expect(
      damages.isEmpty || (mayBeDamaged && damages == [CrashOperation.damagedFile]),
      "\(product) \(version) is damaged: \(damages)")
    try checkFiles(product, version, entry.url.path(percentEncoded: false))
  }

  /// Checks that each granted purchase is unfinished or was finished once, and at the end finished.
  private mutating func checkTransactions(_ reader: LibraryReader, _ isFinal: Bool) throws {
    let open = try reader.transactions().map(\.id)
    let finished = try reader.finishedTransactions()
    expect(
      Set(open).isDisjoint(with: finished.map { $0.id }), "both finished and unfinished: \(open)")
    if isFinal { expect(open.isEmpty, "unfinished: \(open)") }
    guard operation.library == "library" else { return }
    let granted = try grants()
    expect(granted.count == Set(granted).count, "granted twice: \(granted)")
    let known = Set(open).union(finished.map { $0.id })
    expect(known.isSuperset(of: granted), "lost of \(granted)")
    if isFinal {
      // If a grant could not be synced, the purchase has failed and was repeated.
      let purchases = Set(finished.filter { $0.state == .purchased }.map(\.id))
      let failed = Set(finished.filter { $0.state == .failed }.map(\.id))
      expect(
        purchases == Set(granted).subtracting(failed), "granted \(granted), delivered \(purchases)")
    }
  }

  private func grants() throws -> [TransactionID] {
    let folder = try FileSystem.real.directory(at: world.path)
    return try Ledger(SQLiteLedger(world.grantsName, in: folder)).owned(account: nil)
      .map { TransactionID(rawValue: $0.transaction) }
  }

  // MARK: Store

  /// Reads the catalog as a new client does: all products, and all versions of each.
  private func readCatalog() throws -> (ProductsResponse, [ContentOffer]) {
    let folder = try FileSystem.real.directory(at: world.storePath)
    let root = try world.store().initialRoot()
    return try FileSystem.real.withTemporaryDirectory { trust in
      let catalog = try Catalog(
        client: TrustClient(
          trustFolder: trust, fetcher: FolderFetcher(folder), now: { Date() }),
        trustedRoot: root
      ).refresh()
      let response = catalog.products(nil)
      let offers = try response.products.flatMap { try catalog.offers(of: $0.productIdentifier) }
      return (response, offers)
    }
  }

  /// Checks the metadata as a new client does, and that all listed files exist.
  private mutating func checkStore(isFinal: Bool) throws {
    guard [.publish, .grow, .prune].contains(operation) else { return }
    let (response, offers) = try readCatalog()
    expect(response.failures.isEmpty, "the store's records: \(response.failures)")
    let own = offers.filter { $0.productIdentifier.rawValue == World.own }
    let versions = own.map(\.version.rawValue).sorted()
    let (before, after) = operation.published
    expect(
      versions == after || (!isFinal && versions == before), "the store offers \(versions)")
    var promised: Set<String> = []
    for file in offers.flatMap({ [$0.package, $0.index] }) {
      let bytes = try Data(contentsOf: URL(filePath: "\(world.storePath)/\(file.path)"))
      expect(
        try Int64(bytes.count) == file.length && Digest(of: Array(bytes)) == file.digest,
        "\(file.path) does not match its metadata")
      promised.insert(file.path)
    }
    guard isFinal else { return }
    let found = Self.files(below: "\(world.storePath)/targets").map { "targets/\($0)" }
    let orphans = found.filter { !promised.contains($0) && !$0.hasSuffix(".product.json") }
    expect(orphans.isEmpty, "unreferenced files: \(orphans.sorted())")
    let records = found.filter { $0.hasSuffix(".product.json") }
    // A new version of our product writes another record. The earlier one stays until it is pruned.
    let earlier = operation == .prune ? 0 : 1
    expect(records.count == response.products.count + earlier, "records: \(records.count)")
    if operation == .grow {
      expect(response.products.count == 129, "products: \(response.products.count)")
    }
  }

  /// Checks that no temporary files are left.
  private mutating func checkTemporaryNames() throws {
    let left = Self.files(below: world.path).filter {
      $0.split(separator: "/").last.map { $0.hasPrefix(".") && $0.hasSuffix(".new") } ?? false
    }
    expect(left.isEmpty, "left over: \(left.sorted())")
  }

  private static func names(in folder: String) -> Set<String> {
    Set((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [])
  }

  /// Returns the paths of files and links below `folder`.
  private static func files(below folder: String) -> [String] {
    ((try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? []).filter {
      var isFolder: ObjCBool = false
      return !FileManager.default.fileExists(atPath: "\(folder)/\($0)", isDirectory: &isFolder)
        || !isFolder.boolValue
    }
  }
}
