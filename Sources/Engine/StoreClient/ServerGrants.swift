public import HostedSelling
import HostedHTTPValues
public import HostedModel
import HostedTransfer
import FoundationEssentials
import HostedShop

extension HTTPStoreService: ContentGranting {
  /// Returns URLs of contents that `account` owns.
  ///
  /// They have no token: anyone who knows a URL can use it, for a limited time.
  public func contentGrants(for contents: [ContentOffer], account: AccountID?) async throws
    -> ContentGrants
  {
    let named = contents.map { ContentKey($0.contentIdentifier, version: $0.version).json }
    let response = try await connection.send(
      "POST", "/v1/content-grants",
      body: .object([
        "account": .string(account?.rawValue ?? "-"), "contents": .array(named),
      ]), attempts: 1)
    let fields = MessageFields(try connection.json(response), of: "URLs of contents")
    var urls: [String: [URL]] = [:]
    for file in try fields.list("files", limit: 2 * contents.count) {
      let fields = MessageFields(file, of: "URLs of a file")
      urls[try fields.text("target", limit: 4_096)] =
        try fields.list("urls", limit: 100).map { value in
          // The error must not show the URL, which is secret.
          guard let text = value.string, text.utf8.count <= 8_192, (try? WebURL(text)) != nil,
            let url = URL(string: text)
          else { throw fields.invalid("urls") }
          return url
        }
    }
    return ContentGrants(urls: urls, lifetime: try Self.lifetime(until: fields, response))
  }

  /// Returns the time until the URLs expire, by the server's clock.
  private static func lifetime(until fields: MessageFields, _ response: TransferResponse) throws
    -> Duration?
  {
    guard let expires = try fields.optionalDate("expires") else { return nil }
    let now =
      response.headers["date"].flatMap { HTTPDate.seconds($0) }
      .map { Date(timeIntervalSince1970: Double($0)) } ?? Date()
    return .seconds(max(0, expires.timeIntervalSince(now)))
  }
}
