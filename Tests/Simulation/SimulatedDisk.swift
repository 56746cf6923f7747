package import HostedFileIO
import Glibc

/// A disk in memory with separate visible and durable states.
///
/// It follows POSIX and ext4. `fsync` of a file makes its bytes durable, but not its name. `fsync`
/// of a folder makes its names durable, and `syncfs` makes everything durable. A rename is atomic,
/// and durable after a sync of either folder. Changes that were not synced may survive a crash or
/// not, in any order that the rules allow. A failed sync may lose pages permanently. The numbers of
/// removed files are reused, and times are as coarse as a kernel's ticks, so a file's identity is
/// not more unique than in reality.
// Sendable, because only the scheduled thread uses it.
package final class SimulatedDisk: @unchecked Sendable {
  let root: DiskNode
  /// The capacity in bytes, and the bytes that other programs use.
  package var capacity: Int64
  package var foreignBytes: Int64 = 0
  private(set) var usedBytes: Int64 = 0
  var pendingNames: [NameChange] = []
  /// Whether names in all folders become durable in the order of the changes, as in ext4.
  package var isOrdered = false
  /// Whether `renameat2` supports its flags.
  ///
  /// If not, the call fails with EINVAL.
  package var hasRenameFlags = true
  /// The syncs that the disk ignores, to test that this is detected.
  package var ignoresSyncs: Set<DiskCall> = []

  private var nodes: [UInt64: DiskNode] = [:]
  private var nextNumber: UInt64 = 2
  private var freeNumbers: [UInt64] = []
  private var descriptors: [Int32: Open] = [:]
  private var nextDescriptor: Int32 = 3
  private var time: () -> Int64
  /// The number of failed page writes.
  private var failures = 0
  /// Called before each call, and after each change.
  package weak var director: (any DiskDirector)?

  struct Open {
    let node: DiskNode
    let path: String
    var position = 0
    /// The number of failed page writes that `syncfs` on it has reported.
    var toldFailures: Int
  }

  /// The size of a node without its bytes.
  private static let nodeSize: Int64 = 256
  /// The length of a kernel's tick in nanoseconds.
  private static let tick: Int64 = 4_000_000

  /// Creates an empty disk.
  ///
  /// `time` returns nanoseconds since 1970.
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

  /// Closes all descriptors, as the kernel does when a process ends.
  func closeAll() { for descriptor in descriptors.keys.sorted() { forget(descriptor) } }

  /// Records a failed page write.
  func noteFailure() { failures += 1 }

  /// Returns whether a page write has failed since the last report on `descriptor`, or its opening.
  func tellsFailure(on descriptor: Int32) -> Bool {
    guard let told = descriptors[descriptor]?.toldFailures, told < failures else { return false }
    descriptors[descriptor]?.toldFailures = failures
    return true
  }

  /// Whether a file with a name has lost pages.
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

  /// Adds a node that a crash has left.
  func adopt(_ node: DiskNode) {
    nodes[node.number] = node
    usedBytes += Self.nodeSize + Int64(node.kind == .file ? node.bytes.count : 0)
    nextNumber = max(nextNumber, node.number + 1)
  }

  /// Returns the lowest number that is unused, now and in all states that may be on disk.
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

  /// Frees a node without names and descriptors.
  func release(_ node: DiskNode) {
    guard node.links == 0, node.openCount == 0, nodes[node.number] === node else { return }
    nodes[node.number] = nil
    usedBytes -= Self.nodeSize + Int64(node.kind == .file ? node.bytes.count : 0)
    freeNumbers.append(node.number)
    freeNumbers.sort()
  }

  // MARK: Names

  /// Changes names visibly now, and durably later.
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

  /// Makes the names in `folder` durable, with the changes that they depend on.
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

  /// The files with bytes that are not durable, sorted by number.
  var dirtyFiles: [DiskNode] {
    nodes.values.filter { !$0.pending.isEmpty }.sorted { $0.number < $1.number }
  }
}

/// Decides which faults occur on a simulated disk.
package protocol DiskDirector: AnyObject {
  /// Called before each call.
  ///
  /// A returned fault replaces the call.
  func willCall(_ call: DiskCall, _ path: String) -> DiskFault?
  /// Called after a change of names or bytes.
  func didChange(_ call: DiskCall, _ path: String)
  /// Returns whether a failed sync loses the pages of a file.
  func losesPages() -> Bool
  /// Called after a failed sync of the whole disk.
  func didFailToSync()
}

extension DiskDirector {
  package func didChange(_ call: DiskCall, _ path: String) {}
  package func losesPages() -> Bool { false }
  package func didFailToSync() {}
}

/// What a call does instead of its work.
package enum DiskFault: Hashable, Sendable {
  /// The call fails with this error number.
  case fails(Int32)
  /// The call reads or writes less than requested.
  case isShort
}

/// The calls of a disk.
package enum DiskCall: String, CaseIterable, Hashable, Sendable {
  case open, create, stat, statvfs, list, readlink, mkdir, symlink, link, rename, unlink, read,
    write
  case truncate, chmod, setxattr, syncFile = "fsync file", syncFolder = "fsync folder", syncfs,
    flock
}
