public import FoundationEssentials

/// An app in a lookup or search result: all fields unchanged, known fields as properties.
///
/// A property is nil if the field is missing or has another type. Apple omits `releaseNotes` for a
/// first version and sends `fileSizeBytes` as text; both are handled. Source: iTunes Search API,
/// results for software.
public struct AppListing: Hashable, Sendable, CustomDebugStringConvertible, Codable {
  /// All fields, known and unknown.
  public let fields: [String: JSONValue]

  /// Reads an app from a result's fields.
  public init(fields: [String: JSONValue]) { self.fields = fields }

  /// The fields without a property, such as those that a server added.
  public var otherFields: [String: JSONValue] {
    fields.filter { !Self.documentedFields.contains($0.key) }
  }

  // MARK: Version

  /// The offered version; nil if the text is invalid, see `versionText`.
  public var version: AppVersion? { fields["version"]?.versionValue }
  /// The text of the version.
  public var versionText: String? { fields["version"]?.stringValue }
  /// The date of the first release.
  public var releaseDate: Date? { fields["releaseDate"]?.dateValue }
  /// The date of this version's release.
  public var currentVersionReleaseDate: Date? { fields["currentVersionReleaseDate"]?.dateValue }
  /// The release notes of this version.
  public var releaseNotes: String? { fields["releaseNotes"]?.stringValue }
  /// The minimum version of the operating system.
  public var minimumOSVersion: AppVersion? { fields["minimumOsVersion"]?.versionValue }
  /// The size of the download in bytes.
  public var fileSizeBytes: Int64? { fields["fileSizeBytes"]?.integerValue }

  // MARK: Identity

  /// The numeric Apple ID.
  public var trackID: AppleID? { fields["trackId"]?.integerValue.flatMap(AppleID.init(rawValue:)) }
  /// The bundle identifier.
  public var bundleID: String? { fields["bundleId"]?.stringValue }
  /// The name.
  public var trackName: String? { fields["trackName"]?.stringValue }
  /// The name with offensive words replaced by asterisks.
  public var trackCensoredName: String? { fields["trackCensoredName"]?.stringValue }
  /// The page in the store.
  public var trackViewURL: URL? { fields["trackViewUrl"]?.urlValue }
  /// The type of the result: `software` for apps.
  public var wrapperType: String? { fields["wrapperType"]?.stringValue }
  /// The kind of content, such as `software` or `mac-software`.
  public var kind: String? { fields["kind"]?.stringValue }

  // MARK: Seller

  /// The seller's number.
  public var artistID: AppleID? {
    fields["artistId"]?.integerValue.flatMap(AppleID.init(rawValue:))
  }
  /// The seller's name in the store.
  public var artistName: String? { fields["artistName"]?.stringValue }
  /// The seller's page in the store.
  public var artistViewURL: URL? { fields["artistViewUrl"]?.urlValue }
  /// The seller's legal name.
  public var sellerName: String? { fields["sellerName"]?.stringValue }
  /// The seller's website.
  public var sellerURL: URL? { fields["sellerUrl"]?.urlValue }

  // MARK: Price

  /// The price; nil without an amount or a currency.
  ///
  /// An amount of 0 is free.
  public var price: Price? {
    guard let amount = fields["price"]?.doubleValue, (0..<1e11).contains(amount), let currency
    else { return nil }
    // Rounded as a price is, because a `Decimal` of a very small number is not a number.
    return Price(Decimal((amount * 10_000).rounded()) / 10_000, currency: currency)
  }
  /// The price, formatted by the storefront.
  public var formattedPrice: String? { fields["formattedPrice"]?.stringValue }
  /// The currency (ISO 4217).
  public var currency: String? { fields["currency"]?.stringValue }
  /// Whether organizations can license it for devices.
  public var isVPPDeviceBasedLicensingEnabled: Bool? {
    fields["isVppDeviceBasedLicensingEnabled"]?.boolValue
  }

  // MARK: Description

  /// The description.
  public var description: String? { fields["description"]?.stringValue }
  /// The number of the main genre.
  public var primaryGenreID: Int64? { fields["primaryGenreId"]?.integerValue }
  /// The name of the main genre.
  public var primaryGenreName: String? { fields["primaryGenreName"]?.stringValue }
  /// The numbers of all genres, as text.
  public var genreIDs: [String]? { fields["genreIds"]?.stringValues }
  /// The names of all genres.
  public var genres: [String]? { fields["genres"]?.stringValues }
  /// The supported languages, two letters each.
  public var languageCodesISO2A: [String]? { fields["languageCodesISO2A"]?.stringValues }
  /// The supported devices.
  public var supportedDevices: [String]? { fields["supportedDevices"]?.stringValues }
  /// Features such as `iosUniversal`.
  public var features: [String]? { fields["features"]?.stringValues }
  /// The reasons for the age rating.
  public var advisories: [String]? { fields["advisories"]?.stringValues }
  /// The age rating, such as `4+`.
  public var trackContentRating: String? { fields["trackContentRating"]?.stringValue }
  /// The age rating in the storefront's own scale.
  public var contentAdvisoryRating: String? { fields["contentAdvisoryRating"]?.stringValue }
  /// Whether it supports Game Center.
  public var isGameCenterEnabled: Bool? { fields["isGameCenterEnabled"]?.boolValue }

