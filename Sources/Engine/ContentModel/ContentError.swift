public import FoundationEssentials

/// A failure as a value: what failed, on what, why, and what a person can do about it.
///
/// One type serves every module, because a download's error is journaled and shown again after a
/// restart: it must be codable, and its numbers must outlive versions. Each module adds its own
/// factories beside the code that throws them.
public struct ContentError: Error, Codable, Hashable, Sendable {
  /// The stable number of a failure; the hundreds are the group.
  public let code: Code
  /// What was being done, to what, what was expected and what was found; one sentence.
  public let message: String
  /// What a person can do next; one sentence.
  public let remedy: String
  /// The product, content, file or process that the failure belongs to, where there is one.
  public let subject: String?
  /// The operating system's or a C library's own words, kept as they came.
  public let cause: String?

  /// Creates an error; `message` and `remedy` are whole sentences without a final period.
  public init(
    _ code: Code, _ message: String, remedy: String, subject: String? = nil, cause: String? = nil
  ) {
    self.code = code
    self.message = message
    self.remedy = remedy
    self.subject = subject
    self.cause = cause
  }

  /// The numbers of failures, grouped by hundreds; a number is never given a second meaning.
  public struct Code: RawRepresentable, Codable, Hashable, Sendable {
    /// The number as it is journaled and shown.
    public let rawValue: Int

    /// Wraps a number, known to this version or not.
    public init(rawValue: Int) { self.rawValue = rawValue }
  }

  /// Groups of failures: who can do something about it.
  public enum Group: String, Codable, Sendable {
    case network, server, file, diskSpace, trust, package, entitlement, user, `internal`
  }

  /// The group that the code's hundreds name.
  public var group: Group { code.group }

  /// Whether the same action can succeed later without anybody changing its input.
  public var isRetryable: Bool { code.isRetryable }
}

extension ContentError.Code {
  // Network: between here and the store.
  /// A connection failed in a way that has no code of its own.
  public static let networkFailed = Self(rawValue: 100)
  /// The host's name has no address now.
  public static let hostNotFound = Self(rawValue: 101)
  /// The host refuses connections.
  public static let connectionRefused = Self(rawValue: 102)
  /// The host did not answer in time.
  public static let connectionTimedOut = Self(rawValue: 103)
  /// A transfer moved too little for too long.
  public static let transferStalled = Self(rawValue: 104)
  /// A connection ended before everything promised had arrived.
  public static let connectionLost = Self(rawValue: 105)
  /// No secure connection could be agreed upon.
  public static let secureConnectionFailed = Self(rawValue: 106)
  /// The host's certificate is not trusted, or not for this host.
  public static let certificateUntrusted = Self(rawValue: 107)
  /// The proxy is not found or refuses.
  public static let proxyFailed = Self(rawValue: 108)
  /// A server cannot listen at the address that it was given.
  public static let cannotListen = Self(rawValue: 190)

  // Server: the store's side.
  /// The store, or a file that the signed catalog promises, is not there.
  public static let storeMissing = Self(rawValue: 200)
  /// A piece's bytes differ from the signed digest.
  public static let pieceDamaged = Self(rawValue: 201)
  /// The store is being written by another process.
  public static let storeLocked = Self(rawValue: 202)
  /// The store's own files contradict each other or cannot be read.
  public static let storeDamaged = Self(rawValue: 203)
  /// The server says that it failed (5xx).
  public static let serverFailed = Self(rawValue: 204)
  /// The server asks for patience (429, 503 with Retry-After).
  public static let serverBusy = Self(rawValue: 205)
  /// The server wants other credentials (401, 403, 407).
  public static let accessDenied = Self(rawValue: 206)
  /// The server refuses the request for another reason (4xx).
  public static let requestRefused = Self(rawValue: 207)
  /// The answer is not what was asked for: another range, length, encoding or type.
  public static let answerUnusable = Self(rawValue: 208)
  /// A redirect leads where none may be followed, such as from https to http.
  public static let redirectRefused = Self(rawValue: 209)
  /// Redirects do not end.
  public static let tooManyRedirects = Self(rawValue: 210)
  /// Plain HTTP is refused where HTTPS is required: for credentials, or for an update that is
  /// forced.
  public static let insecureConnectionRefused = Self(rawValue: 211)
  /// A server for app versions asks to wait, or more was asked of it than it allows.
  public static let lookupThrottled = Self(rawValue: 220)
  /// A server for app versions answers what cannot be read.
  public static let answerUnreadable = Self(rawValue: 221)
  /// A server offers an older version of the app than it did before.
  public static let appVersionWentDown = Self(rawValue: 222)
  /// The store's metadata is older than what its publisher signed last.
  public static let storeRolledBack = Self(rawValue: 230)

