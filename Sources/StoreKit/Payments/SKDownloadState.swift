/// The state of a download.
public enum SKDownloadState: Int, Sendable {
  /// Not started, or started and waiting for its turn.
  case waiting = 0
  /// Being fetched and installed.
  case active = 1
  /// Paused by the app; keeps its bytes.
  case paused = 2
  /// The content is installed and usable.
  case finished = 3
  /// Ended by an error; it can be started again, and keeps its bytes.
  case failed = 4
  /// Cancelled by the app; its bytes are dropped.
  case cancelled = 5
}
