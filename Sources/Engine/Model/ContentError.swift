public import FoundationEssentials

/// An error: what failed, on what, why, and what to do.
///
/// All modules share this type, because a download's error is journaled and shown again after a
/// restart. So it is codable, and its numbers are stable across versions. Each module defines its
/// own factories next to the code that throws them.
public struct ContentError: Error, Codable, Hashable, Sendable, LocalizedError,
  CustomStringConvertible
{
  /// The stable number of the error; its hundreds are the group.
  public let code: Code
  /// What failed, on what, and what was expected and found; one sentence.
  public let message: String
  /// What to do next; one sentence.
  public let remedy: String
  /// The product, content, file or process of the error, if any.
  public let subject: String?
  /// The unchanged message of the operating system or a C library, if any.
  public let cause: String?

  /// Creates an error; `message` and `remedy` are sentences without a final period.
  public init(
    _ code: Code, _ message: String, remedy: String, subject: String? = nil, cause: String? = nil
  ) {
    self.code = code
    self.message = message
    self.remedy = remedy
    self.subject = subject
    self.cause = cause
  }

  /// The number of an error, grouped by hundreds; its meaning never changes.
  public struct Code: RawRepresentable, Codable, Hashable, Sendable, CustomStringConvertible {
    /// The number, as journaled and shown.
    public let rawValue: Int

    /// Creates a code from a number, even an unknown one.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The number.
    public var description: String { "\(rawValue)" }
  }

  /// Groups of errors by where they can be solved.
  public enum Group: String, Codable, Sendable, PrintedAsRawValue {
    case network, server, file, diskSpace, trust, package, entitlement, user, `internal`
  }

  /// The group of the code.
  public var group: Group { code.group }

  /// Whether the same action can succeed later without any change.
  public var isRetryable: Bool { code.isRetryable }

  /// The message, followed by the cause if any.
  public var errorDescription: String? { cause.map { "\(message): \($0)" } ?? message }

  /// The remedy.
  public var recoverySuggestion: String? { remedy }

  /// The message, cause, remedy and number in one line that is safe to print and to log.
  ///
  /// Control characters and invisible characters are replaced; `message` and `cause` may contain
  /// them.
  public var description: String {
    "\(errorDescription ?? message). \(remedy). [\(code.rawValue)]".printable(limit: .max)
  }

  /// Returns a `ContentError` unchanged, and wraps any other error as an internal one.
  public init(_ error: any Error, while action: String) {
    if let known = error as? ContentError {
      self = known
    } else {
      self.init(
        .inconsistent, "Unexpected failure while \(action)",
        remedy: "Report this bug with the full error text",
        cause: "\(error)")
    }
  }

  /// Returns the error with `subject`, unless it already has one.
  package func about(_ subject: String) -> ContentError {
    self.subject == nil ? with(subject: subject) : self
  }

  /// Returns the error with other values.
  package func with(
    code: Code? = nil, message: String? = nil, remedy: String? = nil, subject: String? = nil
  ) -> ContentError {
    ContentError(
      code ?? self.code, message ?? self.message, remedy: remedy ?? self.remedy,
      subject: subject ?? self.subject, cause: cause)
  }

  /// Returns the error with the name of a product.
  ///
  /// A message about a file or a server would not identify the product.
  package func naming(_ product: ProductIdentifier) -> ContentError {
    let isNamed = description.contains(product.rawValue)
    return with(message: isNamed ? message : "\(product): \(message)", subject: product.rawValue)
  }

  /// Returns the error for a state that only a defect of this library causes.
  package static func defect(_ message: String, subject: String? = nil) -> ContentError {
    ContentError(.inconsistent, message, remedy: "Report this message as a bug", subject: subject)
  }

  /// Returns the error for a C library that cannot allocate memory.
  package static func outOfMemory(_ library: String) -> ContentError {
    ContentError(
      .outOfMemory, "\(library) cannot allocate memory",
      remedy: "Free memory or raise the process's limit, then try again")
  }
}

/// Returns the result of `body`; nil if it throws an error with one of `codes`.
package func nilIf<Value>(
  _ codes: ContentError.Code..., body: () throws -> Value?
) throws -> Value? {
  do {
    return try body()
  } catch let error as ContentError where codes.contains(error.code) {
    return nil
  }
}

