import Foundation

/// The requests for one file that must not get it.
struct GateAttacks {
  /// The buyer's own request target of the file.
  let target: String
  /// The request target of a file that the attacker has bought.
  let otherTarget: String
  /// The token of a service.
  let token: String
  /// The URL of nginx.
  let host: String
  let entityTag: String
  let modified: String

  /// A request target, and words for curl.
  struct Attack: Sendable {
    let target: String
    var words: [String] = []
  }

  func all(_ gate: GatedStore.Gate) -> [Attack] {
    let queries = Self.queries + (gate == .authRequest ? grants : links)
    let others = ["", "?{other query}"]
    let paths = Self.paths.flatMap { path in others.map { "\(path)\($0)" } }
    let words = Self.options + Self.headers.map { ["--header", $0] }
    let methods = words.flatMap { words in
      others.map { Attack(target: "{path}\($0)", words: words) }
    }
    let attacks =
      queries.map { Attack(target: "{path}?\($0)") } + paths.map { Attack(target: $0) } + methods
    return attacks.map { Attack(target: filled($0.target), words: $0.words.map(filled)) }
  }

  // MARK: Queries

  /// Without a grant, with a service's token instead, and with the grant of another file.
  private static let queries = [
    "", "x=1", "grant", "grant=", "grant=.", "grant=..", "grant=*", "grant=%00", "md5=&expires=",
    "md5=,&expires=,", "{token}", "grant={token}", "token={token}", "access_token={token}",
    "md5={token}&expires=9999999999", "grant=key-1", "grant=1.2.3", "{other query}",
    "{other query}&{other query}", "{other query}&{query}", "x=1&{other query}",
  ]

  /// Changes of the whole query of nginx's module auth_request, which must be the grant.
  private var grants: [String] {
    let parts = query.dropFirst("grant=".count).split(separator: ".").map(String.init)
    guard parts.count == 3 else { return [] }
    let (expires, code, mac) = (parts[0], parts[1], parts[2])
    let changed = [
      "9\(expires).\(code).\(mac)", "0\(expires).\(code).\(mac)", "+\(expires).\(code).\(mac)",
      "-\(expires).\(code).\(mac)", ".\(code).\(mac)", "\(expires).0\(code.dropLast()).\(mac)0",
      "\(expires)..\(mac)", "\(expires).\(code).", "\(expires).\(code)", mac,
      "\(expires).\(code).\(mac.dropLast())", "\(expires).\(code).\(mac.dropLast(2))",
      "\(expires).\(code).\(mac)A", "\(expires).\(code).\(mac)=",
      "\(expires).\(code).\(Self.zero(43))", "\(expires).\(Self.zero(16)).\(Self.zero(43))",
    ]
    return changed.map { "grant=\($0)" } + [
      "{query}&{other query}", "{query}&{query}", "{query}&x=1", "x=1&{query}", "{query}x",
      "{query}=", "{query}.", "{query}%00", "{query}%20", "{query}%23", "?{query}", "{query}?",
      "GRANT=\(expires).\(code).\(mac)", "grant%3D\(expires).\(code).\(mac)",
    ]
  }

  /// Changes of the query of nginx's module secure_link.
  private var links: [String] {
    let parts = query.split(separator: "&").map { String($0.drop { $0 != "=" }.dropFirst()) }
    guard parts.count == 2 else { return [] }
    let (mac, expires) = (parts[0], parts[1])
    return [
      "md5=\(mac)", "expires=\(expires)", "md5=\(mac)&expires=", "md5=&expires=\(expires)",
      "md5=\(mac)&expires=9999999999", "md5=\(mac)&expires=9\(expires)",
      "md5=\(mac)&expires=0\(expires)", "md5=\(mac)&expires=0", "md5=\(mac)&expires=-1",
      "md5=\(mac)&expires=%20\(expires)", "md5=\(mac)&expires=\(expires)x",
      "md5=\(mac)&expires=99999999999999999999999", "md5=\(mac.dropLast())&expires=\(expires)",
      "md5=\(mac)A&expires=\(expires)", "md5=\(Self.zero(22))&expires=\(expires)",
      "md5=\(mac),\(expires)", "md5=\(mac)%2C\(expires)", "md5=x&{query}", "expires=1&{query}",
      "md5%3D\(mac)&expires=\(expires)",
    ]
  }

  private static func zero(_ count: Int) -> String { String(repeating: "A", count: count) }

  // MARK: Paths

