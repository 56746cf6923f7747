import FileIO

extension StoreFolder {
  /// How the names of folders begin in which archives are converted.
  static let conversionName = ".repackaging"

  /// Removes what a killed publication has converted; while the store is locked.
  func removeConversions() throws {
    for entry in try folder.entries() where entry.name.hasPrefix("\(Self.conversionName)-") {
      try folder.removeTree(entry)
    }
  }
}
