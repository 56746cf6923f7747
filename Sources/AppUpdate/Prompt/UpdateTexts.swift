/// The texts of prompts by language.
///
/// You can add languages, or replace the built-in ones (ar, de, en, es, fr, it, ja, ko, pt, ru, zh,
/// zh-Hant). In titles and messages, `{app}`, `{version}` and `{installed}` are replaced.
public struct UpdateTexts: Codable, Hashable, Sendable, CustomStringConvertible {
  /// The texts of one language.
  public struct Translation: Codable, Hashable, Sendable, CustomStringConvertible {
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

    /// The title of a reminder, which identifies the language.
    public var description: String { remindTitle }
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

  /// The languages with texts.
  public var description: String { "texts in \(byLanguage.keys.sorted().joined(separator: ", "))" }
}

extension UpdateTexts {
  static let english = Translation(
    remindTitle: "Update available",
    remindMessage: "{app} {version} is available; you have {installed}.",
    forceTitle: "Update required",
    forceMessage: "{app} {installed} can no longer be used. Please update to {version}.",
    newerVersion: "a newer version", update: "Update", later: "Later", skip: "Skip this version")

  static let builtIn: [String: Translation] = [
    "ar": Translation(
      remindTitle: "يتوفر تحديث",
      remindMessage: "يتوفر {app} {version}؛ الإصدار المثبّت لديك هو {installed}.",
      forceTitle: "التحديث مطلوب",
      forceMessage: "لم يعد بالإمكان استخدام {app} {installed}. يُرجى التحديث إلى {version}.",
      newerVersion: "إصدار أحدث", update: "تحديث", later: "لاحقًا", skip: "تخطّي هذا الإصدار"),
    "en": english,
    "de": Translation(
      remindTitle: "Aktualisierung verfügbar",
      remindMessage: "{app} {version} ist verfügbar; installiert ist {installed}.",
      forceTitle: "Aktualisierung nötig",
      forceMessage:
        "{app} {installed} kann nicht mehr benutzt werden. Aktualisieren Sie bitte auf {version}.",
      newerVersion: "eine neuere Version", update: "Aktualisieren", later: "Später",
      skip: "Diese Version überspringen"),
    "es": Translation(
      remindTitle: "Actualización disponible",
      remindMessage: "{app} {version} está disponible; tienes {installed}.",
      forceTitle: "Actualización necesaria",
      forceMessage: "{app} {installed} ya no se puede usar. Actualiza a {version}.",
      newerVersion: "una versión más reciente", update: "Actualizar", later: "Más tarde",
      skip: "Omitir esta versión"),
    "fr": Translation(
      remindTitle: "Mise à jour disponible",
      remindMessage: "{app} {version} est disponible ; vous avez {installed}.",
      forceTitle: "Mise à jour requise",
      forceMessage: "{app} {installed} ne peut plus être utilisé. Installez {version}.",
      newerVersion: "une version plus récente", update: "Mettre à jour", later: "Plus tard",
      skip: "Ignorer cette version"),
    "it": Translation(
      remindTitle: "Aggiornamento disponibile",
      remindMessage: "{app} {version} è disponibile; hai {installed}.",
      forceTitle: "Aggiornamento necessario",
      forceMessage: "{app} {installed} non può più essere utilizzato. Aggiorna a {version}.",
      newerVersion: "una versione più recente", update: "Aggiorna", later: "Più tardi",
      skip: "Salta questa versione"),
    "ja": Translation(
      remindTitle: "アップデートがあります",
      remindMessage: "{app} {version} が利用できます。現在のバージョンは {installed} です。",
      forceTitle: "アップデートが必要です",
      forceMessage: "{app} {installed} は使用できなくなりました。{version} にアップデートしてください。",
      newerVersion: "新しいバージョン", update: "アップデート", later: "後で",
      skip: "このバージョンをスキップ"),
    "ko": Translation(
      remindTitle: "업데이트가 있습니다",
      remindMessage: "{app} {version} 버전을 사용할 수 있습니다. 현재 버전은 {installed}입니다.",
      forceTitle: "업데이트가 필요합니다",
      forceMessage:
        "{app} {installed} 버전은 더 이상 사용할 수 없습니다. 다음 버전으로 업데이트하세요: {version}.",
      newerVersion: "최신 버전", update: "업데이트", later: "나중에", skip: "이 버전 건너뛰기"),
    "pt": Translation(
      remindTitle: "Atualização disponível",
      remindMessage: "{app} {version} está disponível; a versão instalada é {installed}.",
      forceTitle: "Atualização necessária",
      forceMessage: "{app} {installed} não pode mais ser usado. Atualize para {version}.",
      newerVersion: "uma versão mais recente", update: "Atualizar", later: "Mais tarde",
      skip: "Ignorar esta versão"),
    "ru": Translation(
      remindTitle: "Доступно обновление",
      remindMessage: "Доступна новая версия {app}: {version}. У вас установлена {installed}.",
      forceTitle: "Требуется обновление",
      forceMessage:
        "{app} {installed} больше нельзя использовать. Установите обновление: {version}.",
      newerVersion: "более новая версия", update: "Обновить", later: "Позже",
      skip: "Пропустить эту версию"),
    "zh-Hant": Translation(
      remindTitle: "有新版本",
      remindMessage: "{app} {version} 已推出，目前版本為 {installed}。",
      forceTitle: "需要更新",
      forceMessage: "{app} {installed} 已停止使用，請更新至{version}。",
      newerVersion: "新版本", update: "更新", later: "稍後再說", skip: "略過此版本"),
    "zh": Translation(
      remindTitle: "有新版本",
      remindMessage: "{app} {version} 已发布，当前版本为 {installed}。",
      forceTitle: "需要更新",
      forceMessage: "{app} {installed} 已停止使用，请更新到{version}。",
      newerVersion: "新版本", update: "更新", later: "以后再说", skip: "跳过此版本"),
  ]
}
