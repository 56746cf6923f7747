import Foundation
import HostedTestSupport
import Testing

/// A store behind nginx, which has the configuration of Documentation/StoreServer.md.
final class GatedStore: Sendable {
  /// A value of `--gate`.
  enum Gate: String, CaseIterable, Sendable {
    case authRequest = "auth-request"
    case secureLink = "secure-link"
  }

  let tool: Tool
  let server: SellingProcess
  /// The file with nginx's certificate.
  let authority: String
  private let nginx: Nginx

  /// The path of this file, which runs blocks of the guide.
  static let source = #filePath

  /// Sells the folder `store` of a tool, with the ledger in `data`, as the guide says.
  ///
  /// `words` are more options of the server. The directives `targets` are added to the location of
  /// the packages. With `authorizer`, nginx asks the server at this port about URLs.
  init(
    _ tool: Tool, _ gate: Gate, words: [String] = [], targets: String = "",
    authorizer: UInt16? = nil
  ) throws {
    self.tool = tool
    let guide = try DocumentPage("Documentation/StoreServer.md")
    let (commands, found) = try guide.serverBlock("--gate auth-request")
    let result = try tool.follow(commands)
    #expect(result.status == 0, "\(result.errors)")
    let certificate = try TestCertificate.right.write(to: tool.folder)
    authority = certificate.chain
    let secret = try tool.text("gate-secret").trimmingCharacters(in: .newlines)
    let backend = try ReservedPort()
    let upstream = "upstream authorizer { server 127.0.0.1:"
    let text = try Self.configuration(guide, gate, secret, targets)
    try #require(text.contains("\(upstream)8090;"))
    let configuration =
      text.replacing("\(upstream)8090", with: "\(upstream)\(authorizer ?? 8090)")
      .replacing("/etc/ssl/store.pem", with: certificate.chain)
      .replacing("/etc/ssl/store.key", with: certificate.key)
      .replacing("/srv/store", with: tool.folder.path("store"))
      .replacing("/var/cache/nginx/grants", with: tool.folder.path("cache"))
      .replacing("/var/log/nginx/", with: tool.folder.path("nginx-"))
      .replacing("127.0.0.1:8090", with: "127.0.0.1:\(backend.number)")
    nginx = try Nginx { port in
      configuration.replacing("listen 443", with: "listen 127.0.0.1:\(port)")
    }
    let host = "https://localhost:\(nginx.port)"
    let options = found.map {
      $0.replacing("https://store.example.com", with: host)
        .replacing(Gate.authRequest.rawValue, with: gate.rawValue)
    }
    server = try SellingProcess(tool, options + words, listen: "127.0.0.1:\(backend.number)")
  }

  /// The guide's configuration, with the second recipe for `targets` unless the gate is the first.
  private static func configuration(
    _ guide: DocumentPage, _ gate: Gate, _ secret: String, _ targets: String
  ) throws -> String {
    let first = try #require(guide.blocks(in: "nginx auth_request").first).text
    let question = "auth_request /internal/authorize;"
    guard gate == .secureLink else {
      return first.replacing(question, with: "\(question) \(targets)")
    }
    let second = try #require(guide.blocks(in: "nginx secure_link").first).text
      .replacing("SECRET", with: secret)
      .replacing("{ return 403; }", with: "{ return 403; }\n  \(targets)")
    let start = try #require(first.range(of: "  location /targets/")).lowerBound
    let end = try #require(first.range(of: "  location /v1/")).lowerBound
    return "\(first[..<start])\(second)\(first[end...])"
  }

  // MARK: Commands

  /// The URL of nginx, without a slash at its end.
  var host: String { "https://localhost:\(nginx.port)" }

  /// The options of commands that read the store, for a library.
  func reading(_ library: String) -> [String] {
    [
      "--store", host, "--root", "store/metadata/1.root.json", "--library", library,
      "--ca", authority,
    ]
  }

  /// The words of a command that buys and installs products into the library `account`.
  func buying(_ products: String..., account: String) -> [String] {
    let buyer = ["--account", account, "--service", host, "--service-token-file", "token"]
    return ["get"] + products + buyer + reading(account)
  }

  /// Refunds a purchase, or makes another change, as an administrator.
  func change(_ transaction: String, _ action: String) throws {
    let answer = try tool.call(
      "\(server.url)v1/purchases/\(transaction)/\(action)",
      ["--header", "Content-Type: application/json", "--data", "{}"])
    #expect(answer.status == 200, "\(action): \(answer)")
  }

