import HostedModel
import HostedPackage
import HostedTransfer
import HostedDigests
import HostedFileIO
import HostedTestSupport

/// The files that an installed content must have.
struct ExpectedTree: Sendable {
  /// The bytes of each file by path, or nil for a folder.
  let entries: [String: [UInt8]?]
}

/// The simulated store.
///
/// It has real packages, which are built once, in memory.
struct SimulatedStore: Sendable {
  struct Product: Sendable {
    let identifier: ProductIdentifier
    let type: ProductType
    /// The offers of each version, oldest first.
    var editions: [[ContentOffer]]
  }

  private(set) var products: [Product] = []
  /// Packages and indexes, by path.
  private(set) var files: [String: [UInt8]] = [:]
  private(set) var trees: [ContentKey: ExpectedTree] = [:]

  /// Built at the first use.
  static let standard: Result<SimulatedStore, any Error> = Result { try SimulatedStore() }

  private init() throws {
    // Three versions with a large file that changes in the middle, an unchanged file, and small
    // ones.
    try add("book", versions: ["1.0", "1.1", "1.10"]) { version in
      var film = Self.noise(150_000, seed: 7)
      film.replaceSubrange(90_000..<90_100, with: Self.noise(100, seed: UInt64(version)))
      return [
        "Contents/film.bin": film, "Contents/same/text.txt": Array("The same".utf8),
        "Contents/page-1.txt": Array("Page one of edition \(version)".utf8),
        "Contents/page-2.txt": Array(String(repeating: "Fog. ", count: 900).utf8),
        "Contents/empty": [],
      ]
    }
    try add("leaflet", versions: ["1", "2"]) { version in
      ["Contents/text.txt": Array("Leaflet \(version)".utf8)]
    }
    // A package of another tool, which is fetched in blocks.
    try add("foreign", versions: ["1.0", "2.0"], byBlocks: true) { version in
      [
        "Contents/a.bin": Self.noise(9_000, seed: UInt64(version) + 40),
        "Contents/b.txt": Array("Foreign".utf8),
      ]
    }
    try add("course", contents: ["course", "course.audio"], versions: ["1.0", "1.1"]) { version in
      [
        "Contents/lesson.txt": Array("Lesson \(version)".utf8),
        "Contents/sound.bin": Self.noise(5_000, seed: UInt64(version) + 80),
      ]
    }
    products.append(
      Product(identifier: ProductIdentifier("key"), type: .nonConsumable, editions: [[]]))
    products.append(
      Product(identifier: ProductIdentifier("coin"), type: .consumable, editions: [[]]))
  }

  private static func noise(_ count: Int, seed: UInt64) -> [UInt8] {
    var random = SplitMix(state: seed)
    return (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
  }

  private mutating func add(
    _ name: String, contents: [String]? = nil, versions: [String], byBlocks: Bool = false,
    files: (Int) -> [String: [UInt8]]
  ) throws {
    var editions: [[ContentOffer]] = []
    for (number, version) in versions.enumerated() {
      editions.append(
        try (contents ?? [name]).map {
          try build(
            name, $0, ContentVersion(validating: version), byBlocks: byBlocks, files(number))
        })
    }
    products.append(
      Product(
        identifier: try ProductIdentifier(validating: name), type: .nonConsumable,
        editions: editions))
  }

  private mutating func build(
    _ product: String, _ content: String, _ version: ContentVersion, byBlocks: Bool,
    _ source: [String: [UInt8]]
  ) throws -> ContentOffer {
    // Real folders, since a build has its own threads, and one thread at a time may use a simulated
    // disk.
    let place = try TemporaryFolder()
    defer { withExtendedLifetime(place) {} }
    let folder = try FileSystem.real.directory(at: place.path("source"), creating: true)
    for (path, bytes) in source.sorted(by: { $0.key < $1.key }) {
      var parent = folder
      let parts = path.split(separator: "/").map(String.init)
      for part in parts.dropLast() { parent = try parent.createDirectory(part) }
      try parent.createFile(parts.last ?? "").write(bytes)
    }
    let output = try FileSystem.real.directory(at: place.path("output"), creating: true)
    let identifier = try ProductIdentifier(validating: content)
    let examination = try buildPackage(
      folder: folder, output: output, outputName: "out.pkg",
      productIdentifier: ProductIdentifier(validating: product), contentIdentifier: identifier,
      version: version, workers: 1)
    let package = try output.contents(of: "out.pkg", limit: 1 << 30)
    let index =
      byBlocks
      ? PackageIndex(
        packageLength: Int64(package.count), blockLength: 4096, blocks: try Self.blocks(package),
        files: examination.entries)
      : try PackageIndex(
        indexing: FileByteSource(output.file("out.pkg")), entries: examination.entries)
    trees[ContentKey(identifier, version: version)] = try Self.tree(index, source, output)
    return ContentOffer(
      productIdentifier: try ProductIdentifier(validating: product), contentIdentifier: identifier,
      version: version, installedSize: index.installedSize,
      package: try publish("targets/\(content)/\(version).pkg", package),
      index: try publish("targets/\(content)/\(version).index", index.encoded))
  }

  private mutating func publish(_ path: String, _ bytes: [UInt8]) throws -> SignedFile {
    files[path] = bytes
    return SignedFile(
      path: path, length: Int64(bytes.count),
      digest: try bytes.withUnsafeBytes { try Digest(of: $0) })
  }

  private static func blocks(_ bytes: [UInt8]) throws -> [Digest] {
    try stride(from: 0, to: bytes.count, by: 4096).map { start in
      try bytes[start..<min(start + 4096, bytes.count)].withUnsafeBytes { try Digest(of: $0) }
    }
  }

  /// The files of a package as in its sources, and ContentInfo.plist as it was unpacked.
  private static func tree(
    _ index: PackageIndex, _ source: [String: [UInt8]], _ output: Directory
  ) throws -> ExpectedTree {
    let unpacked = try output.createDirectory("unpacked")
    _ = try unpackPackage(
      FileByteSource(output.file("out.pkg")), name: "out.pkg", into: unpacked, expected: nil
    ) { _ in }
    var entries: [String: [UInt8]?] = [:]
    for file in index.files {
      switch file.kind {
      case .directory: entries[file.path] = .some(nil)
      case .file, .link:
        entries[file.path] =
          try source[file.path] ?? unpacked.contents(of: file.path, limit: 1 << 20)
      }
    }
    return ExpectedTree(entries: entries)
  }
}
