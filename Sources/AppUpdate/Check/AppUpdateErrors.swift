import FoundationEssentials

extension ContentError {
  /// An offer is older than one that was seen before.
  static func wentDown(from highest: AppVersion, to offered: AppVersion?) -> ContentError {
    ContentError(
      .appVersionWentDown,
      "The server offers version \(offered?.rawValue ?? "unknown") and offered \(highest) before",
      remedy: "Ask the server's owner; nothing is installed that is older than what was offered")
  }
}
