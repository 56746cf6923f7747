package import HostedModel

/// The names and paths of a store's files below `targets`.
///
/// The product's own content is in the folder of its version. Any other content has a folder of its
/// own below that. A product with one content therefore needs no second name.
package enum StorePath {
  /// What a file is; the raw value is the end of its name.
  package enum Kind: String, Sendable {
    case package = "content.pkg"
    case index = "content.index"
    case record = "product.json"
  }

  /// The folder of these files below the store.
  package static let folder = "targets"

  /// The target of a catalog entry: of a product, or of a content with a name of its own.
  package static func entry(_ name: ProductIdentifier) -> String {
    "\(name)/\(Kind.record.rawValue)"
  }

  /// The product or content whose entry has the target `name`; nil for any other name.
  package static func identifier(ofEntry name: String) -> ProductIdentifier? {
    let components = name.pathComponents(omittingEmpty: false)
    guard components.count == 2, components[1] == Kind.record.rawValue else { return nil }
    return try? ProductIdentifier(validating: components[0])
  }

  /// The components of the folder, below `targets`, of a content's archive and index.
  package static func folder(
    _ product: ProductIdentifier, _ content: ProductIdentifier, _ version: ContentVersion
  ) -> [String] {
    [product.rawValue, version.rawValue] + (content == product ? [] : [content.rawValue])
  }

  package static func fileName(_ kind: Kind, _ digest: Digest) -> String {
    "\(digest.hex).\(kind.rawValue)"
  }

  /// Whether `path`, below the store, is a usual path in the product's folder.
  package static func isFile(_ path: String, of product: ProductIdentifier) -> Bool {
    let components = path.pathComponents(omittingEmpty: false)
    return path.utf8.count <= MetadataLimits.nameLength && components.count > 2
      && components[0] == folder && components[1] == product.rawValue
      && !components.contains { $0.isEmpty || $0 == "." || $0 == ".." || $0.utf8.contains(0) }
  }

  /// Whether a folder with the name `content` could collide with a file of the product's own
  /// content.
  ///
  /// Files are named `<SHA-256>.content.pkg`, or `content.pkg` in a store without consistent
  /// snapshots. The check ignores case, because a store may be copied to a file system that does.
  package static func isFileName(_ content: ProductIdentifier) -> Bool {
    let name = content.rawValue.lowercased()
    return [Kind.package, .index].map(\.rawValue).contains {
      name == $0 || name.hasSuffix(".\($0)")
    }
  }
}
