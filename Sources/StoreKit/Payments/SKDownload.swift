public import Foundation
import HostedContent

/// What `SKDownload.timeRemaining` is while it is unknown.
public let SKDownloadTimeRemainingUnknown: TimeInterval = -1

/// A content package on its way into the library; the queue has one object for each.
///
/// What it says changes only on the delivery queue, between callbacks. May be read from any thread.
// Sendable because nothing of it changes; the handle is safe by itself.
open class SKDownload: NSObject, @unchecked Sendable {
  private let source: (handle: Download, objects: ObjectRegistry)?

  /// Creates a download of nothing, for subclasses in tests.
  public override init() { source = nil }

  init(_ handle: Download, in objects: ObjectRegistry) { source = (handle, objects) }

  deinit {
    if let source { source.objects.forget(self, source.handle) }
  }

  /// The engine's handle; nil for one that the engine does not know.
  var handle: Download? { source?.handle }

  /// Where it stands.
  open var state: SKDownloadState {
    handle.flatMap { SKDownloadState(rawValue: $0.state.rawValue) } ?? .waiting
  }

  /// Where it stands, by the name of iOS 6 to 12.
  open var downloadState: SKDownloadState { state }

  /// The content's name; the product's unless a product has several.
  open var contentIdentifier: String { handle?.contentIdentifier.rawValue ?? "" }

  /// The version's folder, with ContentInfo.plist and Contents; nil unless it is finished.
  ///
  /// Read-only. Unlike Apple's it stays valid after the transaction is finished, until that version
  /// is removed from the library.
  open var contentURL: URL? { handle?.contentURL }

  /// The archive's size in bytes, by the name of iOS 6 to 13.
  open var contentLength: Int64 { expectedContentLength }

  /// The archive's size in bytes, known before it starts.
  open var expectedContentLength: Int64 { handle?.expectedContentLength ?? 0 }

  /// The version that is downloaded, known before it starts.
  open var contentVersion: String { handle?.contentVersion.rawValue ?? "" }

  /// The part that is done, 0 to 1; to see whether it is finished, test `state`.
  open var progress: Float { handle.map { Float($0.progress) } ?? 0 }

  /// Seconds until it is done; `SKDownloadTimeRemainingUnknown` while that is unknown.
  open var timeRemaining: TimeInterval {
    handle?.timeRemaining?.inSeconds ?? SKDownloadTimeRemainingUnknown
  }

  /// Why it failed, of the network in `NSURLErrorDomain`, else an `SKError`; nil unless it failed.
  open var error: (any Error)? { handle?.error?.storeKitError }

  /// The transaction that it belongs to.
  open var transaction: SKPaymentTransaction {
    source.map { $0.objects.transaction($0.handle.transaction) } ?? SKPaymentTransaction()
  }

  /// Where the current version of a product's content is installed; nil when it is not.
  open class func contentURL(forProductID productID: String) -> URL? {
    StoreHost.shared.contentURL(of: productID)
  }

  /// Removes every installed version of a product's content that nobody uses.
  ///
  /// What is pinned, leased or part of an unfinished transaction stays, and is reported to the
  /// configuration's `onRefusal`.
  open class func deleteContent(forProductID productID: String) {
    StoreHost.shared.deleteContent(of: productID)
  }
}
