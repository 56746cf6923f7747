import HostedContent

/// The value of `SKDownload.timeRemaining` if the time is unknown.
public let SKDownloadTimeRemainingUnknown: TimeInterval = -1

/// The download of a content package; the queue has one object for each.
///
/// Values change only on the delivery queue, between callbacks. May be read from any thread.
// Sendable because it is immutable, and the handle is thread-safe.
open class SKDownload: NSObject, @unchecked Sendable {
  private let source: (handle: Download, objects: ObjectRegistry)?

  /// Creates an empty download, for subclasses in tests.
  public override init() { source = nil }

  init(_ handle: Download, in objects: ObjectRegistry) { source = (handle, objects) }

  deinit {
    if let source { source.objects.downloads.forget(self, for: source.handle) }
  }

  /// The engine's handle; nil if the engine does not know the download.
  var handle: Download? { source?.handle }

  /// The state.
  open var state: SKDownloadState {
    handle.flatMap { SKDownloadState(rawValue: $0.state.rawValue) } ?? .waiting
  }

  /// The state, under its name of iOS 6 to 12.
  open var downloadState: SKDownloadState { state }

  /// The content's identifier; equal to the product's unless the product has several contents.
  open var contentIdentifier: String { handle?.contentIdentifier.rawValue ?? "" }

  /// The version's folder, with ContentInfo.plist and Contents; nil unless finished.
  ///
  /// Its files are read-only. Unlike on Apple's systems, it stays valid after the transaction is
  /// finished, until that version is removed from the library.
  open var contentURL: URL? { handle?.contentURL }

  /// The size of the package in bytes, under its name of iOS 6 to 13.
  open var contentLength: Int64 { expectedContentLength }

  /// The size of the package in bytes, known before the download starts.
  open var expectedContentLength: Int64 { handle?.expectedContentLength ?? 0 }

  /// The version to download, known before the download starts.
  open var contentVersion: String { handle?.contentVersion.rawValue ?? "" }

  /// The progress from 0 to 1; to test for completion, use `state`.
  open var progress: Float { handle.map { Float($0.progress) } ?? 0 }

  /// The remaining time in seconds; `SKDownloadTimeRemainingUnknown` if unknown.
  open var timeRemaining: TimeInterval {
    handle?.timeRemaining?.inSeconds ?? SKDownloadTimeRemainingUnknown
  }

  /// The error, in `NSURLErrorDomain` or an `SKError`; nil unless failed.
  open var error: (any Error)? { handle?.error?.storeKitError }

  /// The transaction of this download.
  open var transaction: SKPaymentTransaction {
    source.map { $0.objects.transaction($0.handle.transaction) } ?? SKPaymentTransaction()
  }

  /// The content, the version and the state, such as `com.example.book 1.0: active, 40%`.
  open override var description: String {
    let percent = state == .active || state == .paused ? ", \(Int(progress * 100))%" : ""
    return "\(contentIdentifier) \(contentVersion): \(state)\(percent)"
  }

  /// Returns the folder of the current content with a product's identifier; nil if not installed.
  open class func contentURL(forProductID productID: String) -> URL? {
    StoreHost.shared.contentURL(of: productID)
  }

  /// Removes every unused installed version of a product's contents.
  ///
  /// Versions that are pinned, leased or part of an unfinished transaction stay, and are reported
  /// to the configuration's `onRefusal`.
  open class func deleteContent(forProductID productID: String) {
    StoreHost.shared.deleteContent(of: productID)
  }
}

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
