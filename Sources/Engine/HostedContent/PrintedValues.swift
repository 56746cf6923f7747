import HostedModel

// How the values of this module print: what a log needs, without module names, receipts and keys.

extension PaymentQueue.Configuration: CustomStringConvertible {
  /// The locations of the library, the store and its mirrors.
  public var description: String { "library: \(library), store: \(storeReader)" }
}

extension PaymentTransaction: CustomStringConvertible {
  /// The identifier, the state and the payment.
  public var description: String { "transaction \(id): \(transactionState), \(payment)" }
}

extension Download: CustomStringConvertible {
  /// The content, its version and the state, with the progress if it is active.
  public var description: String {
    let percent = state == .active ? " (\(Int(progress * 100)) %)" : ""
    return "\(contentIdentifier) \(contentVersion): \(state)\(percent)"
  }
}

extension DownloadPhase: CustomStringConvertible {
  /// The name of the phase.
  public var description: String { rawValue }
}

extension DownloadUpdate: CustomStringConvertible {
  /// The content, its version and the reported state, with the progress or the error.
  public var description: String {
    let details =
      switch state {
      case .active: " (\(Int(progress * 100)) %)"
      case .failed: error.map { " (\($0))" } ?? ""
      case .waiting, .paused, .finished, .cancelled: ""
      }
    return "\(download.contentIdentifier) \(download.contentVersion): \(state)\(details)"
  }
}

extension QueueReport: CustomStringConvertible {
  /// The kind of the report and its values.
  public var description: String {
    switch self {
    case .transactions(let transactions): "transactions: \(transactions)"
    case .downloads(let downloads): "downloads: \(downloads)"
    case .removed(let transactions): "removed: \(transactions)"
    case .failure(let error): "failure: \(error)"
    case .restoreEnded(let result): "restore ended: \(result)"
    }
  }
}

extension RestoreResult: CustomStringConvertible {
  /// The identifier, and the transactions or the error.
  public var description: String {
    "\(identifier): \(transactions)\(error.map { ", \($0)" } ?? "")"
  }
}

extension DiagnosticEvent: CustomStringConvertible {
  /// The severity, the name and the details.
  public var description: String {
    let details = details.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
    return "\(severity): \(name)\(details)".printable(limit: .max)
  }
}

extension DiagnosticEvent.Severity: CustomStringConvertible {
  /// The name of the severity.
  public var description: String { rawValue }
}

extension QueueStatistics: CustomStringConvertible {
  /// The counters of downloads, bytes and commits.
  public var description: String {
    "\(installs) installed, \(failures) failed, \(stops) stopped, \(bytesFetched) bytes fetched, "
      + "\(bytesReused) bytes reused, \(journalCommits) commits, \(journalFailures) failed commits"
  }
}

extension ContentUpdate: CustomStringConvertible {
  /// The content and both versions, such as `com.example.book 1.0 → 1.1`.
  public var description: String { "\(contentIdentifier) \(installed) → \(offered)" }
}

extension ContentDowngrade: CustomStringConvertible {
  /// The content and both versions, such as `com.example.book 1.1 → 1.0`.
  public var description: String { "\(contentIdentifier) \(installed) → \(offered)" }
}

extension UpdateMonitor.Policy: CustomStringConvertible {
  /// The name of the policy.
  public var description: String { rawValue }
}

extension UpdateMonitor.Check: CustomStringConvertible {
  /// The updates and downgrades, and what was installed or failed.
  public var description: String {
    "updates: \(updates); downgrades: \(downgrades); installed: \(installed); "
      + "failures: \(failures)"
  }
}

extension UpdateMonitor.Check.Failure: CustomStringConvertible {
  /// The update and the reason.
  public var description: String { "\(update): \(error)" }
}

extension RepairReport: CustomStringConvertible {
  /// The content, its version and the damaged paths.
  public var description: String {
    "\(contentIdentifier) \(version): \(damagedPaths.count) damaged, \(bytesFetched) bytes fetched"
  }
}

extension RevokedContentPolicy: CustomStringConvertible {
  /// The name of the policy.
  public var description: String {
    switch self {
    case .keep: "keep"
    case .remove: "remove"
    }
  }
}

extension LibraryReader.Entry: CustomStringConvertible {
  /// The content, its version and its size, and whether it is current.
  public var description: String { "\(content)\(isCurrent ? ", current" : "")" }
}

// MARK: Sellers

extension PurchaseOrder: CustomStringConvertible {
  /// The transaction and the payment.
  public var description: String {
    "transaction \(transaction): \(payment)\(isRepeated ? ", repeated" : "")"
  }
}

extension Receipt: CustomStringConvertible {
  /// The number of the purchase, the product and its version.
  public var description: String {
    let version = contentVersion.map { " \($0)" } ?? ""
    return "purchase \(transactionIdentifier.printable(limit: 256)): "
      + "\(quantity) × \(productIdentifier)\(version)"
  }
}

extension ReceiptSigningKey: CustomStringConvertible {
  /// The text `private key`, because the key is secret.
  public var description: String { "private key" }
}

extension ReceiptSigningKey.Kind: CustomStringConvertible {
  /// The name of the kind.
  public var description: String {
    switch self {
    case .ed25519: "ed25519"
    case .es256: "es256"
    }
  }
}

extension StoreEvent: CustomStringConvertible {
  /// The kind of the event and its values.
  public var description: String {
    switch self {
    case .answered(let transaction, let outcome): "answered \(transaction): \(outcome)"
    case .granted(let grant, let contents): "granted \(grant), contents: \(contents)"
    case .revoked(let revocation): "revoked \(revocation)"
    case .storefrontChanged(let storefront): "storefront changed: \(storefront)"
    case .promoted(let payment): "promoted \(payment)"
    case .contentPublished: "content published"
    case .checkpoint: "checkpoint"
    }
  }
}

extension StoreEventRecord: CustomStringConvertible {
  /// The event and its cursor.
  public var description: String {
    "\(event)\(cursor.map { " at \($0.printable(limit: 200))" } ?? "")"
  }
}

extension Revocation: CustomStringConvertible {
  /// The products and the account.
  public var description: String {
    let account = account.map { " for \($0.rawValue.printable(limit: 256))" } ?? ""
    return "\(productIdentifiers)\(account)"
  }
}

extension Storefront: CustomStringConvertible {
  /// The country code and the identifier.
  public var description: String { "\(countryCode) (\(identifier))".printable(limit: 200) }
}

extension RestoredPurchase: CustomStringConvertible {
  /// The purchase and its contents.
  public var description: String { "\(original), contents: \(contents)" }
}
