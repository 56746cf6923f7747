import HostedModel
import HostedTrust
import HostedDigests

/// A new or changed target of the catalog.
struct ChangedEntry {
  let file: TargetFile
  /// Nil for a target that is not a product.
  let record: [UInt8]?
}

/// A list of the catalog with the records of its products, for the publisher.
struct PublishedList {
  let name: MetadataName
  /// The metadata before the change; nil for a new list.
  let role: TargetsRole?
  private(set) var files: [String: TargetFile] = [:]
  private(set) var records: [Digest: [UInt8]] = [:]

  mutating func set(_ target: String, to entry: ChangedEntry) throws {
    files[target] = entry.file
    if let record = entry.record { records[try Digest(of: record)] = record }
  }

  /// The content of the records file; sorted by target name, so that equal lists have equal files.
  var recordsFile: [UInt8] {
    RecordsFile.bytes(
      files.sorted { $0.key < $1.key }.compactMap { $0.value.digest.flatMap { records[$0] } })
  }

  /// Returns the entries of all `lists` in new lists, one for each of `bins`.
  static func distributed(_ lists: some Sequence<PublishedList>, in bins: HashBins) throws
    -> [MetadataName: PublishedList]
  {
    // Clients expect every bin.
    var new: [MetadataName: PublishedList] = bins.names.reduce(into: [:]) {
      let name = MetadataName.delegated($1)
      $0[name] = PublishedList(name: name, role: nil)
    }
    for list in lists {
      for (target, file) in list.files {
        let name = MetadataName.delegated(try bins.name(for: target))
        new[name]?.files[target] = file
        if let digest = file.digest, let record = list.records[digest] {
          new[name]?.records[digest] = record
        }
      }
    }
    return new
  }
}

extension TrustedTargets {
  /// Returns the list `name` with all records, from their own files if the records file lacks them.
  func publishedList(_ name: MetadataName) throws -> PublishedList {
    let list = try list(name)
    return PublishedList(
      name: name, role: list.role, files: list.role.targets, records: try recordBytes(of: list))
  }

  /// Returns the records of `list` that can be read, by product, and an error for each other one.
  func readableRecords(of list: CatalogList) throws -> ([CatalogRecord], [ContentError]) {
    let stored = try storedRecords(of: list)
    var (records, errors): ([CatalogRecord], [ContentError]) = ([], [])
    for (product, file) in list.products.sorted(by: { $0.key < $1.key }) {
      do {
        let bytes = try file.digest.flatMap { stored[$0] } ?? recordBytes(of: product, file)
        records.append(try CatalogRecord(json: bytes, of: product))
      } catch let error as ContentError
        where [.storeDamaged, .limitExceeded].contains(error.code)
      {
        errors.append(error)
      }
    }
    return (records, errors)
  }

  private func recordBytes(of list: CatalogList) throws -> [Digest: [UInt8]] {
    var records = try storedRecords(of: list)
    for (product, file) in list.products {
      guard let digest = file.digest, records[digest] == nil else { continue }
      records[digest] = try recordBytes(of: product, file)
    }
    return records
  }

  /// Returns the record's own file; throws `storeDamaged` if it is lost.
  private func recordBytes(of product: ProductIdentifier, _ file: TargetFile) throws -> [UInt8] {
    let name = StorePath.entry(product)
    do {
      return try fetchEntry(name, file)
    } catch let error as ContentError where error.isLostFile {
      throw ContentError(
        .storeDamaged, "The record of \(product) is lost: \(error.message)",
        remedy: "Restore \(path(of: name, file)) from a copy of the store",
        subject: product.rawValue, cause: error.cause)
    }
  }

  /// The records file of `list`; empty if it is lost.
  private func storedRecords(of list: CatalogList) throws -> [Digest: [UInt8]] {
    do {
      return try records(of: list) ?? [:]
    } catch let error as ContentError where error.isLostFile {
      return [:]
    }
  }

  /// Returns the record of `product`, from its list if its own file is lost.
  func publishedRecord(of product: ProductIdentifier) throws -> CatalogRecord? {
    guard case .product(let file) = try entry(product) else { return nil }
    do {
      return try record(of: product, file)
    } catch let error as ContentError where error.isLostFile {
      let list = try list(listName(for: product))
      guard let record = try file.digest.flatMap({ try recordBytes(of: list)[$0] }) else {
        throw error
      }
      return try CatalogRecord(json: record, of: product, signers: signers)
    }
  }
}

extension ContentError {
  /// Whether a file of the store does not exist or has other bytes than signed.
  fileprivate var isLostFile: Bool { [.storeMissing, .digestMismatch].contains(code) }
}
