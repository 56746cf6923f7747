import HostedModel
import HostedFileIO
import Glibc

/// The rules for the library on a simulated disk.
extension World {
  private static let library = ["srv", "library"]

  /// Returns the visible folder of the library's products.
  private func products(on disk: SimulatedDisk) -> DiskNode? {
    (Self.library + ["products"]).reduce(disk.root) { $0?.names[$1] }
  }

  /// Checks a change below `products`: the content must be the old or the new one.
  func checkVisible(_ path: String) {
    let prefix = "\(Self.libraryPath)/products/"
    guard path.hasPrefix(prefix), let products = products(on: disk),
      let name = path.dropFirst(prefix.count).split(separator: "/").first.map(String.init),
      let home = products.names[name], home.kind == .directory
    else { return }
    check(name, home, "on the visible disk")
  }

  /// Checks the whole disk as a start would find it.
  func checkEverything(_ place: String) {
    if let neighbor = disk.root.names["srv"]?.names["neighbor"],
      neighbor.bytes != Array("not ours".utf8) || neighbor.links != 1
    {
      violate("a file outside of the library was changed", "the neighbor's file, \(place)")
    }
    if Set(disk.root.names.keys) != ["srv"]
      || !Set(disk.root.names["srv"]?.names.keys.map { $0 } ?? []).isSubset(of: [
        "neighbor", "library",
      ])
    {
      violate("a file outside of the library was changed", "new names, \(place)")
    }
    guard let products = products(on: disk) else { return }
    for (name, home) in products.names.sorted(by: { $0.key < $1.key }) where home.kind == .directory
    {
      check(name, home, place)
    }
  }

  /// Checks that each version is complete, and that `current` names one of them.
  private func check(_ name: String, _ home: DiskNode, _ place: String) {
    for (entry, node) in home.names.sorted(by: { $0.key < $1.key }) {
      switch (entry, node.kind) {
      case ("current", .link):
        if home.names[node.target]?.kind != .directory {
          violate("current does not name a version", "\(name): \(node.target), \(place)")
        }
      case (".current.new", .link): break
      case (_, .directory):
        if isDamaged(name, entry) { continue }
        if let problem = problem(of: node, name, entry) {
          violate("an installed version is incomplete", "\(name) \(entry): \(problem), \(place)")
        }
      default: violate("an unexpected entry among the versions", "\(name)/\(entry), \(place)")
      }
    }
  }

  private func isDamaged(_ content: String, _ version: String) -> Bool {
    damaged.contains {
      $0.contentIdentifier.rawValue == content && $0.version.rawValue == version
    }
  }

  /// Removes a file of an installed version, durably.
  func damage(_ content: InstalledContent) {
    let home = products(on: disk)?.names[content.contentIdentifier.rawValue]
    guard let folder = home?.names[content.version.rawValue]?.names["Contents"],
      let (name, _) = folder.names.filter({ $0.value.kind == .file }).min(by: { $0.key < $1.key })
    else { return }
    damaged.insert(ContentKey(content))
    damages += 1
    disk.change([NameChange.Place(folder: folder, name: name, node: nil)])
    disk.syncNames(of: folder)
  }

  /// Returns the problem of a version's folder, or nil.
  private func problem(of folder: DiskNode, _ content: String, _ version: String) -> String? {
    guard let identifier = try? ProductIdentifier(validating: content),
      let version = try? ContentVersion(validating: version),
      let tree = store.trees[ContentKey(identifier, version: version)]
    else { return "the store does not have this version" }
    var found = 0
    for (path, bytes) in tree.entries {
      let node = path.split(separator: "/").reduce(folder) { $0?.names[String($1)] }
      guard let node else { return "\(path) is missing" }
      found += 1
      guard let bytes else {
        if node.kind != .directory { return "\(path) is not a folder" }
        continue
      }
      guard node.kind == .file else { return "\(path) is not a file" }
      if !Self.areEqual(node.bytes, bytes) {
        return "\(path) differs: it has \(node.bytes.count) bytes, expected \(bytes.count)"
      }
      if node.mode & 0o222 != 0 { return "\(path) is writable" }
    }
    let count = Self.count(folder)
    return count == found ? nil : "\(found) entries, expected \(count)"
  }

  private static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    return left.withUnsafeBytes { left in
      right.withUnsafeBytes { right in
        guard let left = left.baseAddress, let other = right.baseAddress else { return true }
        return memcmp(left, other, right.count) == 0
      }
    }
  }

  private static func count(_ folder: DiskNode) -> Int {
    folder.names.values.reduce(0) { $0 + 1 + ($1.kind == .directory ? count($1) : 0) }
  }

  // MARK: Finished

  /// Checks a finished download: all bytes must be durable, and `current` must name a version.
  func checkFinished(_ offer: ContentOffer, switching: Bool) {
    // Only the last process repairs earlier damage, and causes none.
    guard isHealing || !isDamaged(offer.contentIdentifier.rawValue, offer.version.rawValue)
    else { return }
    let least = disk.leastDurable()
    let name = offer.contentIdentifier.rawValue
    guard let home = products(on: least)?.names[name] else {
      return violate("a finished download is not durable", "\(name) has no durable folder")
    }
    guard let folder = home.names[offer.version.rawValue] else {
      return violate(
        "a finished download is not durable", "\(name) \(offer.version) has no durable folder")
    }
    if let problem = problem(of: folder, name, offer.version.rawValue) {
      return violate("a finished download is not durable", "\(name) \(offer.version): \(problem)")
    }
    guard let current = home.names["current"]?.target,
      let version = try? ContentVersion(validating: current),
      home.names[current]?.kind == .directory
    else { return violate("current does not name a finished download", "\(name) has no current") }
    if switching, !chosenByHand.contains(offer.contentIdentifier), version < offer.version {
      violate("current does not name a finished download", "\(name) \(offer.version): \(current)")
    }
    let key = ContentKey(offer.contentIdentifier, version: offer.version)
    if journal.tables.contents[key]?.isConfirmed != true {
      violate("a finished download is not in the journal", "\(name) \(offer.version)")
    }
  }

  // MARK: The end

  /// Checks the end: nothing is left over, and all purchases are finished.
  func checkEnd() {
    checkEverything("at the end")
    let tables = journal.tables
    if let left = tables.transactions.keys.sorted().first {
      violate("a transaction is left at the end", left.rawValue)
    }
    for (key, content) in tables.contents.sorted(by: { "\($0.key)" < "\($1.key)" }) {
      let home = products(on: disk)?.names[key.contentIdentifier.rawValue]
      if !content.isConfirmed {
        violate("an install was neither completed nor removed", "\(key)")
      } else if home?.names[content.content.version.rawValue]?.kind != .directory {
        violate("a journaled content is missing on disk", "\(key)")
      } else if home?.names["current"] == nil {
        violate("an installed content has no current version", "\(key)")
      }
    }
    for (name, home) in products(on: disk)?.names.sorted(by: { $0.key < $1.key }) ?? [] {
      for version in home.names.keys.sorted()
      where version != "current" && home.kind == .directory {
        let isKnown = tables.contents.values.contains {
          $0.content.contentIdentifier.rawValue == name && $0.content.version.rawValue == version
        }
        if !isKnown { violate("a content on disk is missing in the journal", "\(name) \(version)") }
      }
    }
    let staging = (Self.library + ["staging"]).reduce(disk.root) { $0?.names[$1] }
    let leftovers = Set(staging?.names.keys.map { $0 } ?? []).subtracting(["CACHEDIR.TAG"])
    if let leftover = leftovers.sorted().first {
      violate("staging is not empty at the end", leftover)
    }
  }
}
