extension UpdateTexts {
  static let english = Words(
    remindTitle: "Update available",
    remindMessage: "{app} {version} is available; you have {installed}.",
    forceTitle: "Update required",
    forceMessage: "{app} {installed} can no longer be used. Please update to {version}.",
    newerVersion: "a newer version", update: "Update", later: "Later", skip: "Skip this version")

  static let builtIn: [String: Words] = [
    "en": english,
    "de": Words(
      remindTitle: "Aktualisierung verfügbar",
      remindMessage: "{app} {version} ist verfügbar; installiert ist {installed}.",
      forceTitle: "Aktualisierung nötig",
      forceMessage:
        "{app} {installed} kann nicht mehr benutzt werden. Aktualisieren Sie bitte auf {version}.",
      newerVersion: "eine neuere Version", update: "Aktualisieren", later: "Später",
      skip: "Diese Version überspringen"),
    "es": Words(
      remindTitle: "Actualización disponible",
      remindMessage: "{app} {version} está disponible; tienes {installed}.",
      forceTitle: "Actualización necesaria",
      forceMessage: "{app} {installed} ya no se puede usar. Actualiza a {version}.",
      newerVersion: "una versión más reciente", update: "Actualizar", later: "Más tarde",
      skip: "Omitir esta versión"),
    "fr": Words(
      remindTitle: "Mise à jour disponible",
      remindMessage: "{app} {version} est disponible ; vous avez {installed}.",
      forceTitle: "Mise à jour requise",
      forceMessage: "{app} {installed} ne peut plus être utilisé. Installez {version}.",
      newerVersion: "une version plus récente", update: "Mettre à jour", later: "Plus tard",
      skip: "Ignorer cette version"),
    "ja": Words(
      remindTitle: "アップデートがあります",
      remindMessage: "{app} {version} が利用できます。現在のバージョンは {installed} です。",
      forceTitle: "アップデートが必要です",
      forceMessage: "{app} {installed} は使用できなくなりました。{version} にアップデートしてください。",
      newerVersion: "新しいバージョン", update: "アップデート", later: "後で",
      skip: "このバージョンをスキップ"),
    "zh": Words(
      remindTitle: "有新版本",
      remindMessage: "{app} {version} 已发布，当前版本为 {installed}。",
      forceTitle: "需要更新",
      forceMessage: "{app} {installed} 已停止使用，请更新到{version}。",
      newerVersion: "新版本", update: "更新", later: "以后再说", skip: "跳过此版本"),
  ]
}
