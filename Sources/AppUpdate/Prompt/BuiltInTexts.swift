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
