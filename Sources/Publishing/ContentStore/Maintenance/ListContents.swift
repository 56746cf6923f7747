import HostedModel
import HostedTrust
import HostedFileIO

/// A list of the catalog with the records of its products.
struct ListContents {
  let list: CatalogList
  /// The records that can be read, by product.
  let records: [CatalogRecord]
  /// An error for each other product.
  let errors: [ContentError]

  /// Reads the records of `list`, which `catalog` has.
  init(_ list: CatalogList, of catalog: TrustedTargets) throws {
    self.list = list
    (records, errors) = try catalog.readableRecords(of: list)
  }

  /// The files that the list and its records name; `consistent` names contain digests.
  func files(consistent: Bool) -> [ListedFile] {
    var files = list.role.details.map { [ListedFile($0)] } ?? []
    for (name, file) in list.role.targets {
      files.append(ListedFile(name, file, in: list, consistent: consistent))
    }
    for offer in records.flatMap(\.offers) {
      files.append(ListedFile(offer.package, .archive, of: offer))
      files.append(ListedFile(offer.index, .index, of: offer))
    }
    return files
  }
}

/// A file that the catalog names, in a list or in a record.
struct ListedFile {
  enum Kind {
    /// The records of all products of a list.
    case records
    /// The record of one product.
    case record
    /// The entry of a content with a name of its own.
    case content
    case archive
    case index
    /// The list of receipt keys, or a target that this version does not know.
    case other
  }

  let kind: Kind
  /// The possible paths below the store, the usual one first; not empty.
  let paths: [String]
  let length: Int64
  let hashes: FileHashes
  /// Nil for a file that belongs to no product.
  var product: ProductIdentifier?
  /// The content of an archive, an index or an entry.
  var content: ProductIdentifier?
  /// The version of an archive or index.
  var version: ContentVersion?
  /// Whether clients need the file.
  var isRequired = true

  init(_ name: String, _ file: TargetFile, in list: CatalogList, consistent: Bool) {
    paths = TrustedTargets.storePaths(of: name, file, consistent: consistent)
    (length, hashes) = (file.length, file.hashes)
    let identifier = StorePath.identifier(ofEntry: name)
    switch identifier.flatMap({ list.entry($0) }) {
    case .product: (kind, product) = (.record, identifier)
    case .content(of: let owner): (kind, product, content) = (.content, owner, identifier)
    case nil: kind = .other
    }
  }

  init(_ file: SignedFile, _ kind: Kind, of offer: ContentOffer) {
    self.kind = kind
    paths = [file.path]
    (length, hashes) = (file.length, FileHashes(sha256: file.digest))
    (product, content, version) = (offer.productIdentifier, offer.contentIdentifier, offer.version)
  }

  init(_ details: ListDetails) {
    kind = .records
    paths = [RecordsFile.path(details.digest)]
    (length, hashes) = (details.length, FileHashes(sha256: details.digest))
    isRequired = details.hasFile
  }
}