  // File: the local file system and the library folder.
  /// A system call on a file failed in a way that has no code of its own.
  public static let fileFailed = Self(rawValue: 300)
  /// A file or folder is not there.
  public static let fileMissing = Self(rawValue: 301)
  /// The process may not write or read there.
  public static let notPermitted = Self(rawValue: 302)
  /// Too many descriptors are open in the process or the system.
  public static let tooManyFiles = Self(rawValue: 303)
  /// The process may not start as many threads as it needs.
  public static let tooFewThreads = Self(rawValue: 304)
  /// A library could not allocate memory.
  public static let outOfMemory = Self(rawValue: 305)
  /// Something exists where a new file or folder was to be created.
  public static let fileExists = Self(rawValue: 306)
  /// Another engine uses the library.
  public static let libraryLocked = Self(rawValue: 310)
  /// A newer version of the software has written the library.
  public static let libraryNewer = Self(rawValue: 311)
  /// The journal cannot be read or written.
  public static let journalFailed = Self(rawValue: 312)
  /// Installed content differs from what was installed.
  public static let contentDamaged = Self(rawValue: 313)
  /// The content is not installed.
  public static let notInstalled = Self(rawValue: 314)

  /// A process uses the content.
  public static let contentInUse = Self(rawValue: 315)
  /// The folder holds files that do not belong to a library.
  public static let libraryFolderTaken = Self(rawValue: 316)
  /// The file system lacks an operation that a library needs.
  public static let fileSystemUnsupported = Self(rawValue: 317)
  /// The record of what accounts were granted cannot be read or written.
  public static let grantsFailed = Self(rawValue: 318)
  /// What was remembered about the app's updates cannot be read; it begins anew.
  public static let updateMemoryDamaged = Self(rawValue: 320)
  /// A feed of apps breaks off or is none.
  public static let feedDamaged = Self(rawValue: 321)

  // Disk space.
  /// The file system has no room for what is to be written.
  public static let diskFull = Self(rawValue: 400)

  // Trust: the signed catalog.
  /// Metadata is not well-formed.
  public static let metadataDamaged = Self(rawValue: 500)
  /// Too few valid signatures stand under metadata.
  public static let signatureInvalid = Self(rawValue: 501)
  /// Metadata has expired.
  public static let metadataExpired = Self(rawValue: 502)
  /// Metadata is older than what was trusted before.
  public static let metadataRolledBack = Self(rawValue: 503)
  /// Bytes differ from the length or digest that metadata promised.
  public static let digestMismatch = Self(rawValue: 504)
  /// The system clock is earlier than when the catalog was last refreshed.
  public static let clockWentBackwards = Self(rawValue: 505)
  /// No trusted root is known for the store.
  public static let rootMissing = Self(rawValue: 506)
  /// A signing key is missing or cannot be used.
  public static let keyUnusable = Self(rawValue: 507)
  /// A seller's receipt is not signed by the seller, is somebody else's, or is not valid any more.
  public static let receiptInvalid = Self(rawValue: 508)
  /// The given root is not connected to the root that is trusted already.
  public static let rootMismatch = Self(rawValue: 509)
  /// A key is encrypted with another passphrase, or no passphrase was given.
  public static let passphraseWrong = Self(rawValue: 510)
  /// The root that was given is not root metadata.
  public static let rootInvalid = Self(rawValue: 511)

  // Package: the content archive.
  /// The bytes are no archive of a form that is read.
  public static let formUnknown = Self(rawValue: 600)
  /// The archive breaks off or contradicts itself.
  public static let archiveDamaged = Self(rawValue: 601)
  /// An entry breaks a rule of safety.
  public static let entryRefused = Self(rawValue: 602)
  /// ContentInfo.plist is missing or not well-formed.
  public static let contentInfoInvalid = Self(rawValue: 603)
  /// ContentInfo.plist names another product than was promised.
  public static let wrongProduct = Self(rawValue: 604)
  /// ContentInfo.plist names another version than was promised.
  public static let wrongVersion = Self(rawValue: 605)
  /// The archive contains executable code.
  public static let executableContent = Self(rawValue: 606)
  /// The archive exceeds a limit of size, count, depth or expansion.
  public static let limitExceeded = Self(rawValue: 607)
  /// Unpacked files differ from the signed index.
  public static let indexMismatch = Self(rawValue: 608)
  /// A folder cannot be built into a package.
  public static let buildFailed = Self(rawValue: 609)

