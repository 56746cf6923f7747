/// What a look-up or search found: `{"resultCount": …, "results": […]}`.
public struct LookupAnswer: Hashable, Sendable {
  /// The apps that were found; with `entity` also other things of the same seller.
  public let results: [AppListing]
  /// The fields beside `results`, known and unknown.
  public let otherFields: [String: JSONField]

  /// How many results the server says there are.
  public var resultCount: Int { otherFields["resultCount"]?.integer.map(Int.init) ?? results.count }

  /// Makes an answer of `results`.
  public init(results: [AppListing]) {
    self.results = results
    otherFields = ["resultCount": .integer(Int64(results.count))]
  }

  /// Reads an answer of at most `limit` bytes; throws `answerUnreadable`, or `queryInvalid` with
  /// the server's words when it says that the question was wrong.
  public init(json bytes: [UInt8], limit: Int = 16 << 20, source: String = "look-up") throws {
    var members = try JSONField(document: bytes, limit: limit, source: source).members ?? [:]
    if let message = members["errorMessage"]?.string {
      throw ContentError(
        .queryInvalid, "The server refuses the question", remedy: "Check what was asked for",
        subject: source, cause: message.printable(limit: 200))
    }
    guard case .list(let list)? = members.removeValue(forKey: "results") else {
      throw ContentError(
        .answerUnreadable, "The answer has no results, not even an empty list of them",
        remedy: "Check that the server is one for app versions", subject: source)
    }
    // One result that is no object costs that one only.
    results = list.compactMap { $0.members.map(AppListing.init(fields:)) }
    otherFields = members
  }
}

extension LookupAnswer: Encodable {
  /// Writes the answer as the server does.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    var members = otherFields
    members["results"] = .list(results.map { .object($0.fields) })
    try container.encode(members)
  }
}
