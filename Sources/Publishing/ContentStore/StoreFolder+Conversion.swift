import FileIO

extension StoreFolder {
  /// The prefix of the names of folders in which archives are converted.
  static let conversionName = ".repackaging"

  /// Removes the conversion folders of a killed publication.
  ///
  /// The store must be locked.
  func removeConversions() throws {
    for entry in try folder.entries() where entry.name.hasPrefix("\(Self.conversionName)-") {
      try folder.removeTree(entry)
    }
  }
}
