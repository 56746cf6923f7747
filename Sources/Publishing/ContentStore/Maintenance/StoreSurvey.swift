import FoundationEssentials
import HostedFileIO
import HostedModel
import HostedTrust

/// A file of a store's folder, as a listing found it.
struct StoreFile: Hashable {
  /// The path below the store's folder, such as `metadata/3.targets.json`.
  let path: String
  let bytes: Int64
  let modified: Date

  var name: String { path.lastPathComponent }
}

/// The files in a store's two folders.
///
/// A publication or an upload can change them during the listing: what disappears is not listed.
struct StoreSurvey {
  var metadata: [StoreFile] = []
  var targets: [StoreFile] = []
  /// Links, devices, names that are not text, and folders where a store has none.
  var others: [String] = []

  /// The depth of the folders below `targets`: product, version and content.
  private static let depth = 3

  init() {}

  init(of store: Directory) throws {
    let folder = try store.directory(StoreFolder.metadataName)
    metadata = try files(in: folder, StoreFolder.metadataName, depth: 0)
    // A git copy does not contain an empty folder.
    guard try store.status(of: StoreFolder.targetsName)?.kind == .directory else { return }
    let targetsFolder = try store.directory(StoreFolder.targetsName)
    targets = try files(in: targetsFolder, StoreFolder.targetsName, depth: Self.depth)
  }

  /// Lists the files in `folder`, and adds what is not a store's to `others`.
  private mutating func files(in folder: Directory, _ path: String, depth: Int) throws
    -> [StoreFile]
  {
    var files: [StoreFile] = []
    // Sorted, so that results do not depend on the file system.
    for entry in try folder.entries().sorted(by: { $0.name < $1.name }) {
      let place = "\(path)/\(entry.name)"
      guard entry.isText else {
        others.append(place)
        continue
      }
      // A publication is writing it, or the next one removes it.
      if [Directory.leftoverName, Directory.intakeName].contains(entry.name) { continue }
      do {
        switch entry.kind {
        case .file:
          guard let status = try folder.status(of: entry.name) else { continue }
          let modified = Date(timeIntervalSince1970: status.modified)
          files.append(StoreFile(path: place, bytes: status.size, modified: modified))
        case .directory where depth > 0:
          files += try self.files(in: folder.directory(entry.name), place, depth: depth - 1)
        case .directory, .link, .other: others.append(place)
        }
      } catch let error as ContentError where error.code == .fileMissing {}
    }
    return files
  }

  /// Whether the file at `path` is named like an archive, an index, an entry of the catalog, or the
  /// list of receipt keys.
  static func isTarget(_ path: String) -> Bool {
    let components = path.pathComponents(omittingEmpty: false).dropFirst()
    guard let file = components.last, let dot = file.firstIndex(of: "."),
      Digest(hex: file[..<dot])?.hex == String(file[..<dot])
    else { return false }
    if components.count == 1 { return file[file.index(after: dot)...] == ReceiptKeyList.target }
    guard let product = components.first, (try? ProductIdentifier(validating: product)) != nil
    else { return false }
    let folders = Array(components.dropFirst().dropLast())
    let kind = StorePath.Kind(rawValue: String(file[file.index(after: dot)...]))
    switch (kind, folders.count) {
    case (.record, 0): return true
    case (.package, 1...2), (.index, 1...2):
      return (try? ContentVersion(validating: folders[0])) != nil
        && folders.dropFirst().allSatisfy { (try? ProductIdentifier(validating: $0)) != nil }
    default: return false
    }
  }
}

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
}
