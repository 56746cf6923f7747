import HostedModel
import ContentStore
import HostedCrashPoints
import Foundation
import HostedTestSupport

/// The products of the store, and the files of their versions.
enum Goods {
  static let products = (1...6).map { "com.example.soak.p\($0)" }

  /// The large file of each product, created once.
  private static let films = Dictionary(
    uniqueKeysWithValues: products.enumerated().map { number, product in
      var random = SplitMix(state: UInt64(number))
      return (product, random.bytes(400_000))
    })

  /// The files of a version: a large one with a small change, and small ones of which one changes.
  static func files(_ product: String, _ version: String) -> [String: [UInt8]] {
    var film = films[product] ?? []
    film.replaceSubrange(200_000..<200_000 + version.utf8.count, with: version.utf8)
    var files = ["Contents/film.bin": film, "Contents/version.txt": Array(version.utf8)]
    for number in 0..<8 {
      files["Contents/pages/\(number).txt"] = Array("Page \(number) of \(product)".utf8)
    }
    return files
  }

  /// Builds and publishes a version of each of `products`.
  static func publish(_ products: [String], _ version: String, to store: StoreFolder, work: String)
    throws
  {
    let packages = try products.map { try package($0, version, work: work) }
    try store.publish(packages)
    for path in packages { try FileManager.default.removeItem(atPath: path) }
  }

  private static func package(_ product: String, _ version: String, work: String) throws -> String {
    let source = "\(work)/source"
    try? FileManager.default.removeItem(atPath: source)
    for (path, bytes) in files(product, version) {
      let file = URL(filePath: "\(source)/\(path)")
      try FileManager.default.createDirectory(
        at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(bytes).write(to: file)
    }
    return try World.build(source, product, version, in: work)
  }
}
