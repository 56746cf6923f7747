import HostedModel
import HostedTrust
import FoundationEssentials

/// What the current catalog lists, compared with a listing of the store's files.
struct CatalogSurvey {
  /// The products whose records can be read.
  private(set) var products: [StoredProduct] = []
  /// An error for each other product.
  private(set) var errors: [ContentError] = []
  /// The length of the listed files, by kind.
  private(set) var bytes: [ListedFile.Kind: Int64] = [:]
  /// The paths of required files that do not exist or have another length.
  private(set) var missingFiles: [String] = []
  private(set) var expires: [MetadataName: Date] = [:]
  /// The length of each file of the store, by path.
  private let lengths: [String: Int64]
  private let isConsistent: Bool

  /// Compares with `survey`; with `consistent`, the names of targets contain their digests.
  init(_ survey: StoreSurvey, consistent: Bool) {
    lengths = Dictionary(
      (survey.metadata + survey.targets).map { ($0.path, $0.bytes) },
      uniquingKeysWith: { first, _ in first })
    isConsistent = consistent
  }

  mutating func add(_ contents: ListContents) {
    products += contents.records.map(StoredProduct.init)
    errors += contents.errors
    expires[contents.list.name] = contents.list.role.expires
    for file in contents.files(consistent: isConsistent) {
      bytes[file.kind, default: 0] += file.length
      if file.isRequired, !file.paths.contains(where: { lengths[$0] == file.length }) {
        missingFiles.append(file.paths[0])
      }
    }
  }

  /// The time at which the first of `targets` and the lists expires.
  func earliestExpiry(with targets: TargetsRole) -> Date {
    expires.values.reduce(targets.expires) { min($0, $1) }
  }
}