  /// The request targets of the package and the index of a content, as its buyer gets them.
  func grant(_ content: String, to account: String) throws -> [String] {
    let answer = try tool.call(
      "\(server.url)v1/content-grants",
      [
        "--header", "Content-Type: application/json", "--data",
        """
        {"account": "\(account)",
         "contents": [{"contentIdentifier": "\(content)", "version": "1.0"}]}
        """,
      ])
    let files = try #require(answer.document["files"] as? [[String: Any]], "\(answer)")
    return files.flatMap { $0["urls"] as? [String] ?? [] }.map { String($0.dropFirst(host.count)) }
  }

  // MARK: Requests

  /// A response with its head and body.
  struct Reply {
    let status: Int
    let bytes: Data
  }

  /// Sends a request with curl, with exactly this target, and words for curl.
  func request(_ target: String, _ words: [String] = []) throws -> Reply {
    let path = tool.folder.path(".reply-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(atPath: path) }
    let result = try tool.run(
      [
        "--silent", "--noproxy", "*", "--globoff", "--max-time", "60", "--cacert", authority,
        "--include", "--output", path, "--write-out", "%{http_code}", "--request-target", target,
        "\(host)/",
      ] + words, program: "/usr/bin/curl")
    return Reply(
      status: Int(result.output) ?? 0, bytes: FileManager.default.contents(atPath: path) ?? Data())
  }

  /// A request in nginx's log.
  struct Logged {
    let status: Int
    let bytesSent: Int
    let path: String
  }

  /// The requests so far, in the format of the guide.
  func requests() throws -> [Logged] {
    try tool.text("nginx-store.log").split(separator: "\n").compactMap { line in
      let fields = line.split(separator: " ", maxSplits: 4)
      guard fields.count == 5, let status = Int(fields[1]), let bytes = Int(fields[2])
      else { return nil }
      return Logged(status: status, bytesSent: bytes, path: String(fields[4]))
    }
  }

  /// The bytes of packages that clients got so far.
  func packageBytesSent() throws -> Int {
    try requests().filter { $0.path.hasSuffix(".pkg") && [200, 206].contains($0.status) }
      .reduce(0) { $0 + $1.bytesSent }
  }
}

extension GatedStore {
  /// The content that `alice` buys in tests of gates.
  static let content = "com.example.a"
  /// The content that `bob` buys.
  static let otherContent = "com.example.b"

  /// Returns a tool with a store of both contents, of random bytes, and with a key of a server.
  static func shop(bytes: Int = 10_000) throws -> Tool {
    let tool = try Tool()
    var random = SplitMix(state: 29)
    try tool.succeed("store", "init", "store")
    for content in [content, otherContent] {
      let package = try tool.makePackage(
        content, "1.0", ["noise": Data(random.bytes(content == otherContent ? 10_000 : bytes))])
      try tool.succeed("store", "publish", "store", package)
    }
    try tool.addKey()
    return tool
  }

  /// Whether only buyers get a file.
  static func isGated(_ path: String) -> Bool { path.hasSuffix(".pkg") || path.hasSuffix(".index") }

  /// The paths of the packages and indexes of a tool's store, as in requests.
  static func gatedPaths(_ tool: Tool) throws -> [String] {
    try tool.tree("store/targets").keys.filter(isGated).map { "/targets/\($0)" }.sorted()
  }
}

extension DocumentPage {
  /// The text of the only block that contains `text`.
  func block(_ text: String, _ language: String = "sh") throws -> String {
    let found = blocks(in: language).filter { $0.text.contains(text) }
    try #require(found.count == 1, "\(text)")
    return found[0].text
  }

  /// The commands of a block before the one that runs the server, and the options of that one.
  func serverBlock(_ text: String) throws -> (commands: String, options: [String]) {
    let block = try block(text)
    let start = try #require(block.range(of: "hostedcontent store-server run "))
    let words = block[start.upperBound...].replacing("\\\n", with: " ")
      .split(whereSeparator: \.isWhitespace).map(String.init)
    try #require(words.prefix(3) == ["store", "--data", "data"])
    return (String(block[..<start.lowerBound]), Array(words.dropFirst(3)))
  }
}

/// The bytes of a file, to find parts of them in a response.
struct FileParts {
  private let parts: Set<Data>

  private static let length = 16

  init(_ bytes: Data) { parts = Set(Self.parts(of: bytes)) }

  /// Whether a part of the file is in `bytes`.
  func occur(in bytes: Data) -> Bool { Self.parts(of: bytes).contains(where: parts.contains) }

  private static func parts(of bytes: Data) -> [Data] {
    let bytes = Data(bytes)
    return (0..<max(0, bytes.count - length + 1)).map { bytes[$0..<$0 + length] }
  }
}
