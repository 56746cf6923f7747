import HostedFileIO
import HostedFileServer
import HostedTestSupport

/// A server for a temporary folder.
struct ServerFixture: Sendable {
  let folder: TemporaryFolder
  let server: FileServer
  private let finished = Finished()

  /// 1,000 bytes that depend on their position.
  static let file: [UInt8] = (0..<1_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 / 256) }
  static let digest = String(repeating: "0a", count: 32)

  /// Creates a store's folder with some files.
  ///
  /// `change` adapts the configuration.
  init(_ faults: String = "", _ change: (inout FileServer.Configuration) -> Void = { _ in })
    throws
  {
    folder = try TemporaryFolder()
    let files: [(path: String, bytes: [UInt8])] = [
      ("store/targets/file.bin", Self.file), ("store/targets/empty", []),
      ("store/targets/\(Self.digest).content.pkg", Self.file),
      ("store/targets/späte käfer.txt", [1, 2, 3]), ("store/targets/.hidden", [1]),
      ("store/store.keys/root.pem", [1]), ("secret", [1]),
      ("store/metadata/timestamp.json", Array("{}".utf8)),
      ("store/metadata/1.root.json", Array("{}".utf8)),
      ("store/metadata/3.targets.json", Array("{}".utf8)),
      ("store/metadata/3.bin-0f.json", Array("{}".utf8)),
      ("store/metadata/\(Self.digest).records.jsonl", Array("{}\n".utf8)),
    ]
    for (path, bytes) in files {
      let components = path.split(separator: "/").map(String.init)
      let parent = try components.dropLast().reduce(folder.directory) {
        try $0.createDirectory($1)
      }
      try parent.createFile(components[components.count - 1]).write(bytes)
    }
    let store = try folder.directory.directory("store")
    try store.createLink("outside", to: "..")
    let targets = try store.directory("targets")
    try targets.createLink("inner", to: "file.bin")
    try targets.createLink("outer", to: "../../secret")
    var configuration = FileServer.Configuration()
    let finished = finished
    configuration.onRequest = { finished.add($0) }
    change(&configuration)
    server = try FileServer(
      folder: folder.path("store"), faults: FaultScript(faults), configuration: configuration)
    try server.start()
  }

  func client() throws -> RawClient { try RawClient(port: server.port) }

  /// Returns a client that has received `count` bytes of a file.
  func client(receiving count: Int) throws -> RawClient {
    let client = try client()
    client.request("GET", "/targets/file.bin")
    client.receive(body: count)
    return client
  }

  /// Sends a request and receives until the connection ends.
  func get(_ target: String = "/targets/file.bin", _ headers: String..., method: String = "GET")
    throws -> RawClient
  {
    let client = try client()
    client.request(method, target, headers)
    return client.receiveAll()
  }

  /// Returns the next request whose response has ended.
  func nextFinished() async -> ServedRequest? {
    await finished.next()
  }

  /// Passes finished requests from the server's threads to a test.
  private final class Finished: Sendable {
    private let stream: AsyncStream<ServedRequest>
    private let continuation: AsyncStream<ServedRequest>.Continuation

    init() { (stream, continuation) = AsyncStream.makeStream() }

    func add(_ request: ServedRequest) { continuation.yield(request) }

    func next() async -> ServedRequest? {
      var iterator = stream.makeAsyncIterator()
      return await iterator.next()
    }
  }
}
