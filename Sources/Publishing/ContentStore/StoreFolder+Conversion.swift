import FileIO

extension StoreFolder {
  /// The prefix of the names of folders in which archives are converted.
  private static let conversionName = ".repackaging"

  /// Runs `body` with a folder for converted packages, and removes it.
  func withConversionFolder<Value>(_ body: (Directory) throws -> Value) throws -> Value {
    if let rehearsal { return try rehearsal.fileSystem.withTemporaryDirectory(body) }
    // The store is locked, so these are of a killed publication.
    for entry in try folder.entries() where entry.name.hasPrefix("\(Self.conversionName)-") {
      try folder.removeTree(entry)
    }
    return try folder.withTemporaryDirectory(Self.conversionName, body)
  }
}
