/// The texts of prompts by language.
///
/// You can add languages, or replace the built-in ones (ar, de, en, es, fr, it, ja, ko, pt, ru, zh,
/// zh-Hant). In titles and messages, `{app}`, `{version}` and `{installed}` are replaced.
public struct UpdateTexts: Codable, Hashable, Sendable {
  /// The texts of one language.
  public struct Translation: Codable, Hashable, Sendable {
    /// The title of a reminder.
    public var remindTitle: String
    /// The message of a reminder.
    public var remindMessage: String
    /// The title of a forced update.
    public var forceTitle: String
    /// The message of a forced update.
    public var forceMessage: String
    /// Replaces `{version}` if the version is unknown.
    public var newerVersion: String
    /// The button that opens the update.
    public var update: String
    /// The button that continues without the update.
    public var later: String
    /// The button that skips this version.
    public var skip: String

    /// Creates the texts of a language.
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

  /// The texts by language tag (BCP 47, such as `de` or `pt-BR`, case-insensitive).
  public var byLanguage: [String: Translation]

  /// Creates the built-in texts, with `byLanguage` added or replacing them.
  public init(_ byLanguage: [String: Translation] = [:]) {
    self.byLanguage = Self.builtIn.merging(byLanguage) { $1 }
  }

  /// Returns the texts for the first of `languages` with a translation, and that language.
  ///
  /// A language falls back to its parents: zh-Hans-CN, zh-Hans, zh. Chinese for Taiwan, Hong Kong
  /// and Macau is zh-Hant. Without a translation, the texts are English.
  func translation(for languages: [String]) -> (language: String, texts: Translation) {
    let known = Dictionary(
      byLanguage.map { (Self.normal($0.key), ($0.key, $0.value)) },
      // Of two spellings of a tag, such as DE and de, the one that is not built in.
      uniquingKeysWith: { Self.builtIn[$0.0] == $0.1 ? $1 : $0 })
    for language in languages {
      var parts = Self.normal(language).split(separator: "-")
      while !parts.isEmpty {
        if let found = known[parts.joined(separator: "-")] { return found }
        parts.removeLast()
      }
    }
    return known["en"] ?? ("en", Self.english)
  }

  /// The tag in lower case with hyphens, without a locale's suffix after a period or at sign.
  private static func normal(_ language: String) -> String {
    let text = language.prefix { $0 != "." && $0 != "@" }.lowercased()
    let tag = String(text.map { $0 == "_" ? "-" : $0 })
    let isTraditional = ["zh-tw", "zh-hk", "zh-mo"].contains(tag)
    return isTraditional ? "zh-hant-\(tag.dropFirst(3))" : tag
  }

  /// Replaces `{name}` in the template; replaced text is not expanded again.
  static func fill(_ template: String, _ values: [String: String]) -> String {
    template.replacing(#/\{([^\{\}]*)\}/#) { match in
      values[String(match.output.1)] ?? String(match.output.0)
    }
  }
}
