import HostedModel
import HostedTrust
import HostedDigests
import FoundationEssentials
import HostedStoreAPI
import HostedShop

enum StoreServerKeyCommand {
  static let command = Command(
    name: "store-server key",
    summary: "Adds, lists, revokes or rotates the keys of a store server, also while it runs.",
    operands: "add|list|revoke|rotate [KID]",
    options: [
      LedgerArguments.data, LedgerArguments.database,
      .init(
        "--scopes", "LIST",
        "what a new key may do: \(KeyScope.allCases.map(\.rawValue).joined(separator: ","))"),
      .init("--public-key", "FILE", "a public key (PEM) that verifies JWTs, instead of a token"),
      .init(
        "--overlap", "SECONDS", "how long a rotated key stays valid; default 86400, one day"),
      .json,
    ],
    example:
      "hostedcontent store-server key add --data data --scopes read,purchase,content > token"
  ) { arguments, console in
    let action = arguments.operands[0]
    let kid = arguments.operands.dropFirst().first
    try check(action, kid, arguments)
    let scopes = try arguments.text("--scopes").map { try Self.scopes($0, arguments) }
    let publicKey = try arguments.text("--public-key").map { try Self.publicKey($0) }
    let ledger = try arguments.ledger(creating: action == "add")
    defer { ledger.close() }
    switch (action, kid) {
    case ("add", _):
      let name = newIdentifier()
      try add(
        name, account: AccountID(rawValue: name), scopes ?? [], publicKey, to: ledger, console)
    case ("rotate", let kid?): try rotate(kid, publicKey, ledger, arguments, console)
    case ("revoke", let kid?): try revoke(kid, ledger, console)
    default: try list(ledger, console)
    }
    return .done
  }

  /// Throws `usage` for an unknown action, and for operands and options that it does not have.
  private static func check(_ action: String, _ kid: String?, _ arguments: Arguments) throws {
    let options = ["--scopes", "--public-key", "--overlap"]
    let permitted: [String: (needsKey: Bool, options: Set<String>)] = [
      "add": (false, ["--scopes", "--public-key"]), "list": (false, []), "revoke": (true, []),
      "rotate": (true, ["--public-key", "--overlap"]),
    ]
    guard let (needsKey, own) = permitted[action] else {
      throw arguments.wrong("Unknown action “\(action)”, expected add, list, revoke or rotate")
    }
    guard needsKey == (kid != nil) else {
      throw arguments.wrong("\(action) takes \(needsKey ? "a KID" : "no KID")")
    }
    if let option = options.first(where: { arguments.has($0) && !own.contains($0) }) {
      throw arguments.wrong("\(option) does not belong to \(action)")
    }
    if action == "add", !arguments.has("--scopes") {
      throw arguments.wrong("--scopes is missing")
    }
  }

  private static func scopes(_ text: String, _ arguments: Arguments) throws -> Set<KeyScope> {
    Set(
      try text.split(separator: ",", omittingEmptySubsequences: false).map { name in
        guard let scope = KeyScope(rawValue: String(name)) else {
          let names = KeyScope.allCases.map(\.rawValue).joined(separator: ", ")
          throw arguments.wrong("--scopes takes a list of \(names), not “\(name)”")
        }
        return scope
      })
  }

  /// The public key in a file, in its usual form.
  private static func publicKey(_ path: String) throws -> String {
    let text = String(decoding: try SecretFile.contents(path), as: UTF8.self)
    guard let key = PublicKey(pem: text), key.kind != .rsaPSS else {
      throw ContentError(
        .keyUnusable, "\(path) is not a public key of type Ed25519 or ECDSA P-256 in PEM form",
        remedy: "Make a key with openssl genpkey -algorithm ed25519, and give its public half",
        subject: path)
    }
    return key.pem
  }

  private static func newIdentifier() -> String {
    APIKey.prefix + String(UInt64.random(in: .min ... .max), radix: 36)
  }

  // MARK: Actions

  /// Adds a key and prints its token, which is not stored.
  private static func add(
    _ kid: String, account: AccountID, _ scopes: Set<KeyScope>, _ publicKey: String?,
    to ledger: Ledger, _ console: Console
  ) throws {
    let token = OpaqueToken.generate()
    let credential =
      try publicKey.map { APIKey.Credential.publicKey(pem: $0) }
      ?? .token(Digest(of: Array(token.utf8)))
    let key = APIKey(kid: kid, account: account, credential, scopes: scopes, created: Date())
    guard try ledger.add(key) else {
      throw ContentError(
        .inconsistent, "The key \(kid) already exists", remedy: "Run the command again")
    }
    var report = ["kid": kid]
    if publicKey == nil { report["token"] = token }
    try console.print(report) {
      // Only the token, so that it can be redirected into a file.
      console.print(publicKey == nil ? token : kid)
      console.note("Added \(kid): \(scopes.map(\.rawValue).sorted().joined(separator: ","))")
    }
  }

  /// Ten years, in seconds.
  private static let maximumOverlap = 315_360_000

  private static func rotate(
    _ kid: String, _ publicKey: String?, _ ledger: Ledger, _ arguments: Arguments,
    _ console: Console
  ) throws {
    let overlap = try arguments.number("--overlap", minimum: 0, maximum: maximumOverlap) ?? 86_400
    let now = Date()
    guard let old = try ledger.key(kid), old.isUsable(at: now) else { throw unusable(kid) }
    try add(newIdentifier(), account: old.account, old.scopes, publicKey, to: ledger, console)
    // If the new token is lost, the old key must stay: no other one has its account.
    _ = try console.checked(.done)
    let planned = now.addingTimeInterval(TimeInterval(overlap))
    let end = min(planned, old.notAfter ?? planned)
    _ = try ledger.expireKey(kid, at: end)
    console.note("\(kid) expires at \(MessageDate.text(end))")
  }

  private static func revoke(_ kid: String, _ ledger: Ledger, _ console: Console) throws {
    // Looked up first: a change would create a ledger in a wrong folder or database.
    guard try ledger.key(kid) != nil, try ledger.revokeKey(kid, at: Date()) else {
      throw unusable(kid)
    }
    try console.print(["revoked": kid]) { console.print("\(kid): revoked") }
  }

  private static func unusable(_ kid: String) -> ContentError {
    ContentError(
      .keyUnusable, "The key \(kid) does not exist, has expired or was revoked",
      remedy: "List the keys with hostedcontent store-server key list", subject: kid)
  }

  private struct ListedKey: Encodable {
    let kid: String
    let account: AccountID
    let kind: String
    let scopes: [String]
    let created: Date
    let notAfter: Date?
    let revoked: Date?
    let usable: Bool
  }

  private static func list(_ ledger: Ledger, _ console: Console) throws {
    let now = Date()
    let entries = try ledger.keys().map { key in
      let isToken = if case .token = key.credential { true } else { false }
      return ListedKey(
        kid: key.kid, account: key.account, kind: isToken ? "token" : "public-key",
        scopes: key.scopes.map(\.rawValue).sorted(), created: key.created, notAfter: key.notAfter,
        revoked: key.revoked, usable: key.isUsable(at: now))
    }
    try console.print(["keys": entries]) {
      if entries.isEmpty { return console.print("No keys.") }
      console.print(
        table: entries.map { key in
          let end = key.notAfter.map { "until \(MessageDate.text($0))" } ?? "usable"
          let state = key.usable ? end : key.revoked == nil ? "expired" : "revoked"
          return [key.kid, key.kind, key.scopes.joined(separator: ","), state]
        }, heading: ["kid", "kind", "scopes", "state"])
    }
  }
}
