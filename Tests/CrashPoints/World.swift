import HostedModel
import HostedPackage
package import ContentStore
package import HostedFileIO
import Foundation
package import HostedContent
import HostedTestSupport

/// A folder with a store, libraries and a ledger, for operations that tests interrupt.
package struct World: Sendable {
  /// The product whose packages we build, with members.
  package static let own = "com.example.own"
  /// The product whose package was built by another tool, and is indexed by blocks.
  package static let foreign = "com.example.forms.zip"

  package let path: String
  /// Keeps a temporary folder alive.
  private let folder: TemporaryFolder?

  /// Uses the folder at `path`, which is not removed.
  package init(_ path: String) {
    self.path = path
    folder = nil
  }

  /// Creates a folder, which is removed with the last copy of this value.
  package init() throws {
    let folder = try TemporaryFolder()
    path = folder.path
    self.folder = folder
  }

  package var storePath: String { "\(path)/store" }
  package var grantsName: String { "ledger.sqlite" }
  package var ledgerPath: String { "\(path)/\(grantsName)" }

  package func libraryPath(_ name: String = "library") -> String { "\(path)/\(name)" }

  package func configuration(_ library: String, _ fileSystem: FileSystem) throws
    -> PaymentQueue.Configuration
  {
    var configuration = PaymentQueue.Configuration(
      library: URL(filePath: libraryPath(library)), store: try StoreLocation(storePath))
    configuration.ledgerFile = URL(filePath: ledgerPath)
    configuration.fileSystem = fileSystem
    return configuration
  }

  package func queue(_ library: String = "library", _ fileSystem: FileSystem = .real) throws
    -> PaymentQueue
  {
    try PaymentQueue(configuration(library, fileSystem))
  }

  package func reader(_ library: String = "library") throws -> LibraryReader {
    try LibraryReader(URL(filePath: libraryPath(library)))
  }

  package func store(_ fileSystem: FileSystem = .real) throws -> StoreFolder {
    try StoreFolder.open(at: storePath, fileSystem: fileSystem)
  }

  // MARK: Published files

  /// Incompressible bytes, created once, since each check of a folder needs them.
  private static let noise: [UInt8] = {
    var random = SplitMix(state: 1)
    return random.bytes(300_000)
  }()

  /// Returns the files of a version.
  ///
  /// One has several members and a small change, one changes completely, and the others stay.
  package static func files(_ version: String) -> [String: [UInt8]] {
    var film = noise
    film.replaceSubrange(150_000..<150_000 + version.utf8.count, with: version.utf8)
    return [
      "Contents/film.bin": film,
      "Contents/text.txt": Array("The text of \(version)\n".utf8),
      "Contents/deep/same.txt": Array("The same in every version\n".utf8),
      "Contents/empty": [],
    ]
  }

  /// Returns the files that an installed version must have, with their bytes.
  package static func expectedFiles(_ product: String, _ version: String) throws
    -> [String: [UInt8]]
  {
    guard product == foreign else { return files(version) }
    let source = samples.appending(path: "sources/chapter1-1.0")
    let paths = try FileManager.default.subpathsOfDirectory(atPath: source.path())
    return try paths.reduce(into: [:]) { files, path in
      let file = source.appending(path: path)
      guard path.hasPrefix("Contents/"),
        try file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true
      else { return }
      files[path] = Array(try Data(contentsOf: file))
    }
  }

  private static let samples = SourceTree.root.appending(path: "SamplePackages")

  /// Returns the source folder of our product's package.
  ///
  /// Creates it if necessary.
  package func source(_ version: String) throws -> String {
    let source = "\(path)/source-\(version)"
    for (name, bytes) in Self.files(version) {
      let file = URL(filePath: "\(source)/\(name)")
      try FileManager.default.createDirectory(
        at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(bytes).write(to: file)
    }
    return source
  }

  /// Builds a package of our product and publishes it.
  package func publish(_ version: String, _ fileSystem: FileSystem = .real) throws {
    let package = try Self.build(source(version), Self.own, version, in: path, fileSystem)
    try store(fileSystem).publish([package])
  }

  /// Builds a package from the folder `source`, and returns its path.
  package static func build(
    _ source: String, _ product: String, _ version: String, in folder: String,
    _ fileSystem: FileSystem = .real
  ) throws -> String {
    let name = "\(product)-\(version).pkg"
    _ = try buildPackage(
      folder: fileSystem.directory(at: source), output: fileSystem.directory(at: folder),
      outputName: name, productIdentifier: ProductIdentifier(validating: product),
      version: ContentVersion(validating: version))
    return "\(folder)/\(name)"
  }

  /// Adds products without content with these numbers, in one step.
  package func addProducts(
    _ numbers: ClosedRange<Int>, _ fileSystem: FileSystem = .real
  ) throws {
    let names = try numbers.map { try ProductIdentifier(validating: "com.example.p\($0)") }
    try store(fileSystem).add(
      Dictionary(uniqueKeysWithValues: names.map { ($0, ProductDetails()) }))
  }

  package func publishForeign() throws {
    try store().publish([Self.samples.appending(path: "formats/zip.pkg").path()])
  }

  /// Copies the whole folder.
  ///
  /// Links are copied as links.
  package func copy() throws -> World {
    let other = try World()
    for name in try FileManager.default.contentsOfDirectory(atPath: path) {
      try FileManager.default.copyItem(atPath: "\(path)/\(name)", toPath: "\(other.path)/\(name)")
    }
    return other
  }
}
