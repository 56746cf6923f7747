import HostedModel
import HostedPackage
import ContentStore
import HostedFileIO
import Foundation
import HostedContent
import HostedFileServer
import HostedTestSupport

/// A store with three incompressible packages, and servers for it; all runs share its files.
struct Fixture {
  static let names = ["a", "b", "c"]
  private static let contents = (1...names.count).map { seed in
    var random = SplitMix(state: UInt64(seed))
    return Data(random.bytes(5 << 20))
  }

  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    let store = try StoreFolder.create(at: folder.path("store"))
    for (name, content) in zip(Self.names, Self.contents) {
      let source = folder.path("source-\(name)")
      try FileManager.default.createDirectory(
        atPath: "\(source)/Contents", withIntermediateDirectories: true)
      try content.write(to: URL(filePath: "\(source)/Contents/noise.bin"))
      _ = try buildPackage(
        folder: FileSystem.real.directory(at: source), output: folder.opened(),
        outputName: "\(name).pkg", productIdentifier: ProductIdentifier(validating: name),
        version: ContentVersion("1.0"))
      try store.publish([folder.path("\(name).pkg")])
    }
    try TestCertificate.right.chain.write(
      toFile: folder.path("right.pem"), atomically: true, encoding: .utf8)
    for (file, text) in [
      ("right.key", TestCertificate.right.key), ("wrong.pem", TestCertificate.wrong.chain),
      ("wrong.key", TestCertificate.wrong.key),
    ] {
      try text.write(toFile: folder.path(file), atomically: true, encoding: .utf8)
    }
  }

  func server(isSecure: Bool) throws -> FileServer {
    var configuration = FileServer.Configuration()
    if isSecure {
      configuration.certificate = Certificate(
        chain: folder.path("right.pem"), key: folder.path("right.key"))
    }
    let server = try FileServer(folder: folder.path("store"), configuration: configuration)
    try server.start()
    return server
  }

  /// Returns a queue on `library` with short timeouts, so that hundreds of runs finish soon.
  func queue(_ server: FileServer, library: String) async throws -> PaymentQueue {
    var configuration = PaymentQueue.Configuration(
      library: URL(filePath: folder.path(library)), store: try StoreLocation(server.url))
    configuration.trustedRoot = Array(
      try Data(contentsOf: URL(filePath: folder.path("store/metadata/1.root.json"))))
    configuration.network.certificateAuthorities = URL(filePath: folder.path("right.pem"))
    configuration.network.connectTimeout = .milliseconds(500)
    configuration.network.stallTimeout = .milliseconds(500)
    configuration.network.attempts = 3
    configuration.network.firstRetryDelay = .milliseconds(50)
    // Longer than the Retry-After in the table.
    configuration.network.busyTimeout = .seconds(3)
    return try await performBlocking { [configuration] in try PaymentQueue(configuration) }
  }

  /// Returns whether the file of `name` is installed, with the right bytes.
  func isInstalled(_ name: String, library: String) -> Bool {
    let path = folder.path("\(library)/products/\(name)/current/Contents/noise.bin")
    guard let number = Self.names.firstIndex(of: name) else { return false }
    return FileManager.default.contents(atPath: path) == Self.contents[number]
  }

  func remove(_ library: String) {
    try? FileManager.default.removeItem(atPath: folder.path(library))
  }
}
