import HostedFileIO
import Glibc

/// A file, folder or link of a simulated disk, with its visible and its durable state.
// Sendable, because only the scheduled thread uses a disk.
final class DiskNode: @unchecked Sendable {
  let number: UInt64
  let kind: FileKind

  // The visible state.
  var mode: UInt32
  var bytes: [UInt8] = []
  var names: [String: DiskNode] = [:]
  var modified: Int64
  var changed: Int64
  var accessed: Int64
  /// Whether pages were lost that can still be read.
  var hasLostPages = false
  /// The number of its names, and of open descriptors.
  var links = 0
  var openCount = 0
  /// The locks by descriptor, and whether they are exclusive.
  var locks: [Int32: Bool] = [:]

  /// The state that survives a crash.
  var durable: Durable
  var durableNames: [String: DiskNode] = [:]
  /// The changes of the file since its last sync, in order.
  var pending: [DataChange] = []

  /// The durable state of a file.
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
  /// Changes are applied one by one instead of copying the visible state, so that the data of a
  /// failed sync stay lost.
  func syncData() {
    for change in pending { Self.apply(change, to: &durable) }
    pending = []
    durable.modified = modified
    durable.changed = changed
  }

  /// Handles a failed sync: the kernel marks the pages clean, and later syncs do not write them.
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

/// A change of names that is not durable yet.
///
/// It is atomic, even for two folders.
struct NameChange {
  /// A name and its new node, or nil for a removal.
  struct Place {
    let folder: DiskNode
    let name: String
    let node: DiskNode?

    func isSame(as other: Place) -> Bool { folder === other.folder && name == other.name }
  }

  let places: [Place]

  /// Whether it cannot become durable without `earlier`, or the reverse.
  func depends(on earlier: NameChange) -> Bool {
    places.contains { place in earlier.places.contains { $0.isSame(as: place) } }
  }

  func apply() {
    for place in places { place.folder.durableNames[place.name] = place.node }
  }
}
