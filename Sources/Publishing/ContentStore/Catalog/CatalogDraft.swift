import HostedModel
import HostedTrust
import HostedDigests

/// The changes of one publication to the catalog.
///
/// Reads only the lists and records of the products that change.
struct CatalogDraft {
  private let published: TrustedTargets
  private let writer: TargetWriter
  private var records: [ProductIdentifier: CatalogRecord] = [:]
  /// The products of the contents of changed records.
  private var owners: [ProductIdentifier: ProductIdentifier] = [:]
  /// The receipt keys to list; nil if they do not change.
  private var receiptKeys: [PublicKey]?

  init(_ published: TrustedTargets, _ writer: TargetWriter) {
    (self.published, self.writer) = (published, writer)
  }

  /// The record of `product` with the changes so far; nil if the product does not exist.
  func record(of product: ProductIdentifier) throws -> CatalogRecord? {
    try records[product] ?? published.publishedRecord(of: product)
  }

  /// The product that has the identifier `name`, or a content with this identifier; nil if it is
  /// free.
  ///
  /// A content belongs to its product forever, even if all its versions are retired or withdrawn.
  func owner(of name: ProductIdentifier) throws -> ProductIdentifier? {
    if records[name] != nil { return name }
    if let owner = owners[name] { return owner }
    switch try published.entry(name) {
    case .product: return name
    case .content(of: let product): return product
    case nil: return nil
    }
  }

  /// Returns `names` in the order of their lists, so that each list is read once.
  func inListOrder(_ names: some Sequence<ProductIdentifier>) throws -> [ProductIdentifier] {
    try names.map { (try published.listName(for: $0).text, $0) }.sorted { $0 < $1 }.map(\.1)
  }

  /// Sets the record of a product, and makes it the owner of its contents.
  mutating func set(_ record: CatalogRecord) {
    records[record.product] = record
    for content in record.ownedContents { owners[content] = record.product }
  }

  /// Adds a version of a content to its product, which must exist.
  mutating func add(_ offer: ContentOffer) throws {
    guard var record = try record(of: offer.productIdentifier) else { return }
    record.add(offer)
    set(record)
  }

  /// Changes the description of a product, or adds the product; returns the change.
  ///
  /// Throws `usage` if a product with content would get a type without content.
  mutating func describe(
    _ product: ProductIdentifier, _ details: ProductDetails, withContent: Bool
  ) throws -> ProductChange? {
    let old = try record(of: product)
    let description = details.record(of: product, over: old?.description)
    if withContent || old?.offers.isEmpty == false { try description.checkHosting() }
    var new = old ?? CatalogRecord(description)
    new.description = description
    set(new)
    return ProductChange(from: old?.description, to: description)
  }

  func changes() throws -> [(old: CatalogRecord?, new: CatalogRecord)] {
    try records.values.sorted { $0.product < $1.product }.map {
      (old: try published.publishedRecord(of: $0.product), new: $0)
    }
  }

  /// Adds receipt keys to the listed ones, or replaces them; returns all.
  mutating func listReceiptKeys(_ keys: [PublicKey], replacing: Bool) throws -> [PublicKey] {
    let known = try replacing ? [] : published.receiptKeys() ?? []
    let all = (known + keys).reduce(into: [PublicKey]()) { all, key in
      if !all.contains(key) { all.append(key) }
    }
    // With an empty list, queues would refuse every purchase.
    if !all.isEmpty || replacing { receiptKeys = all }
    return all
  }

  /// Writes the files of new and changed targets, and returns their entries, by target.
  func write() throws -> [String: ChangedEntry] {
    var changes: [String: ChangedEntry] = [:]
    for product in try inListOrder(records.keys) {
      guard let record = records[product] else { continue }
      let json = try record.json
      guard json.count <= CatalogRecord.maximumLength else {
        throw ContentError(
          .limitExceeded,
          "The record of \(product) would have \(json.count) bytes, more than the maximum of "
            + "\(CatalogRecord.maximumLength)",
          remedy: "Retire old versions of the product", subject: product.rawValue)
      }
      let target = StorePath.entry(product)
      changes[target] = try change(target, json, custom: nil, record: json)
    }
    for content in try inListOrder(owners.keys) {
      // The lost file of a known content is written again. A content of another product is not
      // changed.
      guard let product = owners[content],
        try published.entry(content).map({ $0 == .content(of: product) }) ?? true
      else { continue }
      let custom = CatalogList.custom(ownedBy: product)
      let target = StorePath.entry(content)
      changes[target] = try change(target, custom.encoded, custom: custom, record: nil)
    }
    if let receiptKeys {
      let (target, custom) = (ReceiptKeyList.target, ReceiptKeyList.json(receiptKeys))
      changes[target] = try change(target, custom.encoded, custom: custom, record: nil)
    }
    return changes
  }

  /// Writes the file of a target; returns nil if it is listed and the file exists.
  private func change(
    _ target: String, _ bytes: [UInt8], custom: JSONValue?, record: [UInt8]?
  ) throws -> ChangedEntry? {
    let file = TargetFile(length: Int64(bytes.count), digest: try Digest(of: bytes), custom: custom)
    let list = try published.list(published.listName(ofTarget: target))
    let isListed = list.role.targets[target] == file
    if try !writer.hasTarget(target, file) { try writer.writeTarget(target, file, bytes) }
    return isListed ? nil : ChangedEntry(file: file, record: record)
  }
}