// Module AppUpdate has codes that end with 20 to 29.
extension ContentError.Code {
  // Network: the connection to the store.
  /// The connection failed for another reason.
  public static let networkFailed = Self(rawValue: 100)
  /// The host name cannot be resolved.
  public static let hostNotFound = Self(rawValue: 101)
  /// The host refuses connections.
  public static let connectionRefused = Self(rawValue: 102)
  /// The host did not respond in time.
  public static let connectionTimedOut = Self(rawValue: 103)
  /// The transfer was too slow for too long.
  public static let transferStalled = Self(rawValue: 104)
  /// The connection ended before the transfer was complete.
  public static let connectionLost = Self(rawValue: 105)
  /// The TLS handshake failed.
  public static let secureConnectionFailed = Self(rawValue: 106)
  /// The host's certificate is not trusted, or is for another host.
  public static let certificateUntrusted = Self(rawValue: 107)
  /// The proxy cannot be reached or refuses the connection.
  public static let proxyFailed = Self(rawValue: 108)
  /// A server cannot listen at its configured address.
  public static let cannotListen = Self(rawValue: 190)

  // Server: the store and its files.
  /// The store, or a file of the signed catalog, is not found.
  public static let storeMissing = Self(rawValue: 200)
  /// A piece differs from its signed digest.
  public static let pieceDamaged = Self(rawValue: 201)
  /// Another process is writing the store.
  public static let storeLocked = Self(rawValue: 202)
  /// The store's files contradict each other or cannot be read.
  public static let storeDamaged = Self(rawValue: 203)
  /// The server failed (5xx).
  public static let serverFailed = Self(rawValue: 204)
  /// The server asks to wait (429, 503 with Retry-After).
  public static let serverBusy = Self(rawValue: 205)
  /// The server requires other credentials (401, 403, 407).
  public static let accessDenied = Self(rawValue: 206)
  /// The server refuses the request (other 4xx).
  public static let requestRefused = Self(rawValue: 207)
  /// The response has a wrong range, length, encoding or type.
  public static let answerUnusable = Self(rawValue: 208)
  /// A redirect is not allowed, such as from https to http.
  public static let redirectRefused = Self(rawValue: 209)
  /// Too many redirects.
  public static let tooManyRedirects = Self(rawValue: 210)
  /// Plain HTTP where HTTPS is required: for credentials, or for a forced update.
  public static let insecureConnectionRefused = Self(rawValue: 211)
  /// The store's metadata is older than the last signed version.
  public static let storeRolledBack = Self(rawValue: 230)

  // File: the local file system and the library folder.
  /// A system call on a file failed for another reason.
  public static let fileFailed = Self(rawValue: 300)
  /// A file or folder is not found.
  public static let fileMissing = Self(rawValue: 301)
  /// Permission to read or write is denied.
  public static let notPermitted = Self(rawValue: 302)
  /// Too many file descriptors are open in the process or the system.
  public static let tooManyFiles = Self(rawValue: 303)
  /// The process cannot start as many threads as it needs.
  public static let tooFewThreads = Self(rawValue: 304)
  /// A C library could not allocate memory.
  public static let outOfMemory = Self(rawValue: 305)
  /// The file or folder to create already exists.
  public static let fileExists = Self(rawValue: 306)
  /// Another engine uses the library.
  public static let libraryLocked = Self(rawValue: 310)
  /// A newer version of the software wrote the library.
  public static let libraryNewer = Self(rawValue: 311)
  /// The journal cannot be read or written.
  public static let journalFailed = Self(rawValue: 312)
  /// Installed files were changed after the install.
  public static let contentDamaged = Self(rawValue: 313)
  /// The content is not installed.
  public static let notInstalled = Self(rawValue: 314)

  /// A process uses the content.
  public static let contentInUse = Self(rawValue: 315)
  /// The folder contains files that do not belong to a library.
  public static let libraryFolderTaken = Self(rawValue: 316)
  /// The file system does not support an operation that a library needs.
  public static let fileSystemUnsupported = Self(rawValue: 317)
  /// The ledger of purchases cannot be read or written.
  public static let ledgerFailed = Self(rawValue: 318)

  // Disk space.
  /// The disk does not have enough free space.
  public static let diskFull = Self(rawValue: 400)

  // Trust: the signed catalog.
  /// Metadata is malformed.
  public static let metadataDamaged = Self(rawValue: 500)
  /// Metadata has too few valid signatures.
  public static let signatureInvalid = Self(rawValue: 501)
  /// Metadata has expired.
  public static let metadataExpired = Self(rawValue: 502)
  /// Metadata is older than the trusted version.
  public static let metadataRolledBack = Self(rawValue: 503)
  /// A file differs from its length or digest in the metadata.
  public static let digestMismatch = Self(rawValue: 504)
  /// The system clock is earlier than at the last refresh of the catalog.
  public static let clockWentBackwards = Self(rawValue: 505)
  /// No trusted root is configured or stored for the store.
  public static let rootMissing = Self(rawValue: 506)
  /// A signing key is missing or cannot be used.
  public static let keyUnusable = Self(rawValue: 507)
  /// A receipt is not from the seller, is for another account, or has expired.
  public static let receiptInvalid = Self(rawValue: 508)
  /// The configured root is not connected to the trusted root.
  public static let rootMismatch = Self(rawValue: 509)
  /// The passphrase of a key is wrong or missing.
  public static let passphraseWrong = Self(rawValue: 510)
  /// The configured root is not root metadata.
  public static let rootInvalid = Self(rawValue: 511)

