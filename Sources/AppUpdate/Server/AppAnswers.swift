import FoundationEssentials

/// A response of your own server: a status and a JSON document.
public struct AppServerAnswer: Hashable, Sendable {
  /// The HTTP status.
  public let status: Int
  /// The JSON document.
  public let body: [UInt8]
}

extension AppCatalog {
  /// The paths that are served.
  public static let paths = ["/lookup", "/search", "/app-version"]

  /// Returns the response to a GET of `path` with decoded parameters; nil for other paths.
  ///
  /// The status is 400 for an invalid parameter, and 404 for the version of an unknown app.
  public func answer(path: String, parameters: [String: String]) -> AppServerAnswer? {
    guard Self.paths.contains(path) else { return nil }
    let question = AppQuestion(parameters)
    let sold: [App]
    do {
      let country = try question.country
      sold = apps.filter { $0.isSold(in: country) }
    } catch { return .refused(["country"]) }
    return switch path {
    case "/lookup": lookup(question, sold)
    case "/search": search(question, sold)
    default: version(question, sold)
    }
  }

  private func lookup(_ question: AppQuestion, _ sold: [App]) -> AppServerAnswer {
    let keys = [
      ("id", "trackId"), ("bundleId", "bundleId"), ("amgArtistId", "amgArtistId"), ("upc", "upc"),
      ("isbn", "isbn"),
    ]
    guard let (parameter, field) = keys.first(where: { question[$0.0] != nil }),
      let limit = question.limit(otherwise: 200)
    else { return .refused(["id", "limit"]) }
    let wanted = Set((question[parameter] ?? "").split(separator: ",").map { $0.lowercased() })
    let names = { (listing: AppListing, field: String) in
      listing.fields[field]?.string.map { wanted.contains($0.lowercased()) } ?? false
    }
    var found = sold.map(\.listing).filter { listing in
      // With an entity, a seller's number matches all apps of the seller.
      listing.isOf(entity: question["entity"])
        && (names(listing, field)
          || (parameter == "id" && question["entity"] != nil && names(listing, "artistId")))
    }
    if question["sort"] == "recent" {
      found.sort {
        ($0.currentVersionReleaseDate ?? .distantPast)
          > ($1.currentVersionReleaseDate ?? .distantPast)
      }
    }
    return .results(found.prefix(limit))
  }

  private func search(_ question: AppQuestion, _ sold: [App]) -> AppServerAnswer {
    guard let term = question["term"], !term.isEmpty, let limit = question.limit(otherwise: 50)
    else { return .refused(["term", "limit"]) }
    let words = term.lowercased().split(separator: " ")
    let fields = Self.searchedFields[question["attribute"] ?? ""] ?? Self.allSearchedFields
    let found = sold.map(\.listing).filter { listing in
      guard listing.isOf(entity: question["entity"]), listing.isAllowed(question["explicit"])
      else { return false }
      let text = fields.compactMap { listing.fields[$0]?.string?.lowercased() }
        .joined(separator: "\n")
      return words.allSatisfy { text.contains($0) }
    }
    return .results(found.prefix(limit))
  }

  private static let allSearchedFields = ["trackName", "sellerName", "artistName", "description"]
  private static let searchedFields = [
    "softwareDeveloper": ["sellerName", "artistName"], "titleTerm": ["trackName"],
    "descriptionTerm": ["description"], "genreIndex": ["primaryGenreName"],
  ]

  private func version(_ question: AppQuestion, _ sold: [App]) -> AppServerAnswer {
    guard let text = question["version"], let installed = try? AppVersion(validating: text) else {
      return .refused(["version"])
    }
    let app = sold.first { app in
      app.listing.isOf(entity: question["entity"])
        && question["bundleId"].map { $0.lowercased() == app.listing.bundleID?.lowercased() }
          ?? question["id"].map { $0 == app.listing.trackID?.description } ?? false
    }
    guard let app else {
      return .document(404, ["errorMessage": .string("App not found in this country")])
    }
    return .document(200, app.answer(for: installed, account: question["account"]).fields)
  }
}

extension AppCatalog.App {
  /// Returns the answer for an app with the version `installed`.
  ///
  /// Never requires a version that is not newer.
  func answer(for installed: AppVersion, account: String?) -> AppVersionAnswer {
    let isNewer = listing.version.map { installed < $0 } ?? false
    let isForced =
      minimumVersion.map { installed < $0 } ?? false || blockedVersions.contains(installed)
      || account.map(forcedAccounts.contains) ?? false
    let answer = AppVersionAnswer(
      hasNewVersion: isNewer, requiresUpdate: isNewer && isForced,
      downloadURL: downloadURL ?? listing.trackViewURL, version: listing.version,
      releaseNotes: listing.releaseNotes)
    var fields = answer.fields
    fields["minimumOsVersion"] = listing.fields["minimumOsVersion"]
    return AppVersionAnswer(fields: fields)
  }
}

extension AppListing {
  /// Whether it matches `entity`; without an entity, it is software for phones.
  fileprivate func isOf(entity: String?) -> Bool {
    switch entity {
    case "macSoftware": kind == "mac-software"
    case "software", "iPadSoftware": kind != "mac-software"
    default: true
    }
  }

  fileprivate func isAllowed(_ explicit: String?) -> Bool {
    explicit?.lowercased() != "no" || fields["trackExplicitness"]?.string != "explicit"
  }
}

extension AppServerAnswer {
  fileprivate static func results(_ listings: some Sequence<AppListing>) -> Self {
    encoded(200, LookupAnswer(results: Array(listings)))
  }

  fileprivate static func document(_ status: Int, _ fields: [String: JSONField]) -> Self {
    encoded(status, fields)
  }

  /// The response to an invalid query, with the message of Apple's server.
  fileprivate static func refused(_ keys: [String]) -> Self {
    document(
      400,
      ["errorMessage": .string("Invalid value(s) for key(s): [\(keys.joined(separator: ", "))]")])
  }

  private static func encoded(_ status: Int, _ value: some Encodable) -> Self {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(value) else {
      // Only for a number that JSON cannot represent, which a JSON file cannot contain.
      return AppServerAnswer(status: 500, body: Array("{}".utf8))
    }
    return AppServerAnswer(status: status, body: Array(data))
  }
}
