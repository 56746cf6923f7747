public import AppUpdate
public import HostedContent

/// The store and the library of a queue, which Apple's API does not have.
///
/// Pass it to `SKPaymentQueue.configure(_:)` at launch, or set environment variables.
public struct SKHostConfiguration: Sendable {
  /// The engine's configuration: library, store, trusted root, network, store service and more.
  ///
  /// If it does not set a delivery queue, observers are called on the main queue.
  public var queue: PaymentQueue.Configuration
  /// The language of titles and descriptions (BCP 47).
  ///
  /// Default: the language of the current locale, or else English.
  public var language: String
  /// The configuration of the look-ups of `SKStoreProductViewController`.
  public var lookup = AppLookup.Configuration()
  /// Called with errors for which Apple's StoreKit raises an exception or does nothing.
  ///
  /// An example is finishing a purchasing transaction. Called on any thread. By default, it writes
  /// a line to standard error.
  public var onRefusal: @Sendable (ContentError) -> Void = Self.logToStandardError

  static let logToStandardError: @Sendable (ContentError) -> Void = { error in
    let line = Data("StoreKit: \(error)".printable().utf8 + [0x0a])
    // Fails if standard error is closed or on a full disk.
    try? FileHandle.standardError.write(contentsOf: line)
  }

  /// Creates a configuration from the engine's configuration.
  public init(queue: PaymentQueue.Configuration) {
    self.queue = queue
    language = Locale.current.language.languageCode?.identifier ?? "en"
  }

  /// Creates a configuration with a store, a library folder, and a file of the trusted root.
  ///
  /// The store is a folder, or a `file://`, `http://` or `https://` URL. The root is the store's
  /// `metadata/1.root.json`, obtained over a secure channel. For a store in a local folder, it may
  /// be nil. Throws `usage` if the store's location is invalid, and file errors of the root.
  public init(store: String, library: URL, trustedRoot: URL? = nil) throws {
    self.init(queue: PaymentQueue.Configuration(library: library, store: try StoreLocation(store)))
    guard let trustedRoot else { return }
    do {
      queue.trustedRoot = [UInt8](try Data(contentsOf: trustedRoot))
    } catch {
      throw ContentError(unreadableRoot: trustedRoot, error)
    }
  }

  /// Reads `HOSTEDCONTENT_STORE`, `HOSTEDCONTENT_LIBRARY` and the optional `HOSTEDCONTENT_ROOT`.
  ///
  /// Empty variables count as missing. Throws `usage` if the store or the library is missing, and
  /// the errors of the initializer with these values.
  public init(environment: [String: String] = ProcessInfo.processInfo.environment) throws {
    let environment = environment.filter { !$0.value.isEmpty }
    guard let store = environment["HOSTEDCONTENT_STORE"],
      let library = environment["HOSTEDCONTENT_LIBRARY"]
    else {
      throw ContentError(
        .usage, "Cannot make payments: StoreKit has no configured store",
        remedy: "Call SKPaymentQueue.configure(_:) at launch, or set the environment variables "
          + "HOSTEDCONTENT_STORE, HOSTEDCONTENT_LIBRARY and, for a web store, HOSTEDCONTENT_ROOT")
    }
    try self.init(
      store: store, library: URL(filePath: library, directoryHint: .isDirectory),
      trustedRoot: environment["HOSTEDCONTENT_ROOT"].map { URL(filePath: $0) })
  }
}

extension ContentError {
  fileprivate init(unreadableRoot url: URL, _ error: any Error) {
    let path = url.path(percentEncoded: false)
    let reason = (error as? CocoaError)?.code
    let isMissing = reason == .fileReadNoSuchFile || reason == .fileNoSuchFile
    self.init(
      isMissing ? .fileMissing : reason == .fileReadNoPermission ? .notPermitted : .fileFailed,
      "Cannot read the trusted root \(path)",
      remedy: "Check the path and the permissions of the file", subject: path,
      cause: error.localizedDescription)
  }
}
