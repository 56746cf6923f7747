import FileIO

extension StoreFolder {
  /// The prefix of the names of folders in which archives are converted.
  static let conversionName = ".repackaging"

  /// Runs `body` with a folder for converted packages, and removes it.
  func withConversionFolder<Value>(_ body: (Directory) throws -> Value) throws -> Value {
    if let rehearsal { return try rehearsal.fileSystem.withTemporaryDirectory(body) }
    try removeConversions()
    return try folder.withTemporaryDirectory(Self.conversionName, body)
  }

  /// Removes the conversion folders of a killed publication; the store must be locked.
  private func removeConversions() throws {
    for entry in try folder.entries() where entry.name.hasPrefix("\(Self.conversionName)-") {
      try folder.removeTree(entry)
    }
  }
}