  // MARK: Images

  /// Screenshots for phones.
  public var screenshotURLs: [URL]? { fields["screenshotUrls"]?.urlValues }
  /// Screenshots for tablets.
  public var iPadScreenshotURLs: [URL]? { fields["ipadScreenshotUrls"]?.urlValues }
  /// Screenshots for televisions.
  public var appleTVScreenshotURLs: [URL]? { fields["appletvScreenshotUrls"]?.urlValues }
  /// The icon, 60 pixels wide.
  public var artworkURL60: URL? { fields["artworkUrl60"]?.urlValue }
  /// The icon, 100 pixels wide.
  public var artworkURL100: URL? { fields["artworkUrl100"]?.urlValue }
  /// The icon, 512 pixels wide.
  public var artworkURL512: URL? { fields["artworkUrl512"]?.urlValue }

  // MARK: Ratings

  /// The average rating of all versions, 1 to 5, or 0 without ratings.
  public var averageUserRating: Double? { fields["averageUserRating"]?.doubleValue }
  /// The average rating of this version, 1 to 5, or 0 without ratings.
  public var averageUserRatingForCurrentVersion: Double? {
    fields["averageUserRatingForCurrentVersion"]?.doubleValue
  }
  /// The number of ratings.
  public var userRatingCount: Int64? { fields["userRatingCount"]?.integerValue }
  /// The number of ratings of this version.
  public var userRatingCountForCurrentVersion: Int64? {
    fields["userRatingCountForCurrentVersion"]?.integerValue
  }

  /// The identity and the version, such as `com.example.app 2.0`.
  ///
  /// `description` is the app's description in the store.
  public var debugDescription: String { summary }

  /// The bundle identifier, or else the Apple ID or the name, and the version.
  var summary: String {
    let name = bundleID ?? trackID.map { "id\($0)" } ?? trackName ?? "unknown item"
    return versionText.map { "\(name) \($0)" } ?? name
  }

  /// Reads an object with any fields.
  public init(from decoder: any Decoder) throws {
    fields = try decoder.singleValueContainer().decode([String: JSONValue].self)
  }

  /// Writes the fields unchanged.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(fields)
  }

  /// The names of the fields with a property.
  static let documentedFields: Set<String> = [
    "version", "releaseDate", "currentVersionReleaseDate", "releaseNotes", "minimumOsVersion",
    "fileSizeBytes", "trackId", "bundleId", "trackName", "trackCensoredName", "trackViewUrl",
    "wrapperType", "kind", "artistId", "artistName", "artistViewUrl", "sellerName", "sellerUrl",
    "price", "formattedPrice", "currency", "isVppDeviceBasedLicensingEnabled", "description",
    "primaryGenreId", "primaryGenreName", "genreIds", "genres", "languageCodesISO2A",
    "supportedDevices", "features", "advisories", "trackContentRating", "contentAdvisoryRating",
    "isGameCenterEnabled", "screenshotUrls", "ipadScreenshotUrls", "appletvScreenshotUrls",
    "artworkUrl60", "artworkUrl100", "artworkUrl512", "averageUserRating",
    "averageUserRatingForCurrentVersion", "userRatingCount", "userRatingCountForCurrentVersion",
  ]
}

/// The apps that a lookup or search has found: `{"resultCount": …, "results": […]}`.
public struct LookupResults: Hashable, Sendable, Encodable, CustomStringConvertible {
  /// The apps.
  ///
  /// With `entity`, also other items of the same seller.
  public let listings: [AppListing]
  /// The fields besides `results`, known and unknown.
  public let otherFields: [String: JSONValue]

  /// The number of results according to the server.
  public var resultCount: Int {
    otherFields["resultCount"]?.integerValue.map(Int.init) ?? listings.count
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
    var members = try JSONValue(answer: bytes, limit: maximumSize, source: source).members ?? [:]
    if let message = members["errorMessage"]?.stringValue {
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

  /// Writes the results in the server's format.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    var members = otherFields
    members["results"] = .array(listings.map { .object($0.fields) })
    try container.encode(members)
  }

  /// The number of results and the apps in one line.
  public var description: String {
    "\(resultCount) results: \(listings.map(\.summary).joined(separator: ", "))"
  }
}
