public import HostedModel
import HostedPackage
public import ContentStore
import HostedFileIO
import HostedContent
import HostedFileServer

/// Controls what the store offers and how it is served.
extension StoreSession {
  /// Builds a package of `files` and publishes it as `version` of a product.
  ///
  /// Files have paths below `Contents`. `content` selects one of several contents of the product.
  /// Without `files`, the content is one small text that differs for each version. Throws `usage`
  /// for another path, and what `StoreFolder.publish` throws.
  public func publish(
    _ product: ProductIdentifier, _ version: ContentVersion = "1.0",
    content: ProductIdentifier? = nil, files: [String: [UInt8]]? = nil,
    details: ProductDetails = ProductDetails()
  ) throws {
    let content = content ?? product
    let place = place
    let files = files ?? ["text.txt": Array("The text of \(content) \(version)\n".utf8)]
    let folder = try FileSystem.real.directory(at: place.folder.path)
    let source = "source-\(nextNumber())"
    let contents = try folder.createDirectory(source).createDirectory("Contents")
    for (path, bytes) in files { try Self.write(bytes, at: path, in: contents) }
    let output = "\(source).pkg"
    _ = try buildPackage(
      folder: folder.directory(source), output: folder, outputName: output,
      productIdentifier: product, contentIdentifier: content, version: version)
    try place.store.publish(["\(place.folder.path)/\(output)"], details: details, now: clock.now)
    try folder.removeTree(source)
    try folder.removeFile(output)
    try notePublication()
  }

  private static func write(_ bytes: [UInt8], at path: String, in root: Directory) throws {
    var folder = root
    var components = path.pathComponents()
    let isBelow = !components.contains(".") && !components.contains("..")
    guard isBelow, let name = components.popLast() else {
      throw ContentError(
        .usage, "“\(path)” is not the path of a file below Contents",
        remedy: "Use a path without “.” and “..”, such as a/b.txt")
    }
    for component in components { folder = try folder.createDirectory(component) }
    try folder.createFile(name).write(bytes)
  }

  /// Adds a product of any type without content, or changes the description of a product.
  public func offer(_ product: ProductIdentifier, details: ProductDetails = ProductDetails())
    throws
  {
    try place.store.add(product, details: details, now: clock.now)
    try notePublication()
  }

  /// Signs the store's catalog again.
  ///
  /// It expires 90 days after it was last written.
  public func refreshCatalog() throws {
    try place.store.refresh(now: clock.now)
    try notePublication()
  }

  /// Sets the faults from now on, one rule per line.
  ///
  /// An empty text removes all faults. Examples: `*.pkg cut 64kB once`, `*.pkg rate 1MB/s`, `*.pkg
  /// body changed`, `* status 503`. Throws `usage` for an invalid rule.
  public func setFaults(_ script: String) throws {
    try place.server.setFaults(FaultScript(script, name: "the session's fault script"))
  }

  /// Stops the store's server, or starts it again at the same address.
  public func setStoreIsReachable(_ isReachable: Bool) throws {
    if isReachable { try place.server.start() } else { place.server.stop() }
  }

  /// The requests to the store, in order: method, path, range, status, bytes and faults.
  public var requests: [String] { place.server.requests.map(\.line) }
}
