/// The phase of an active download.
public enum DownloadPhase: String, Codable, Sendable, CaseIterable {
  /// Determines what to fetch and what can be reused.
  case preparing
  /// Waits; see `Download.wait` for the reason.
  case waiting
  /// Fetches pieces; each is verified when it arrives, before it is used.
  case downloading
  /// Verifies data of an earlier attempt or version.
  case verifying
  /// Unpacks verified data into files.
  case unpacking
  /// Makes the files durable and visible, and switches `current`.
  case installing
}
