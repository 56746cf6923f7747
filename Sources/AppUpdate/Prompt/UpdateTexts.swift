/// The words of prompts by language.
///
/// A caller adds languages, or replaces the built-in ones (ar, de, en, es,
/// fr, it, ja, ko, pt, ru, zh, zh-Hant). In titles and
/// messages `{app}`, `{version}` and `{installed}` are replaced.
public struct UpdateTexts: Codable, Hashable, Sendable {
  /// The words of one language.
  public struct Words: Codable, Hashable, Sendable {
    /// The heading of a reminder.
    public var remindTitle: String
    /// The text of a reminder.
    public var remindMessage: String
    /// The heading when the update is forced.
    public var forceTitle: String
    /// The text when the update is forced.
    public var forceMessage: String
    /// Stands for `{version}` where none is known.
    public var newerVersion: String
    /// The button that opens the update.
    public var update: String
    /// The button that goes on.
    public var later: String
    /// The button that skips this version.
    public var skip: String

    /// Makes the words of a language.
    public init(
      remindTitle: String, remindMessage: String, forceTitle: String, forceMessage: String,
      newerVersion: String, update: String, later: String, skip: String
    ) {
      self.remindTitle = remindTitle
      self.remindMessage = remindMessage
      self.forceTitle = forceTitle
      self.forceMessage = forceMessage
      self.newerVersion = newerVersion
      self.update = update
      self.later = later
      self.skip = skip
    }
  }

  /// Words by language (BCP 47, such as `de` or `pt-BR`, in any case).
  public var byLanguage: [String: Words]

  /// Takes the built-in languages, with `byLanguage` added to them or in their place.
  public init(_ byLanguage: [String: Words] = [:]) {
    self.byLanguage = Self.builtIn.merging(byLanguage) { $1 }
  }

  /// The words for the first of `languages` that has a translation, and that language.
  ///
  /// A language falls back to its parents: zh-Hans-CN, zh-Hans, zh. Chinese of Taiwan, Hong Kong
  /// and Macau is zh-Hant. Without any translation the words are English.
  public func words(for languages: [String]) -> (language: String, words: Words) {
    let known = Dictionary(
      byLanguage.map { (Self.normal($0.key), ($0.key, $0.value)) }, uniquingKeysWith: { $1 })
    for language in languages {
      var parts = Self.normal(language).split(separator: "-")
      while !parts.isEmpty {
        if let found = known[parts.joined(separator: "-")] { return found }
        parts.removeLast()
      }
    }
    return known["en"] ?? ("en", Self.english)
  }

  /// The tag in lower case with hyphens, without what a locale adds behind a period or at sign.
  private static func normal(_ language: String) -> String {
    let text = language.prefix { $0 != "." && $0 != "@" }.lowercased()
    let tag = String(text.map { $0 == "_" ? "-" : $0 })
    let isTraditional = ["zh-tw", "zh-hk", "zh-mo"].contains(tag)
    return isTraditional ? "zh-hant-\(tag.dropFirst(3))" : tag
  }

  /// The template with `{name}` replaced; what is put in is not looked at again.
  static func fill(_ template: String, _ values: [String: String]) -> String {
    var result = ""
    var rest = template[...]
    while let open = rest.firstIndex(of: "{") {
      result += rest[..<open]
      rest = rest[open...]
      guard let close = rest.firstIndex(of: "}"),
        let value = values[String(rest[rest.index(after: open)..<close])]
      else {
        result += "{"
        rest = rest.dropFirst()
        continue
      }
      result += value
      rest = rest[rest.index(after: close)...]
    }
    return result + rest
  }
}
