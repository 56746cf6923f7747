import ContentModel
import FileIO
import Glibc

/// What must hold of the library on a simulated disk.
extension World {
  private static let library = ["srv", "library"]

  /// The folder of the library's products, as it is seen.
  private func products(on disk: SimulatedDisk) -> DiskNode? {
    (Self.library + ["products"]).reduce(disk.root) { $0?.names[$1] }
  }

  /// After a change below `products`: that content is old or new, never half.
  func checkVisible(_ path: String) {
    let prefix = "\(Self.libraryPath)/products/"
    guard path.hasPrefix(prefix), let products = products(on: disk),
      let name = path.dropFirst(prefix.count).split(separator: "/").first.map(String.init),
      let home = products.names[name], home.kind == .directory
    else { return }
    check(name, home, "on the disk as it is seen")
  }

  /// Everything that is on the disk, as a start would find it.
  func checkEverything(_ place: String) {
    if let neighbor = disk.root.names["srv"]?.names["neighbor"],
      neighbor.bytes != Array("not ours".utf8) || neighbor.links != 1
    {
      violate("something outside the library was touched", "the neighbor's file, \(place)")
    }
    if Set(disk.root.names.keys) != ["srv"]
      || !Set(disk.root.names["srv"]?.names.keys.map { $0 } ?? []).isSubset(of: [
        "neighbor", "library",
      ])
    {
      violate("something outside the library was touched", "new names, \(place)")
    }
    guard let products = products(on: disk) else { return }
    for (name, home) in products.names.sorted(by: { $0.key < $1.key }) where home.kind == .directory
    {
      check(name, home, place)
    }
  }

  /// Each version of a content is whole, and `current` names one of them.
  private func check(_ name: String, _ home: DiskNode, _ place: String) {
    for (entry, node) in home.names.sorted(by: { $0.key < $1.key }) {
      switch (entry, node.kind) {
      case ("current", .link):
        if home.names[node.target]?.kind != .directory {
          violate("current names no version", "\(name): \(node.target), \(place)")
        }
      case (".current.new", .link): break
      case (_, .directory):
        if isDamaged(name, entry) { continue }
        if let problem = problem(of: node, name, entry) {
          violate("a version in its place is not whole", "\(name) \(entry): \(problem), \(place)")
        }
      default: violate("a stranger among the versions", "\(name)/\(entry), \(place)")
      }
    }
  }

  private func isDamaged(_ content: String, _ version: String) -> Bool {
    damaged.contains {
      $0.contentIdentifier.rawValue == content && $0.version.rawValue == version
    }
  }

  /// Somebody removes a file of an installed version; at once durable.
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

  /// What is wrong with a version's folder; nil for nothing.
  private func problem(of folder: DiskNode, _ content: String, _ version: String) -> String? {
    guard let identifier = try? ProductIdentifier(validating: content),
      let version = try? ContentVersion(validating: version),
      let tree = store.trees[ContentKey(identifier, version)]
    else { return "the store has no such version" }
    var found = 0
    for (path, bytes) in tree.entries {
      let node = path.split(separator: "/").reduce(folder) { $0?.names[String($1)] }
      guard let node else { return "\(path) is missing" }
      found += 1
      guard let bytes else {
        if node.kind != .directory { return "\(path) is no folder" }
        continue
      }
      guard node.kind == .file else { return "\(path) is no file" }
      if !Self.areEqual(node.bytes, bytes) {
        return "\(path) has \(node.bytes.count) bytes, not the \(bytes.count) that are right"
      }
      if node.mode & 0o222 != 0 { return "\(path) is writable" }
    }
    let count = Self.count(folder)
    return count == found ? nil : "\(count) entries instead of \(found)"
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

  /// When a download is reported as finished: every byte is durable, and `current` names a version.
  func checkFinished(_ offer: ContentOffer, switching: Bool) {
    // The last start finds what was damaged before, and nothing is damaged after it.
    guard isHealing || !isDamaged(offer.contentIdentifier.rawValue, offer.version.rawValue)
    else { return }
    let least = disk.leastDurable()
    let name = offer.contentIdentifier.rawValue
    guard let home = products(on: least)?.names[name] else {
      return violate("finished, and not durable", "\(name) has no durable folder")
    }
    guard let folder = home.names[offer.version.rawValue] else {
      return violate("finished, and not durable", "\(name) \(offer.version) has no durable folder")
    }
    if let problem = problem(of: folder, name, offer.version.rawValue) {
      return violate("finished, and not durable", "\(name) \(offer.version): \(problem)")
    }
    guard let current = home.names["current"]?.target,
      let version = try? ContentVersion(validating: current),
      home.names[current]?.kind == .directory
    else { return violate("finished, and current does not name it", "\(name) has no current") }
    if switching, !chosenByHand.contains(offer.contentIdentifier), version < offer.version {
      violate("finished, and current does not name it", "\(name) \(offer.version): \(current)")
    }
    let key = ContentKey(offer.contentIdentifier, offer.version)
    if journal.tables.contents[key]?.isConfirmed != true {
      violate("finished, and not in the journal", "\(name) \(offer.version)")
    }
  }

  // MARK: The end

  /// When everything has come to its end: nothing is left over, and all that was bought was
  /// finished.
  func checkEnd() {
    checkEverything("at the end")
    let tables = journal.tables
    if let left = tables.transactions.keys.sorted().first {
      violate("a transaction is left", left)
    }
    for (key, content) in tables.contents.sorted(by: { "\($0.key)" < "\($1.key)" }) {
      let home = products(on: disk)?.names[key.contentIdentifier.rawValue]
      if !content.isConfirmed {
        violate("an install is neither done nor forgotten", "\(key)")
      } else if home?.names[content.content.version.rawValue]?.kind != .directory {
        violate("the journal has what the disk has not", "\(key)")
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
        if !isKnown { violate("the disk has what the journal has not", "\(name) \(version)") }
      }
    }
    let staging = (Self.library + ["staging"]).reduce(disk.root) { $0?.names[$1] }
    let leftovers = Set(staging?.names.keys.map { $0 } ?? []).subtracting(["CACHEDIR.TAG"])
    if let leftover = leftovers.sorted().first {
      violate("staging is left over", leftover)
    }
  }
}
