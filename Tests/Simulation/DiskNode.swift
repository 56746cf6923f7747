import FileIO
import Glibc

/// A file, folder or link of a simulated disk: what is seen, and what of it is durable.
// Sendable, because only the thread that has the baton touches a disk.
final class DiskNode: @unchecked Sendable {
  let number: UInt64
  let kind: FileKind

  // What is seen.
  var mode: UInt32
  var bytes: [UInt8] = []
  var names: [String: DiskNode] = [:]
  var modified: Int64
  var changed: Int64
  var accessed: Int64
  /// Whether pages were lost, which can still be read.
  var hasLostPages = false
  /// Names that it has, and descriptors that are open.
  var links = 0
  var openCount = 0
  /// Locks of open descriptors: by descriptor, and whether it has it alone.
  var locks: [Int32: Bool] = [:]

  /// What survives a crash for sure.
  var durable: Durable
  var durableNames: [String: DiskNode] = [:]
  /// Changes of the file since it was last synced, in order.
  var pending: [DataChange] = []

  /// The durable part of a file.
  struct Durable {
    var bytes: [UInt8] = []
    var mode: UInt32
    var modified: Int64
    var changed: Int64
  }

  /// A change of a file that is not durable yet.
  enum DataChange {
    case write(offset: Int, bytes: [UInt8])
    case truncate(Int)
    case mode(UInt32)
  }

  init(_ number: UInt64, _ kind: FileKind, mode: UInt32, time: Int64) {
    self.number = number
    self.kind = kind
    self.mode = mode
    modified = time
    changed = time
    accessed = time
    durable = Durable(mode: mode, modified: time, changed: time)
  }

  /// The text of a link.
  var target: String { String(decoding: bytes, as: UTF8.self) }

  /// Whether `other` is this folder or below it.
  func holds(_ other: DiskNode) -> Bool {
    self === other || names.values.contains { $0.kind == .directory && $0.holds(other) }
  }

  /// Makes the file's changes durable.
  ///
  /// They are applied one by one, not taken from what is seen: what a failed sync has lost stays
  /// lost.
  func syncData() {
    for change in pending { Self.apply(change, to: &durable) }
    pending = []
    durable.modified = modified
    durable.changed = changed
  }

  /// A sync failed: the kernel takes the pages for clean, and no later sync writes them.
  func loseData() {
    guard !pending.isEmpty else { return }
    pending = []
    hasLostPages = true
  }

  static func apply(_ change: DataChange, to state: inout Durable) {
    switch change {
    case .write(let offset, let bytes): write(bytes, at: offset, to: &state.bytes)
    case .truncate(let length): resize(&state.bytes, to: length)
    case .mode(let mode): state.mode = mode
    }
  }

  static func write(_ new: some Collection<UInt8>, at offset: Int, to bytes: inout [UInt8]) {
    if offset == bytes.count { return bytes.append(contentsOf: new) }
    if bytes.count < offset + new.count { resize(&bytes, to: offset + new.count) }
    bytes.withUnsafeMutableBytes { buffer in
      UnsafeMutableRawBufferPointer(rebasing: buffer[offset...]).copyBytes(from: new)
    }
  }

  static func resize(_ bytes: inout [UInt8], to length: Int) {
    if length <= bytes.count {
      bytes.removeLast(bytes.count - length)
    } else {
      bytes.append(contentsOf: repeatElement(0, count: length - bytes.count))
    }
  }
}

/// A change of names that is not durable yet: atomic, also where it concerns two folders.
struct NameChange {
  /// What a name is to mean; nil for nothing.
  struct Place {
    let folder: DiskNode
    let name: String
    let node: DiskNode?

    func isSame(as other: Place) -> Bool { folder === other.folder && name == other.name }
  }

  let places: [Place]

  /// Whether it cannot be there without `earlier`, or the other way round.
  func depends(on earlier: NameChange) -> Bool {
    places.contains { place in earlier.places.contains { $0.isSame(as: place) } }
  }

  func apply() {
    for place in places { place.folder.durableNames[place.name] = place.node }
  }
}
