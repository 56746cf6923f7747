import ContentModel
import ContentTrust
import FoundationEssentials

/// Which files of a store no catalog of the last days refers to.
///
/// Pure: decides by a listing and by the catalogs that are kept.
struct PrunePlan {
  /// Snapshots that are not kept.
  private(set) var snapshots: [StoreFile] = []
  /// Targets metadata that no kept catalog lists.
  private(set) var targetsMetadata: [StoreFile] = []
  /// Archives, indexes and records that no kept catalog lists.
  private(set) var targetFiles: [StoreFile] = []
  /// Files that are not a store's, by name or signature; they are not removed.
  private(set) var unknown: [String] = []

  /// The catalogs that clients may use, and what they refer to.
  struct Kept {
    /// The version of the current snapshot.
    let snapshot: Int64
    /// The version of the current targets.
    let targets: Int64
    /// The catalogs to keep.
    let catalogs: [CatalogVersion]
    /// The other catalogs.
    let others: [CatalogVersion]
    /// The paths of snapshots that the store's keys have not signed.
    let foreign: Set<String>
    /// The paths of all files that kept catalogs list; nil if that is unknown.
    ///
    /// Then no file of `targets` is removed.
    let references: Set<String>?
    /// Files that were written at this time or later are not removed: they may be the files of a
    /// catalog that is uploaded next.
    let start: Date
  }

  /// Plans for the files of `survey`.
  ///
  /// `isSigned` tells for targets metadata that no snapshot lists, such as from an interrupted
  /// publication, whether the store's keys have signed it.
  init(
    _ survey: StoreSurvey, _ kept: Kept, isSigned: (_ targets: Int64) throws -> Bool
  ) rethrows {
    unknown = survey.others
    let known = Set(kept.catalogs.map(\.snapshot))
    let listed = Set(kept.catalogs.map(\.targets.version))
    var former: [Int64: Int64] = [:]
    for catalog in kept.others { former[catalog.targets.version] = catalog.targets.length }
    for file in survey.metadata {
      if let version = MetadataDocument.version(.snapshot, in: file.name) {
        if kept.foreign.contains(file.path) {
          unknown.append(file.path)
        } else if version < kept.snapshot, !known.contains(version) {
          snapshots.append(file)
        }
      } else if let version = MetadataDocument.version(.targets, in: file.name) {
        guard version < kept.targets, !listed.contains(version) else { continue }
        if former[version] == file.bytes {
          targetsMetadata.append(file)
        } else if file.modified < kept.start.timeIntervalSince1970 {
          if try isSigned(version) {
            targetsMetadata.append(file)
          } else {
            unknown.append(file.path)
          }
        }
      } else if MetadataDocument.version(.root, in: file.name) == nil,
        file.name != RoleName.timestamp.fileName
      {
        unknown.append(file.path)
      }
    }
    for file in survey.targets {
      if kept.references?.contains(file.path) == true { continue }
      if !StoreSurvey.isTarget(file.path) {
        unknown.append(file.path)
      } else if kept.references != nil, file.modified < kept.start.timeIntervalSince1970 {
        targetFiles.append(file)
      }
    }
    unknown.sort()
  }

  /// All files to remove, in the order of removal.
  ///
  /// Snapshots first: a crash then leaves files that no catalog refers to, and no catalog without
  /// its files, from which a repair could continue.
  var files: [StoreFile] { snapshots + targetsMetadata + targetFiles }
}
