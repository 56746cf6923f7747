/// The apps that a lookup or search has found: `{"resultCount": …, "results": […]}`.
public struct LookupResults: Hashable, Sendable {
  /// The apps.
  ///
  /// With `entity`, also other items of the same seller.
  public let listings: [AppListing]
  /// The fields besides `results`, known and unknown.
  public let otherFields: [String: JSONField]

  /// The number of results according to the server.
  public var resultCount: Int {
    otherFields["resultCount"]?.integer.map(Int.init) ?? listings.count
  }

  /// Creates results with `listings`.
  public init(_ listings: [AppListing]) {
    self.listings = listings
    otherFields = ["resultCount": .integer(Int64(listings.count))]
  }

  /// Reads the body of a response of at most `maximumSize` bytes.
  ///
  /// Throws `answerUnreadable`, or `queryInvalid` with the server's message if the query was
  /// invalid. `source` is the subject of the error.
  package init(
    json bytes: [UInt8], maximumSize: Int = 16 << 20, source: String = "look-up"
  ) throws {
    var members = try JSONField(document: bytes, limit: maximumSize, source: source).members ?? [:]
    if let message = members["errorMessage"]?.string {
      throw ContentError(
        .queryInvalid, "The server refused the query", remedy: "Check the query",
        subject: source, cause: message.printable(limit: 200))
    }
    guard case .array(let list)? = members.removeValue(forKey: "results") else {
      throw ContentError(
        .answerUnreadable, "The answer does not have a list of results",
        remedy: "Check that the server is a server for app versions", subject: source)
    }
    // A result that is not an object is skipped.
    listings = list.compactMap { $0.members.map(AppListing.init(fields:)) }
    otherFields = members
  }
}

extension LookupResults: Encodable {
  /// Writes the results in the server's format.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    var members = otherFields
    members["results"] = .array(listings.map { .object($0.fields) })
    try container.encode(members)
  }
}
