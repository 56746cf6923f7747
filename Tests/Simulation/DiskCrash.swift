import HostedFileIO

/// The state of a disk after a crash.
extension SimulatedDisk {
  /// Returns one of the possible disks after a crash.
  ///
  /// `choices` selects it.
  ///
  /// Synced data exist. Each other change may have happened or not: all, none, the first ones, or
  /// any. The last write of a file may be torn, and pages of it may be missing.
  package func crashed(_ choices: Choices) -> SimulatedDisk {
    let names = survivingNames(choices)
    let image = DiskImage(of: self, names, choices)
    return image.disk
  }

  /// Returns the disk with only the durable state.
  package func leastDurable() -> SimulatedDisk {
    DiskImage(
      of: self, pendingNames.map { _ in false }, Choices(ChoiceKind.allCases.map { _ in [] })
    )
    .disk
  }

  private func survivingNames(_ choices: Choices) -> [Bool] {
    let count = pendingNames.count
    guard count > 0 else { return [] }
    // 0, the simplest choice, loses everything.
    switch isOrdered ? 1 + choices.pick(.disk, 2) : choices.pick(.disk, 4) {
    case 0: return Array(repeating: false, count: count)
    case 1:
      let length = choices.pick(.disk, count + 1)
      return (0..<count).map { $0 < length }
    case 2: return Array(repeating: true, count: count)
    default:
      var survives: [Bool] = []
      for (number, change) in pendingNames.enumerated() {
        let isPossible = !(0..<number).contains {
          !survives[$0] && change.depends(on: pendingNames[$0])
        }
        survives.append(isPossible && choices.pick(.disk, 2) == 1)
      }
      return survives
    }
  }
}

/// A copy of a disk as it is after a crash.
private struct DiskImage {
  let disk: SimulatedDisk
  private let choices: Choices
  private var copies: [ObjectIdentifier: DiskNode] = [:]
  /// The names of a folder after the crash that differ from the durable ones.
  private var changed: [ObjectIdentifier: [String: DiskNode?]] = [:]

  init(of old: SimulatedDisk, _ survives: [Bool], _ choices: Choices) {
    disk = SimulatedDisk(capacity: old.capacity, time: { old.now })
    disk.isOrdered = old.isOrdered
    disk.ignoresSyncs = old.ignoresSyncs
    disk.hasRenameFlags = old.hasRenameFlags
    self.choices = choices
    for (change, survives) in zip(old.pendingNames, survives) where survives {
      for place in change.places {
        changed[ObjectIdentifier(place.folder), default: [:]][place.name] = .some(place.node)
      }
    }
    copies[ObjectIdentifier(old.root)] = disk.root
    fill(disk.root, from: old.root)
  }

  private mutating func fill(_ copy: DiskNode, from old: DiskNode) {
    var names = old.durableNames
    for (name, node) in changed[ObjectIdentifier(old)] ?? [:] { names[name] = node }
    for (name, node) in names.sorted(by: { $0.key < $1.key }) {
      let child = self.copy(of: node)
      child.links += 1
      copy.names[name] = child
      copy.durableNames[name] = child
    }
  }

  private mutating func copy(of old: DiskNode) -> DiskNode {
    if let known = copies[ObjectIdentifier(old)] { return known }
    let copy = DiskNode(old.number, old.kind, mode: old.mode, time: old.modified)
    copies[ObjectIdentifier(old)] = copy
    copy.durable = state(of: old)
    copy.bytes = copy.durable.bytes
    copy.mode = copy.durable.mode
    copy.modified = copy.durable.modified
    copy.changed = copy.durable.changed
    copy.accessed = old.accessed
    disk.adopt(copy)
    if old.kind == .directory { fill(copy, from: old) }
    return copy
  }

  /// Returns the bytes of a file after the crash.
  private func state(of old: DiskNode) -> DiskNode.Durable {
    var state = old.durable
    guard !old.pending.isEmpty else {
      // Times need no sync to become durable or to be lost.
      if choices.pick(.disk, 2) == 1 {
        state.modified = old.modified
        state.changed = old.changed
      }
      return state
    }
    switch choices.pick(.disk, 5) {
    case 0: return state
    case 1:
      for change in old.pending { DiskNode.apply(change, to: &state) }
    case 2:
      for change in old.pending.prefix(choices.pick(.disk, old.pending.count)) {
        DiskNode.apply(change, to: &state)
      }
      tear(old.pending[choices.pick(.disk, old.pending.count)], &state)
    case 3:
      for change in old.pending where choices.pick(.disk, 2) == 1 {
        DiskNode.apply(change, to: &state)
      }
    default:
      for change in old.pending { applyPages(of: change, &state) }
    }
    if choices.pick(.disk, 2) == 1 {
      state.modified = old.modified
      state.changed = old.changed
    }
    return state
  }

  /// Applies the first part of a write.
  private func tear(_ change: DiskNode.DataChange, _ state: inout DiskNode.Durable) {
    guard case .write(let offset, let bytes) = change else { return }
    let count = choices.pick(.disk, bytes.count)
    DiskNode.apply(.write(offset: offset, bytes: Array(bytes[..<count])), to: &state)
  }

  /// Extends the file as the write does, with some of its pages.
  private func applyPages(of change: DiskNode.DataChange, _ state: inout DiskNode.Durable) {
    guard case .write(let offset, let bytes) = change else {
      return DiskNode.apply(change, to: &state)
    }
    if state.bytes.count < offset + bytes.count {
      DiskNode.resize(&state.bytes, to: offset + bytes.count)
    }
    for start in stride(from: 0, to: bytes.count, by: 4096) where choices.pick(.disk, 2) == 1 {
      let page = Array(bytes[start..<min(start + 4096, bytes.count)])
      DiskNode.apply(.write(offset: offset + start, bytes: page), to: &state)
    }
  }
}