  /// Paths that nginx normalizes, or that could name the file.
  private static let paths = [
    // From the folder of the attacker's file, and from others.
    "{other path}{up}{path}", "{other path}{%2e}{path}", "{other path}{%2E}{path}",
    "{other path}{.%2e}{path}", "/targets/..{path}", "/targets/%2e%2e{path}",
    "/targets/%2E%2E{path}", "/targets/.%2e{path}", "/targets/..%2f{relative}",
    "/targets/..;{path}", "/targets/..%5c{relative}", "/targets/%252e%252e{path}",
    // From public files, whose names end with .json.
    "/metadata/..{path}", "/metadata/%2e%2e{path}", "/metadata/..;{path}",
    "/metadata/..%2f{relative}", "/metadata//..{path}", "/metadata/.{path}", "/metadata{path}",
    "/metadata/%2e%2e/%74argets/{rest}", "/targets/0.product.json/../{rest}",
    "/targets/x/0.product.json%00{path}", "/targets/x/0.product.json/%2e%2e/%2e%2e/{rest}",
    "{path}%00.json", "{path}#.json", "{path}%23.json", "{path}%3f.json", "{path};.product.json",
    "{path}/0.product.json",
    // Other forms of the path.
    "/.{path}", "/targets/./{rest}", "/{path}", "/targets//{rest}", "/%74argets/{rest}",
    "/targets%2f{rest}", "/TARGETS/{rest}", "{upper}", "{path}/", "{path}.", "{path}%00",
    "{path}%0a", "{path}%20", "{path};", "{path};x=1", "{path}%3b", "{path}\\", "{path}#",
    "{relative}", "*", "{host}{path}", "http://127.0.0.1{path}", "https://{path}",
    // The store server, also behind /v1/.
    "/v1/..{path}", "/v1/%2e%2e{path}", "/v1{path}", "/internal/authorize",
    "/internal/authorize/", "/internal/authorize/..{path}", "/internal/authorize{path}",
    "/internal/../internal/authorize", "/%69nternal/authorize", "//internal/authorize",
    "/internal/%61uthorize", "/INTERNAL/authorize", "/v1/../internal/authorize",
    "/v1/%2e%2e/internal/authorize", "/internal/authorize?X-Original-URI={path}",
  ]

  // MARK: Methods and headers

  private static let options: [[String]] = [
    [], ["--range", "0-199"], ["--range", "0-99,200-299"], ["--range", "-200"], ["--head"],
    ["--data", "x"], ["--request", "PUT", "--data", "x"], ["--request", "DELETE"],
    ["--request", "OPTIONS"], ["--request", "TRACE"], ["--request", "PROPFIND"],
    ["--request", "get"], ["--http1.0"], ["--http1.0", "--header", "Host:"], ["--http2"],
    ["--request", "GET", "--data", "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"],
    ["--header", "Transfer-Encoding: chunked", "--data", "x"],
    ["--header", "If-Range: {tag}", "--range", "0-199"],
    ["--header", "If-None-Match: {tag}", "--range", "0-199"],
    ["--header", "Connection: Upgrade", "--header", "Upgrade: websocket"],
  ]

  private static let headers = [
    "Authorization: Bearer {token}", "Authorization: Grant {query}", "Cookie: {query}",
    "Cookie: grant={token}; token={token}", "Referer: {host}{path}?{query}",
    "X-Original-URI: {path}?{query}", "X-Original-URL: {path}?{query}",
    "X-Rewrite-URL: {path}?{query}", "X-Accel-Redirect: {path}", "X-Forwarded-Host: 127.0.0.1",
    "X-Forwarded-For: 127.0.0.1", "X-HTTP-Method-Override: GET", "Connection: X-Original-URI",
    "Connection: close, X-Original-URI, Host", "Host: content.example", "Host: 127.0.0.1",
    "Host: localhost:8090", "Host:", "If-None-Match: *", "If-None-Match: {tag}",
    "If-Modified-Since: {modified}", "If-Unmodified-Since: {modified}", "If-Match: {tag}",
    "Accept-Encoding: gzip", "Expect: 100-continue",
  ]

  // MARK: Values

  private var path: String { String(target.prefix { $0 != "?" }) }
  private var query: String { String(target.drop { $0 != "?" }.dropFirst()) }
  private var otherPath: String { String(otherTarget.prefix { $0 != "?" }) }

  private func filled(_ text: String) -> String {
    guard text.contains("{") else { return text }
    let depth = otherPath.split(separator: "/").count
    let values = [
      "{path}": path, "{query}": query, "{other path}": otherPath,
      "{other query}": String(otherTarget.drop { $0 != "?" }.dropFirst()), "{token}": token,
      "{host}": host, "{tag}": entityTag, "{modified}": modified, "{upper}": path.uppercased(),
      "{relative}": String(path.dropFirst()), "{rest}": String(path.dropFirst("/targets/".count)),
      "{up}": String(repeating: "/..", count: depth),
      "{%2e}": String(repeating: "/%2e%2e", count: depth),
      "{%2E}": String(repeating: "/%2E%2E", count: depth),
      "{.%2e}": String(repeating: "/.%2e", count: depth),
    ]
    return values.reduce(text) { $0.replacing($1.key, with: $1.value) }
  }
}
