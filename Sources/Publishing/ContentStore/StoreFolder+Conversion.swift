import HostedFileIO

extension StoreFolder {
  /// The prefix of the names of folders in which archives are converted.
  private static let conversionName = ".repackaging"

  /// Runs `body` with a folder for converted packages, and removes it; with nil if not `needed`.
  func withConversionFolder<Value>(needed: Bool, _ body: (Directory?) throws -> Value) throws
    -> Value
  {
    guard needed else { return try body(nil) }
    if let rehearsal { return try rehearsal.fileSystem.withTemporaryDirectory { try body($0) } }
    // The store is locked, so these are of a killed publication.
    for entry in try folder.entries() where entry.name.hasPrefix("\(Self.conversionName)-") {
      try folder.removeTree(entry)
    }
    return try folder.withTemporaryDirectory(Self.conversionName) { try body($0) }
  }
}
