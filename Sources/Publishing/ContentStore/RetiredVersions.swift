import ContentModel
import ContentTrust

/// The highest retired version of each content.
///
/// It is stored with its product's record. The number of a retired version cannot be used again,
/// because the version may be installed.
struct RetiredVersions {
  private static let key = "retiredVersions"
  private let highest: [String: ContentVersion]

  /// Reads the retired versions from the records of all products.
  init(_ files: [String: TargetFile]) {
    var highest: [String: ContentVersion] = [:]
    for file in files.values {
      guard case .object(let versions) = file.custom?[Self.key] else { continue }
      for (content, version) in versions {
        highest[content] = version.string.flatMap { try? ContentVersion(validating: $0) }
      }
    }
    self.highest = highest
  }

  /// The highest retired version of `content`; nil if none was retired.
  func highest(of content: ProductIdentifier) -> ContentVersion? { highest[content.rawValue] }

  /// Adds `version` of `content` to the retired versions in the record entry of `product`.
  static func remember(
    _ version: ContentVersion, of content: ProductIdentifier, _ product: ProductIdentifier,
    in files: inout [String: TargetFile]
  ) {
    let name = StoreTargetName.record(product)
    guard let file = files[name], let digest = file.digest else { return }
    var (members, versions): ([String: JSONValue], [String: JSONValue]) = ([:], [:])
    if case .object(let known) = file.custom { members = known }
    if case .object(let known) = members[key] { versions = known }
    let earlier = versions[content.rawValue]?.string.flatMap { try? ContentVersion(validating: $0) }
    if let earlier, earlier > version { return }
    versions[content.rawValue] = .string(version.rawValue)
    members[key] = .object(versions)
    files[name] = TargetFile(length: file.length, digest: digest, custom: .object(members))
  }
}
