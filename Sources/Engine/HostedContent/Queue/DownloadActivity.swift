import ContentTransfer

/// What is done for an active download.
public enum DownloadPhase: String, Codable, Sendable, CaseIterable {
  /// It is looked what is to be fetched, and what is there from before.
  case preparing
  /// It waits; `Download.wait` says why.
  case waiting
  /// Bytes are fetched; each piece is verified as it comes, before anything else sees it.
  case downloading
  /// What an earlier attempt or version left is verified.
  case verifying
  /// Verified bytes become files.
  case unpacking
  /// The files are made durable and visible, and `current` is switched.
  case installing
}

/// What is done for a download, and why nothing is done if it waits.
struct DownloadActivity: Hashable, Sendable {
  var phase: DownloadPhase
  var wait: TransferWait?
}