  // Package: the content archive.
  /// The archive format is not supported.
  public static let formatUnknown = Self(rawValue: 600)
  /// The archive is incomplete or contradicts itself.
  public static let archiveDamaged = Self(rawValue: 601)
  /// An entry breaks a safety rule.
  public static let entryRefused = Self(rawValue: 602)
  /// ContentInfo.plist is missing or invalid.
  public static let contentInfoInvalid = Self(rawValue: 603)
  /// ContentInfo.plist names another product than the offer.
  public static let wrongProduct = Self(rawValue: 604)
  /// ContentInfo.plist names another version than the offer.
  public static let wrongVersion = Self(rawValue: 605)
  /// The archive contains executable code.
  public static let executableContent = Self(rawValue: 606)
  /// The archive exceeds a limit of size, count, depth or expansion.
  public static let limitExceeded = Self(rawValue: 607)
  /// Unpacked files differ from the signed index.
  public static let indexMismatch = Self(rawValue: 608)
  /// A package cannot be built from the folder.
  public static let buildFailed = Self(rawValue: 609)

  // Entitlement: the service and the account.
  /// The store does not offer the product.
  public static let productUnknown = Self(rawValue: 700)
  /// The account is not entitled to the product.
  public static let notEntitled = Self(rawValue: 701)
  /// This version of the product is already published.
  public static let versionExists = Self(rawValue: 702)
  /// Several products claim the same content.
  public static let contentClaimed = Self(rawValue: 703)
  /// The app stopped the purchase in the account's storefront.
  public static let storefrontRefused = Self(rawValue: 704)
  /// The store service's response does not match the order or the catalog.
  public static let answerMismatch = Self(rawValue: 705)
  /// The transaction identifier is already used.
  public static let transactionExists = Self(rawValue: 706)
  /// The store service did not respond in time; the order stays open.
  public static let serviceNotResponding = Self(rawValue: 707)
  /// The purchase waits for an approval or a payment.
  public static let awaitingDecision = Self(rawValue: 708)
  /// The purchase was declined.
  public static let purchaseDeclined = Self(rawValue: 709)
  /// The account must first do something at the seller.
  public static let purchaseInterrupted = Self(rawValue: 710)
  /// The purchase was refunded or revoked, or has expired.
  public static let purchaseRevoked = Self(rawValue: 711)
  /// The product is not for sale anymore.
  public static let notForSale = Self(rawValue: 712)
  /// The store service failed; the purchase is undecided, and is repeated.
  public static let serviceFailed = Self(rawValue: 713)
  /// The voucher is unknown, used, expired, revoked, or for another product.
  public static let voucherRefused = Self(rawValue: 714)

  // User: the request is invalid.
  /// The product identifier is invalid.
  public static let identifierInvalid = Self(rawValue: 800)
  /// The version is not a series of integers separated by periods.
  public static let versionInvalid = Self(rawValue: 801)
  /// The transaction cannot be finished in its state.
  public static let cannotFinish = Self(rawValue: 802)
  /// The payment's quantity or account is out of range.
  public static let paymentInvalid = Self(rawValue: 803)
  /// The user stopped the action.
  public static let stopped = Self(rawValue: 804)
  /// The command line or an argument is invalid.
  public static let usage = Self(rawValue: 805)
  /// The action did not succeed in time.
  public static let timedOut = Self(rawValue: 806)

  /// A restore is already running.
  public static let restoreUnderWay = Self(rawValue: 807)

  // Internal.
  /// An internal check failed; the message says where.
  public static let inconsistent = Self(rawValue: 900)

  /// The group of the hundreds; `internal` for an unknown number.
  package var group: ContentError.Group {
    switch rawValue / 100 {
    case 1: .network
    case 2: .server
    case 3: .file
    case 4: .diskSpace
    case 5: .trust
    case 6: .package
    case 7: .entitlement
    case 8: .user
    default: .internal
    }
  }

  /// AppUpdate's code for too many requests.
  private static let lookupThrottled = Self(rawValue: 220)

  /// Whether the same action can succeed later without any change.
  package var isRetryable: Bool {
    switch self {
    case .storeMissing, .pieceDamaged, .storeLocked, .contentInUse, .restoreUnderWay, .tooManyFiles,
      .outOfMemory, .libraryLocked, .diskFull, .fileFailed, .journalFailed, .ledgerFailed,
      .serviceNotResponding, .awaitingDecision, .serviceFailed, .metadataExpired, .stopped,
      .timedOut, .serverFailed, .serverBusy, .answerUnusable, .lookupThrottled:
      true
    case .certificateUntrusted: false
    default: group == .network
    }
  }
}
