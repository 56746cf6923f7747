import HostedLibrary
import HostedPackage
import HostedTransfer

/// A version that the store offers instead of an installed one, which is older or was withdrawn.
public struct ContentUpdate: Hashable, Codable, Sendable, CustomStringConvertible {
  /// The product.
  public let productIdentifier: ProductIdentifier
  /// The content; equal to the product unless it has several.
  public let contentIdentifier: ProductIdentifier
  /// The current version in the library.
  public let installed: ContentVersion
  /// The version that the catalog offers.
  public let offered: ContentVersion
  /// The maximum bytes that the update fetches; exact once measured.
  ///
  /// `LibraryReader.updates(of:from:service:)` measures it. The value excludes what
  /// installed files provide, and includes the bytes between two pieces that share a request.
  public internal(set) var bytesToMove: Int64
  /// The reason, one sentence, why the whole package is fetched; nil if members suffice.
  ///
  /// Also nil if the update was not measured.
  public internal(set) var wholePackageReason: String?
  /// The error of measuring; nil if it succeeded or was not requested.
  ///
  /// With an error, `bytesToMove` is only the maximum.
  public internal(set) var measuringError: ContentError?
  /// Bytes of a download without installed files.
  public let bytesInFull: Int64

  /// Creates the update from `installed` to the offered version.
  package init(of offer: ContentOffer, from installed: ContentVersion) {
    productIdentifier = offer.productIdentifier
    contentIdentifier = offer.contentIdentifier
    self.installed = installed
    offered = offer.version
    let (length, isTooLong) = offer.package.length.addingReportingOverflow(offer.index.length)
    // The lengths that a service names are not checked before a download.
    bytesInFull = isTooLong ? .max : length
    bytesToMove = bytesInFull
  }

  func isOf(_ offer: ContentOffer) -> Bool {
    offer.contentIdentifier == contentIdentifier && offer.version == offered
  }

  /// The content and both versions, such as `com.example.book 1.0 → 1.1`.
  public var description: String { "\(contentIdentifier) \(installed) → \(offered)" }
}

/// Content that the store offers only in older versions than the installed one.
///
/// It is only reported, because a store that went back may have a problem; nothing is installed.
public struct ContentDowngrade: Hashable, Codable, Sendable, CustomStringConvertible {
  /// The product.
  public let productIdentifier: ProductIdentifier
  /// The content.
  public let contentIdentifier: ProductIdentifier
  /// The newest version in the library.
  public let installed: ContentVersion
  /// The version that the catalog offers.
  public let offered: ContentVersion

  /// The content and both versions, such as `com.example.book 1.1 → 1.0`.
  public var description: String { "\(contentIdentifier) \(installed) → \(offered)" }
}

/// Compares offered and installed contents; pure.
struct UpdateComparison: Hashable, Sendable {
  /// Versions to install or to use instead of the current ones, by product and content.
  private(set) var updates: [ContentUpdate] = []
  /// Older versions, by product and content.
  private(set) var downgrades: [ContentDowngrade] = []
  private let installed: Set<ContentKey>

  /// Updates to versions that are not installed yet.
  ///
  /// The others replace a withdrawn version as soon as they are used.
  var downloads: [ContentUpdate] {
    updates.filter { !installed.contains(ContentKey($0.contentIdentifier, version: $0.offered)) }
  }

  /// `current` has the current versions; an installed newer version needs no update.
  ///
  /// A withdrawn version counts as older than every offered version.
  init(
    of products: [Product], installed: [InstalledContent],
    current: [ProductIdentifier: ContentVersion]
  ) {
    self.installed = Set(installed.map { ContentKey($0.contentIdentifier, version: $0.version) })
    let versions = Dictionary(grouping: installed, by: \.contentIdentifier)
      .mapValues { $0.map(\.version).sorted() }
    for product in products.sorted(by: { $0.productIdentifier < $1.productIdentifier }) {
      for offer in product.contents {
        let content = offer.contentIdentifier
        guard let known = versions[content], let highest = known.last else { continue }
        let newest = known.last { !product.isWithdrawn($0, of: content) }
        let inUse = current[content] ?? newest ?? highest
        if let newest, newest > offer.version {
          downgrades.append(
            ContentDowngrade(
              productIdentifier: product.productIdentifier, contentIdentifier: content,
              installed: newest, offered: offer.version))
        } else if newest != offer.version || product.isWithdrawn(inUse, of: content) {
          updates.append(ContentUpdate(of: offer, from: inUse))
        }
      }
    }
  }
}

extension ContentLibrary {
  func comparison(with products: [Product]) throws -> UpdateComparison {
    // First, so that a version that becomes current during the look is among the installed ones.
    let current = try currentVersions()
    return UpdateComparison(of: products, installed: try journal.installed(), current: current)
  }

  /// Returns `update` with the bytes to fetch for installing `offer`, including its index.
  ///
  /// Never more than a full download, because each member is fetched at most once.
  fileprivate func measure(
    _ update: ContentUpdate, to offer: ContentOffer, from source: any PieceSource
  ) throws -> ContentUpdate {
    var measured = update
    let index = try PackageIndex(signedAs: offer, from: source, ticket: TransferTicket())
    guard index.payload != nil else {
      measured.wholePackageReason = index.obstacle ?? PackageFetch.noMembers
      return measured
    }
    let survey = try PackageSurvey(
      of: index, name: offer.package.path, staging: nil, reusing: reusableTrees(for: offer))
    measured.bytesToMove =
      source.bytesMoved(by: survey.missingPieces, of: offer.package) + offer.index.length
    return measured
  }
}

extension LibraryReader {
  /// Returns the available updates, with the bytes that each would fetch; blocks.
  ///
  /// Reads the index of each offered version from `store` or a mirror, and changed installed files.
  /// Fetches nothing else and writes nothing. If an update cannot be measured, it has an error and
  /// the others are still measured. If content is only for buyers, `service` must grant it to the
  /// library's own account (`ContentGranting`). Throws errors of the network and of the library.
  public func updates(
    of products: [Product], from store: StoreReader, service: (any StoreService)? = nil
  ) throws -> [ContentUpdate] {
    let updates = try updates(of: products)
    guard !updates.isEmpty else { return [] }
    let store = try StoreAccess(store)
    defer { store.close() }
    let sources = ContentSources(of: store, services: [service].compactMap(\.self))
    let offers = products.flatMap(\.contents).map {
      (ContentKey($0.contentIdentifier, version: $0.version), $0)
    }
    let offerByKey = Dictionary(offers) { first, _ in first }
    let offered = updates.map { offerByKey[ContentKey($0.contentIdentifier, version: $0.offered)] }
    return try updates.indices.map { number in
      let update = updates[number]
      guard let offer = offered[number] else { return update }
      let next = offered[(number + 1)...].prefix(ContentGrantBook.callLimit - 1)
      let source = try sources.source(
        for: ContentRequest(offer: offer, ahead: next.compactMap(\.self)))
      do {
        return try library.measure(update, to: offer, from: source)
      } catch {
        // A service may throw errors of its own.
        let error = ContentError(error, while: "measuring \(offer.contentIdentifier)")
        if error.group == .network { throw error }
        var unmeasured = update
        unmeasured.measuringError = error.about(offer.productIdentifier.rawValue)
        return unmeasured
      }
    }
  }
}
