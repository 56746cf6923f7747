import FoundationEssentials

extension ContentError {
  /// An offer is older than an earlier offer.
  static func wentDown(from highest: AppVersion, to offered: AppVersion?) -> ContentError {
    ContentError(
      .appVersionWentDown,
      "The server offers version \(offered?.rawValue ?? "unknown"), but offered \(highest) before",
      remedy: "Ask the server's owner. Versions older than an earlier offer are not accepted")
  }
}
