package import FileIO
import Glibc

/// A disk in memory that keeps what is seen apart from what is durable.
///
/// After POSIX and ext4: `fsync` of a file makes its bytes durable and not its name, `fsync` of a
/// folder makes its names durable, `syncfs` everything; a rename is atomic, and durable once either
/// folder is synced. What was not synced may survive a crash or not, in any order that the rules
/// allow. A failed sync may lose pages for good. Numbers of removed files are given out again, and
/// times are as coarse as a kernel's ticks, so that a file's identity says as little as it does in
/// reality.
// Sendable, because only the thread that has the baton touches it.
package final class SimulatedDisk: @unchecked Sendable {
  let root: DiskNode
  /// Bytes that fit, and those that somebody else takes.
  package var capacity: Int64
  package var foreignBytes: Int64 = 0
  private(set) var usedBytes: Int64 = 0
  var pendingNames: [NameChange] = []
  /// Whether the names of all folders become durable in the order of the changes, as in ext4.
  package var isOrdered = false
  /// Whether `renameat2` knows its flags; the call fails with EINVAL otherwise.
  package var hasRenameFlags = true
  /// Syncs that a lying disk does not carry out, for tests of what notices that.
  package var ignoresSyncs: Set<DiskCall> = []

  private var nodes: [UInt64: DiskNode] = [:]
  private var nextNumber: UInt64 = 2
  private var freeNumbers: [UInt64] = []
  private var descriptors: [Int32: Open] = [:]
  private var nextDescriptor: Int32 = 3
  private var time: () -> Int64
  /// How often pages could not be written.
  private var failures = 0
  /// Asked before each call, and told after one that changed something.
  package weak var director: (any DiskDirector)?

  struct Open {
    let node: DiskNode
    let path: String
    var position = 0
    /// Failures to write pages that `syncfs` on it does not tell any more.
    var toldFailures: Int
  }

  /// What a node takes beside its bytes.
  private static let nodeSize: Int64 = 256
  /// Nanoseconds of a kernel's tick.
  private static let tick: Int64 = 4_000_000

  /// `time` says nanoseconds since 1970.
  package init(capacity: Int64 = 1 << 40, time: @escaping () -> Int64 = { 0 }) {
    self.capacity = capacity
    self.time = time
    root = DiskNode(1, .directory, mode: 0o755, time: 0)
    root.links = 1
    nodes[1] = root
  }

  /// The disk as a file system.
  package var fileSystem: FileSystem { FileSystem(calls: self) }

  var now: Int64 { time() / Self.tick * Self.tick }

  var availableBytes: Int64 { max(0, capacity - foreignBytes - usedBytes) }

  // MARK: Descriptors

  func opened(_ descriptor: Int32) -> Open? { descriptors[descriptor] }

  func describe(_ node: DiskNode, _ path: String) -> Int32 {
    let number = nextDescriptor
    nextDescriptor += 1
    node.openCount += 1
    descriptors[number] = Open(node: node, path: path, toldFailures: failures)
    return number
  }

  func move(_ descriptor: Int32, to position: Int) { descriptors[descriptor]?.position = position }

  func forget(_ descriptor: Int32) {
    guard let open = descriptors.removeValue(forKey: descriptor) else { return }
    open.node.locks[descriptor] = nil
    open.node.openCount -= 1
    release(open.node)
  }

  /// What the kernel does when a process ends.
  func closeAll() { for descriptor in descriptors.keys.sorted() { forget(descriptor) } }

  /// Notes that pages could not be written.
  func noteFailure() { failures += 1 }

  /// Whether pages could not be written since it was told on `descriptor`, or since that was
  /// opened.
  func tellsFailure(on descriptor: Int32) -> Bool {
    guard let told = descriptors[descriptor]?.toldFailures, told < failures else { return false }
    descriptors[descriptor]?.toldFailures = failures
    return true
  }

  /// Whether a file that can be found has lost pages.
  var hasLostPages: Bool { nodes.values.contains { $0.hasLostPages && $0.links > 0 } }

  package var openDescriptors: Int { descriptors.count }

  // MARK: Nodes

  func make(_ kind: FileKind, mode: UInt32) -> DiskNode {
    let number = freeNumber()
    let node = DiskNode(number, kind, mode: mode, time: now)
    nodes[number] = node
    usedBytes += Self.nodeSize
    return node
  }

  /// Takes over a node that a crash has left.
  func adopt(_ node: DiskNode) {
    nodes[node.number] = node
    usedBytes += Self.nodeSize + Int64(node.kind == .file ? node.bytes.count : 0)
    nextNumber = max(nextNumber, node.number + 1)
  }

  /// The lowest number that is not in use, nor in what may still be on the disk.
  private func freeNumber() -> UInt64 {
    if let index = freeNumbers.firstIndex(where: { !isRemembered($0) }) {
      return freeNumbers.remove(at: index)
    }
    defer { nextNumber += 1 }
    return nextNumber
  }

  private func isRemembered(_ number: UInt64) -> Bool {
    pendingNames.contains { change in
      change.places.contains { place in
        place.node?.number == number || place.folder.number == number
          || place.folder.durableNames[place.name]?.number == number
      }
    }
  }

  func resized(_ node: DiskNode, by bytes: Int) { usedBytes += Int64(bytes) }

  /// Frees a node that has neither a name nor a descriptor.
  func release(_ node: DiskNode) {
    guard node.links == 0, node.openCount == 0, nodes[node.number] === node else { return }
    nodes[node.number] = nil
    usedBytes -= Self.nodeSize + Int64(node.kind == .file ? node.bytes.count : 0)
    freeNumbers.append(node.number)
    freeNumbers.sort()
  }

  // MARK: Names

  /// Changes names at once for everybody, and durably later.
  func change(_ places: [NameChange.Place]) {
    var old: [DiskNode] = []
    for place in places {
      if let node = place.folder.names[place.name] { old.append(node) }
      place.node?.links += 1
      place.folder.names[place.name] = place.node
      place.folder.modified = now
      place.folder.changed = now
      place.node?.changed = now
    }
    for node in old {
      node.links -= 1
      node.changed = now
      release(node)
    }
    pendingNames.append(NameChange(places: places))
  }

  /// Makes the names in `folder` durable, and the changes without which they could not be.
  func syncNames(of folder: DiskNode) {
    var needed: [NameChange] = []
    var left: [NameChange] = []
    for change in pendingNames.reversed() {
      let isOwn = change.places.contains { $0.folder === folder }
      if isOwn || needed.contains(where: { $0.depends(on: change) })
        || (isOrdered && !needed.isEmpty)
      {
        needed.append(change)
      } else {
        left.append(change)
      }
    }
    for change in needed.reversed() { change.apply() }
    pendingNames = left.reversed()
  }

  func syncEverything() {
    for change in pendingNames { change.apply() }
    pendingNames = []
    for node in nodes.values { node.syncData() }
  }

  /// Files with bytes that are not durable, in the order of their numbers.
  var dirtyFiles: [DiskNode] {
    nodes.values.filter { !$0.pending.isEmpty }.sorted { $0.number < $1.number }
  }
}

/// Decides what goes wrong on a simulated disk.
package protocol DiskDirector: AnyObject {
  /// Called before each call; what it returns is what happens instead.
  func willCall(_ call: DiskCall, _ path: String) -> DiskFault?
  /// Called after names or bytes have changed.
  func didChange(_ call: DiskCall, _ path: String)
  /// Whether a failed sync loses the pages of a file.
  func losesPages() -> Bool
  /// Called when a sync of the whole disk has failed.
  func didFailToSync()
}

extension DiskDirector {
  package func didChange(_ call: DiskCall, _ path: String) {}
  package func losesPages() -> Bool { false }
  package func didFailToSync() {}
}

/// What a call does instead of its work.
package enum DiskFault: Hashable, Sendable {
  /// It fails with this number.
  case fails(Int32)
  /// It reads or writes less than it was asked to.
  case isShort
}

/// The calls of a disk.
package enum DiskCall: String, CaseIterable, Hashable, Sendable {
  case open, create, stat, statvfs, list, readlink, mkdir, symlink, link, rename, unlink, read,
    write
  case truncate, chmod, setxattr, syncFile = "fsync file", syncFolder = "fsync folder", syncfs,
    flock
}
