/// The state of a download, numbered as in StoreKit.
public enum DownloadState: Int, Codable, Sendable, CaseIterable, CustomStringConvertible {
  /// Not started, or waiting for a free worker. Next: active, paused, cancelled, or finished with
  /// another download that installed the same version.
  case waiting = 0
  /// Being fetched and installed. Next: finished, failed, paused, cancelled, waiting.
  case active = 1
  /// Paused by the user; keeps its data. Next: waiting, active, cancelled, finished.
  case paused = 2
  /// Installed and usable. Final.
  case finished = 3
  /// Failed; keeps its data. Next: waiting, active, cancelled.
  case failed = 4
  /// Cancelled by the user; its data is dropped. Next: waiting, active.
  case cancelled = 5

  /// The name of the state.
  public var description: String {
    switch self {
    case .waiting: "waiting"
    case .active: "active"
    case .paused: "paused"
    case .finished: "finished"
    case .failed: "failed"
    case .cancelled: "cancelled"
    }
  }
}

/// The state of a download, with the values of that state.
package enum DownloadStatus: Hashable, Sendable {
  /// Waits for a start request, or, if requested, for a free worker.
  case waiting(isRequested: Bool)
  case active
  case paused
  case finished
  indirect case failed(ContentError)
  case cancelled

  package var state: DownloadState {
    switch self {
    case .waiting: .waiting
    case .active: .active
    case .paused: .paused
    case .finished: .finished
    case .failed: .failed
    case .cancelled: .cancelled
    }
  }
}

package struct DownloadRecord: Hashable, Sendable {
  /// The identifier, unique in a library; it shares the storage of its transaction's.
  package let id: DownloadID
  /// The priority, −1000 to 1000; higher ones start first; not journaled.
  package var priority: Int32 = 0
  /// The offer; thousands of downloads may share one.
  package private(set) var sharedOffer: Shared<ContentOffer>
  package var status: DownloadStatus
  /// Whether the version is installed beside the current one; nil unless it is an update.
  package var keepsCurrent: Bool?

  /// Creates download `number`, from 1, of the transaction with the identifier `transaction`.
  package init(
    of transaction: TransactionID, number: Int, sharing offer: Shared<ContentOffer>,
    status: DownloadStatus = .waiting(isRequested: false)
  ) {
    id = DownloadID(of: transaction, number: Int32(clamping: number))
    sharedOffer = offer
    self.status = status
  }

  package var offer: ContentOffer {
    get { sharedOffer.value }
    set { sharedOffer = Shared(newValue) }
  }

  /// The version to install.
  package var content: ContentKey { ContentKey(offer.contentIdentifier, version: offer.version) }

  package var state: DownloadState { status.state }

  /// Whether it waits for a free worker.
  package var isRequested: Bool { status == .waiting(isRequested: true) }

  /// Nil unless failed.
  package var error: ContentError? {
    if case .failed(let error) = status { error } else { nil }
  }
}

/// A shared reference to a value, to store it once.
package final class Shared<Value: Hashable & Sendable>: Hashable, Sendable {
  package let value: Value

  package init(_ value: Value) { self.value = value }

  package static func == (left: Shared, right: Shared) -> Bool {
    left === right || left.value == right.value
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(value) }
}
