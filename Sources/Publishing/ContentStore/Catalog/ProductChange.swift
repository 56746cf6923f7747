public import HostedModel

/// A change of a product's description.
public struct ProductChange: Hashable, Sendable {
  /// A field of a product's description.
  ///
  /// Texts have a language.
  public enum Field: Hashable, Sendable {
    case title(language: String)
    case description(language: String)
    case releaseNotes(language: String)
    case price
    case type
  }

  /// The product.
  public let productIdentifier: ProductIdentifier
  /// Whether the store had no description of the product before.
  public let isNew: Bool
  /// The changed fields: texts first, by language.
  public let fields: [Field]

  /// The change from `old` to `new`; nil if they are equal, byte by byte.
  init?(from old: ProductRecord?, to new: ProductRecord) {
    productIdentifier = new.productIdentifier
    isNew = old == nil
    var fields: [Field] = []
    for (language, text) in new.texts.sorted(by: { $0.key < $1.key }) {
      let known = old?.texts[language]
      if !(known?.title).hasSameBytes(as: text.title) { fields.append(.title(language: language)) }
      if !(known?.description ?? "").hasSameBytes(as: text.description) {
        fields.append(.description(language: language))
      }
      if !(known?.releaseNotes).hasSameBytes(as: text.releaseNotes) {
        fields.append(.releaseNotes(language: language))
      }
    }
    if old?.price != new.price { fields.append(.price) }
    if let old, old.type != new.type { fields.append(.type) }
    if old != nil, fields.isEmpty { return nil }
    self.fields = fields
  }
}
