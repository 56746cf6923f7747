/// The state of a download.
public enum SKDownloadState: Int, Sendable {
  /// Not started, or waiting for a free worker.
  case waiting = 0
  /// Being downloaded and installed.
  case active = 1
  /// Paused by the app; keeps its data.
  case paused = 2
  /// Installed and usable.
  case finished = 3
  /// Failed; keeps its data and can be started again.
  case failed = 4
  /// Cancelled by the app; its data is dropped.
  case cancelled = 5
}
