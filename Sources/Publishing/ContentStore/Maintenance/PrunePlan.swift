import HostedModel
import HostedTrust
import FoundationEssentials

/// Which files of a store no catalog of the last days refers to.
///
/// Pure: decides by a listing and by the catalogs that are kept.
struct PrunePlan {
  /// The files of metadata to remove, in groups in the order of removal.
  ///
  /// A file is removed after all files that list it. A crash then leaves files that no catalog
  /// refers to, and no catalog without its files, from which a repair could continue.
  let metadata: [[StoreFile]]
  /// Archives, indexes, records and entries of contents that no kept catalog refers to.
  let targetFiles: [StoreFile]
  /// Files that are not a store's, by name or signature; they are not removed.
  let unknown: [String]
  /// Why no records file and no file of `targets` is removed; nil if they can be.
  let obstacle: String?

  /// The catalogs that clients may use, and what they refer to.
  struct Kept {
    /// The version of the current snapshot.
    let snapshot: Int64
    /// The version of the current targets.
    let targets: Int64
    let catalogs: [CatalogVersion]
    let others: [CatalogVersion]
    /// The paths of snapshots that the store's keys have not signed.
    let foreign: Set<String>
    /// The paths of the bins that kept catalogs use.
    let bins: Set<String>
    /// The paths of all records files and files of `targets` that kept catalogs refer to; nil if
    /// unknown: then none of these files is removed.
    let references: Set<String>?
    /// Files that were written at this time or later are not removed: they may be the files of a
    /// catalog that is uploaded next.
    let start: Date

    fileprivate func isOld(_ file: StoreFile) -> Bool { file.modified < start }

    fileprivate func isUnused(_ file: StoreFile) -> Bool {
      references?.contains(file.path) == false && isOld(file)
    }
  }

  /// Plans for the files of `survey`.
  ///
  /// `isSigned` tells whether the store's keys have signed a version of targets metadata or of a
  /// bin. It is called for bins, and for targets metadata that no snapshot lists, such as from an
  /// interrupted publication.
  init(
    _ survey: StoreSurvey, _ kept: Kept, obstacle: String? = nil,
    isSigned: (_ role: MetadataName, _ version: Int64) throws -> Bool
  ) rethrows {
    var (snapshots, targets, bins): ([StoreFile], [StoreFile], [StoreFile]) = ([], [], [])
    var (recordsFiles, targetFiles): ([StoreFile], [StoreFile]) = ([], [])
    var unknown = survey.others
    let keptSnapshots = Set(kept.catalogs.map(\.snapshot))
    let keptTargets = Set(kept.catalogs.map(\.targets.version))
    // The lengths of targets metadata that other snapshots list.
    var former: [Int64: Int64] = [:]
    for catalog in kept.others { former[catalog.targets.version] = catalog.targets.length }
    for file in survey.metadata {
      if let version = MetadataDocument.version(.snapshot, in: file.name) {
        if kept.foreign.contains(file.path) {
          unknown.append(file.path)
        } else if version < kept.snapshot, !keptSnapshots.contains(version) {
          snapshots.append(file)
        }
      } else if let version = MetadataDocument.version(.targets, in: file.name) {
        guard version < kept.targets, !keptTargets.contains(version) else { continue }
        let isFormer = former[version] == file.bytes
        guard isFormer || kept.isOld(file) else { continue }
        let isOurs = try isFormer || isSigned(.targets, version)
        if isOurs { targets.append(file) } else { unknown.append(file.path) }
      } else if let (bin, version) = MetadataDocument.bin(in: file.name) {
        // The version of a bin is the number of the first snapshot that lists it.
        guard version < kept.snapshot, !kept.bins.contains(file.path), kept.isOld(file)
        else { continue }
        if try isSigned(bin, version) { bins.append(file) } else { unknown.append(file.path) }
      } else if RecordsFile.digest(inName: file.name) != nil {
        // Known by its name, like the files of `targets`: none of them has a signature.
        if kept.isUnused(file) { recordsFiles.append(file) }
      } else if MetadataDocument.version(.root, in: file.name) == nil,
        file.name != RoleName.timestamp.fileName
      {
        unknown.append(file.path)
      }
    }
    for file in survey.targets where kept.references?.contains(file.path) != true {
      if !StoreSurvey.isTarget(file.path) {
        unknown.append(file.path)
      } else if kept.isUnused(file) {
        targetFiles.append(file)
      }
    }
    metadata = [snapshots, targets, bins, recordsFiles]
    self.targetFiles = targetFiles
    self.unknown = unknown.sorted()
    self.obstacle = obstacle
  }

  /// All files to remove, in the order of removal.
  var files: [StoreFile] { metadata.flatMap { $0 } + targetFiles }
}
