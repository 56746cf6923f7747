public import AppUpdate
public import Foundation
public import HostedContent

/// Where content comes from and where it goes: what Apple's API has no place for.
///
/// Give one to `SKPaymentQueue.configure(_:)` at launch, or set environment variables.
public struct SKHostConfiguration: Sendable {
  /// Library, store, trusted root, network, seller, and all else that the engine takes.
  ///
  /// Without a delivery queue, observers are called on the main queue.
  public var queue: PaymentQueue.Configuration
  /// The language of titles and descriptions, BCP 47.
  ///
  /// Default: the current locale's, else English.
  public var language: String
  /// Where `SKStoreProductViewController` looks items up.
  public var lookup = AppLookup.Configuration()
  /// Told of what Apple's StoreKit answers with an exception or with silence.
  ///
  /// Such as finishing a purchasing transaction. Called on any thread; by default a line on
  /// standard error.
  public var onRefusal: @Sendable (ContentError) -> Void = Self.logToStandardError

  static let logToStandardError: @Sendable (ContentError) -> Void = { error in
    FileHandle.standardError.write(Data("StoreKit: \(error)".printable().utf8 + [0x0a]))
  }

  /// Takes all that the engine can be told.
  public init(queue: PaymentQueue.Configuration) {
    self.queue = queue
    language = Locale.current.language.languageCode?.identifier ?? "en"
  }

  /// Names the store (a folder, or a `file://`, `http://` or `https://` URL), the library's folder,
  /// and the file of the store's trusted root.
  ///
  /// The root is the store's `metadata/1.root.json`, brought on a safe way; a store in a local
  /// folder vouches for itself when it is nil. Throws `usage` for a store that cannot be read, and
  /// file errors of the root.
  public init(store: String, library: URL, trustedRoot: URL? = nil) throws {
    self.init(
      queue: PaymentQueue.Configuration(library: library, store: try StoreLocation(store)))
    queue.trustedRoot = try trustedRoot.map { [UInt8](try Data(contentsOf: $0)) }
  }

  /// Reads `HOSTEDCONTENT_STORE`, `HOSTEDCONTENT_LIBRARY` and, where there is one,
  /// `HOSTEDCONTENT_ROOT`.
  ///
  /// Throws `usage` when the store or the library is not named.
  public init(environment: [String: String] = ProcessInfo.processInfo.environment) throws {
    guard let store = environment["HOSTEDCONTENT_STORE"],
      let library = environment["HOSTEDCONTENT_LIBRARY"]
    else {
      throw ContentError(
        .usage, "No store is configured, so payments cannot be made",
        remedy: "Call SKPaymentQueue.configure(_:) at launch, or set the environment variables "
          + "HOSTEDCONTENT_STORE, HOSTEDCONTENT_LIBRARY and, for a web store, HOSTEDCONTENT_ROOT")
    }
    try self.init(
      store: store, library: URL(filePath: library, directoryHint: .isDirectory),
      trustedRoot: environment["HOSTEDCONTENT_ROOT"].map { URL(filePath: $0) })
  }
}
