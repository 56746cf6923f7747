import HostedModel
public import FoundationEssentials

/// Stores and packages by URL. Functions throw `usage` for a URL that is not a file URL.
extension StoreFolder {
  /// Creates a store with new keys and an empty catalog.
  ///
  /// Creates the parents of `url` too, and completes a store that a crash left incomplete. Throws
  /// `fileExists` if the folder is a store or has other files, and `usage` if it has the keys, if
  /// they belong to a store, and for an invalid plan or passphrase.
  public static func create(
    at url: URL, keys: StoreKeyOptions = StoreKeyOptions(), plan: StoreKeyPlan = StoreKeyPlan(),
    now: Date = Date()
  ) throws -> StoreFolder {
    try create(at: url.filePath(of: "store"), keys: keys, plan: plan, now: now)
  }

  /// Opens the store at `url`.
  ///
  /// Throws `storeMissing` if it does not exist. Use `restored` after you restored the files from a
  /// backup. Metadata that is older than the last signed metadata is then not an error
  /// (`storeRolledBack`), and the next change signs it again with higher version numbers. What was
  /// published after the backup is lost, and what was retired after it is offered again. Use it for
  /// one change, not for every change. If the publication record is from the backup too, `recover`.
  public static func open(
    at url: URL, keys: StoreKeyOptions = StoreKeyOptions(), restored: Bool = false
  ) throws -> StoreFolder {
    try open(at: url.filePath(of: "store"), keys: keys, restored: restored)
  }

  /// Repairs a store with inconsistent, lost or damaged metadata files.
  ///
  /// Continues from the newest snapshot and targets that belong together and are signed by the keys
  /// of the store's newest root, and signs them again with higher version numbers. The catalog
  /// loses what was published later: publish it again. What was retired later is offered again.
  /// Returns the version of these targets. Returns nil, without changes, if the metadata is
  /// consistent.
  ///
  /// Roots are not repaired, because clients need every root unchanged. Throws `storeRolledBack` if
  /// the metadata is consistent but older than the last signed metadata, and `storeDamaged` if no
  /// targets are left.
  public static func repair(
    at url: URL, keys: StoreKeyOptions = StoreKeyOptions(), now: Date = Date()
  ) throws -> Int64? {
    try repair(at: url.filePath(of: "store"), keys: keys, now: now)
  }

  /// Publishes content packages in one step, with the same details for each product.
  ///
  /// Each package's ContentInfo.plist determines product, content and version. Errors are thrown
  /// before anything is written: for invalid packages, each with all its findings; `versionExists`
  /// for a published version with other bytes, a lower version and a withdrawn one;
  /// `contentClaimed` if another product has the content; `diskFull` if the packages do not fit;
  /// `usage` for invalid details, and for a product of a type without content.
  ///
  /// With `repackaging`, archives of other formats or names are converted first, in a private
  /// folder of the store, so that updates and repairs transfer only what changed. The converted
  /// bytes count as the package. If a product's record was lost, it gets a new record.
  ///
  /// If packages are invalid, calls `didFind` with each finding before it throws.
  @discardableResult
  public func publish(
    _ packages: [URL], details: ProductDetails = ProductDetails(), repackaging: Bool = false,
    now: Date = Date(), didFind: (PackageFinding) -> Void = { _ in }
  ) throws -> Publication {
    try publish(
      packages.map { try $0.filePath(of: "package") }, details: details, repackaging: repackaging,
      now: now, didFind: didFind)
  }
}