  // Entitlement: who sells.
  /// The store does not offer the product.
  public static let productUnknown = Self(rawValue: 700)
  /// The account may not have the product.
  public static let notEntitled = Self(rawValue: 701)
  /// This version of the product is published already.
  public static let versionExists = Self(rawValue: 702)
  /// A content identifier is claimed by more than one product.
  public static let contentClaimed = Self(rawValue: 703)
  /// The service does not go on in the storefront that the account has now.
  public static let storefrontRefused = Self(rawValue: 704)
  /// A seller's answer does not match the order, or names content that the catalog does not offer.
  public static let answerMismatch = Self(rawValue: 705)
  /// Another payment or grant has the same transaction identifier.
  public static let transactionExists = Self(rawValue: 706)
  /// The seller has not answered an order in time; the order stays open.
  public static let sellerNotResponding = Self(rawValue: 707)
  /// No storefront that was asked offers the app.
  public static let appNotOffered = Self(rawValue: 720)

  // User: what was asked cannot be.
  /// A product identifier breaks its rules.
  public static let identifierInvalid = Self(rawValue: 800)
  /// A version is no series of integers separated by periods.
  public static let versionInvalid = Self(rawValue: 801)
  /// A transaction cannot be finished in its state.
  public static let cannotFinish = Self(rawValue: 802)
  /// A payment's quantity or account is out of range.
  public static let paymentInvalid = Self(rawValue: 803)
  /// The action was stopped by its user.
  public static let stopped = Self(rawValue: 804)
  /// A command was used wrongly.
  public static let usage = Self(rawValue: 805)
  /// Nothing succeeded within the time that was set.
  public static let timedOut = Self(rawValue: 806)

  /// A restore is under way already.
  public static let restoreUnderWay = Self(rawValue: 807)
  /// An operation is refused until the app is updated.
  public static let updateRequired = Self(rawValue: 820)
  /// A country is not two letters of ISO 3166-1.
  public static let countryInvalid = Self(rawValue: 821)
  /// A text is no Apple ID, bundle identifier or product link.
  public static let appIdentifierInvalid = Self(rawValue: 822)
  /// A search or look-up has a parameter out of range.
  public static let queryInvalid = Self(rawValue: 823)

  // Internal.
  /// The software contradicts itself; the message says where.
  public static let inconsistent = Self(rawValue: 900)

  /// The group that the hundreds name; an unknown number belongs to `internal`.
  public var group: ContentError.Group {
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

  /// Whether the same action can succeed later without anybody changing its input.
  public var isRetryable: Bool {
    switch self {
    case .storeMissing, .pieceDamaged, .storeLocked, .contentInUse, .restoreUnderWay, .tooManyFiles,
      .outOfMemory, .libraryLocked, .diskFull,
      .fileFailed, .journalFailed, .grantsFailed, .sellerNotResponding, .metadataExpired, .stopped,
      .timedOut, .serverFailed,
      .serverBusy, .answerUnusable, .lookupThrottled:
      true
    case .certificateUntrusted: false
    default: group == .network
    }
  }
}

extension ContentError: LocalizedError, CustomStringConvertible {
  /// The message, with the cause's own words behind it.
  public var errorDescription: String? {
    cause.map { "\(message): \($0)" } ?? message
  }

  /// The remedy.
  public var recoverySuggestion: String? { remedy }

  /// Message, cause, remedy and number in one line that is safe to print and to log.
  ///
  /// Control characters and invisible ones are replaced; `message` and `cause` may contain them.
  public var description: String {
    "\(errorDescription ?? message). \(remedy). [\(code.rawValue)]".printable(limit: .max)
  }

  /// This error, or one that wraps another error's words as an internal one.
  public init(_ error: any Error, while action: String) {
    if let known = error as? ContentError {
      self = known
    } else {
      self.init(
        .inconsistent, "Unexpected failure while \(action)", remedy: "Report it with these words",
        cause: "\(error)")
    }
  }

  /// The same error, about `subject` unless it names one already.
  public func about(_ subject: String) -> ContentError {
    self.subject == nil
      ? ContentError(code, message, remedy: remedy, subject: subject, cause: cause) : self
  }

  /// `library` could not allocate memory.
  package static func outOfMemory(_ library: String) -> ContentError {
    ContentError(
      .outOfMemory, "\(library) cannot allocate memory",
      remedy: "Free memory or raise the process's limit, then try again")
  }
}
