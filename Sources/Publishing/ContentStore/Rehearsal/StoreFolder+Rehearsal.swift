import HostedFileIO

extension StoreFolder {
  /// Runs `change` on a copy of this store that writes nothing, and returns what it would do.
  ///
  /// ```swift
  /// let rehearsal = try store.rehearse { try $0.publish(packages) }
  /// for file in rehearsal.files { print(file.path, file.bytes) }
  /// ```
  ///
  /// The copy can `publish`, `add`, `retire`, `refresh` and `rotate`, and throws what these would
  /// throw: for missing keys, invalid packages, missing permission, or too little free space before
  /// the first write. Each change starts from the store as it is. Nothing is written, no file mode
  /// changes, and no version number is reserved. New keys are only in memory. Only `repackaging`
  /// writes: it converts in a temporary folder outside of the store, which is removed. The copy
  /// does not lock the store, but throws `storeLocked` if another process is publishing. What
  /// `prune` would remove is in `prunableFiles(keepDays:now:)`.
  public func rehearse(_ change: (StoreFolder) throws -> Void) throws -> StoreRehearsal {
    let recorder = RehearsalRecorder(folder)
    let copy = try StoreFolder(
      at: folder.path, options, creating: false, restored: isRestored, rehearsal: recorder,
      folder.fileSystem.readOnly())
    try change(copy)
    return recorder.result
  }
}
