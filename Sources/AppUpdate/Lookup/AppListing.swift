public import FoundationEssentials

/// One app as a look-up or search describes it: every field as it came, the known ones typed.
///
/// A property is nil where the server left the field out or wrote something else in it. Apple omits
/// `releaseNotes` at a first version and writes `fileSizeBytes` as a text; both are read.
/// Source: iTunes Search API, results for software.
public struct AppListing: Hashable, Sendable {
  /// The fields as they came, known and unknown.
  public let fields: [String: JSONField]

  /// Reads an app out of an answer's fields.
  public init(fields: [String: JSONField]) { self.fields = fields }

  /// The fields that no property reads, such as those that a server added.
  public var otherFields: [String: JSONField] {
    fields.filter { !Self.documentedFields.contains($0.key) }
  }

  // MARK: Version

  /// The version that is offered; nil also when its text is none, see `versionText`.
  public var version: AppVersion? { versionText.flatMap { try? AppVersion($0) } }
  /// The version's text as it came.
  public var versionText: String? { fields["version"]?.string }
  /// When the app was offered first.
  public var releaseDate: Date? { fields["releaseDate"]?.date }
  /// When this version was released.
  public var currentVersionReleaseDate: Date? { fields["currentVersionReleaseDate"]?.date }
  /// What is new in this version.
  public var releaseNotes: String? { fields["releaseNotes"]?.string }
  /// The oldest system that runs it.
  public var minimumOsVersion: AppVersion? {
    fields["minimumOsVersion"]?.string.flatMap { try? AppVersion($0) }
  }
  /// The size of the download in bytes.
  public var fileSizeBytes: Int64? { fields["fileSizeBytes"]?.integer }

  // MARK: Identity

  /// The numeric Apple ID.
  public var trackID: AppleID? { fields["trackId"]?.integer.flatMap { try? AppleID($0) } }
  /// The bundle identifier.
  public var bundleID: String? { fields["bundleId"]?.string }
  /// The name.
  public var trackName: String? { fields["trackName"]?.string }
  /// The name with strong words starred out.
  public var trackCensoredName: String? { fields["trackCensoredName"]?.string }
  /// The page in the store.
  public var trackViewURL: URL? { fields["trackViewUrl"]?.url }
  /// What kind of result it is: `software` for apps.
  public var wrapperType: String? { fields["wrapperType"]?.string }
  /// The kind of content, such as `software` or `mac-software`.
  public var kind: String? { fields["kind"]?.string }

  // MARK: Seller

  /// The seller's number.
  public var artistID: Int64? { fields["artistId"]?.integer }
  /// The seller's name as the store lists it.
  public var artistName: String? { fields["artistName"]?.string }
  /// The seller's page in the store.
  public var artistViewURL: URL? { fields["artistViewUrl"]?.url }
  /// The seller's legal name.
  public var sellerName: String? { fields["sellerName"]?.string }
  /// The seller's own page.
  public var sellerURL: URL? { fields["sellerUrl"]?.url }

  // MARK: Price

  /// The price in `currency`; 0 for free.
  public var price: Double? { fields["price"]?.double }
  /// The price as the storefront writes it.
  public var formattedPrice: String? { fields["formattedPrice"]?.string }
  /// The currency's three letters (ISO 4217).
  public var currency: String? { fields["currency"]?.string }
  /// Whether organizations can license it for devices.
  public var isVppDeviceBasedLicensingEnabled: Bool? {
    fields["isVppDeviceBasedLicensingEnabled"]?.bool
  }

  // MARK: Description

  /// The description.
  public var description: String? { fields["description"]?.string }
  /// The number of the main genre.
  public var primaryGenreID: Int64? { fields["primaryGenreId"]?.integer }
  /// The name of the main genre.
  public var primaryGenreName: String? { fields["primaryGenreName"]?.string }
  /// The numbers of all genres, as texts.
  public var genreIDs: [String]? { fields["genreIds"]?.strings }
  /// The names of all genres.
  public var genres: [String]? { fields["genres"]?.strings }
  /// The languages it speaks, two letters each.
  public var languageCodesISO2A: [String]? { fields["languageCodesISO2A"]?.strings }
  /// The devices that run it.
  public var supportedDevices: [String]? { fields["supportedDevices"]?.strings }
  /// Features such as `iosUniversal`.
  public var features: [String]? { fields["features"]?.strings }
  /// Why its rating is what it is.
  public var advisories: [String]? { fields["advisories"]?.strings }
  /// The age rating, such as `4+`.
  public var trackContentRating: String? { fields["trackContentRating"]?.string }
  /// The age rating in the storefront's own scale.
  public var contentAdvisoryRating: String? { fields["contentAdvisoryRating"]?.string }
  /// Whether it takes part in Game Center.
  public var isGameCenterEnabled: Bool? { fields["isGameCenterEnabled"]?.bool }

  // MARK: Pictures

  /// Screenshots on a telephone.
  public var screenshotURLs: [URL]? { urls("screenshotUrls") }
  /// Screenshots on a tablet.
  public var ipadScreenshotURLs: [URL]? { urls("ipadScreenshotUrls") }
  /// Screenshots on a television.
  public var appletvScreenshotURLs: [URL]? { urls("appletvScreenshotUrls") }
  /// The icon, 60 pixels wide.
  public var artworkURL60: URL? { fields["artworkUrl60"]?.url }
  /// The icon, 100 pixels wide.
  public var artworkURL100: URL? { fields["artworkUrl100"]?.url }
  /// The icon, 512 pixels wide.
  public var artworkURL512: URL? { fields["artworkUrl512"]?.url }

  // MARK: Ratings

  /// The average rating of all versions, 1 to 5.
  public var averageUserRating: Double? { fields["averageUserRating"]?.double }
  /// The average rating of this version, 1 to 5.
  public var averageUserRatingForCurrentVersion: Double? {
    fields["averageUserRatingForCurrentVersion"]?.double
  }
  /// How many have rated it.
  public var userRatingCount: Int64? { fields["userRatingCount"]?.integer }
  /// How many have rated this version.
  public var userRatingCountForCurrentVersion: Int64? {
    fields["userRatingCountForCurrentVersion"]?.integer
  }

  private func urls(_ name: String) -> [URL]? {
    guard case .list(let list)? = fields[name] else { return nil }
    return list.compactMap(\.url)
  }
}

extension AppListing: Codable {
  /// Reads an object of any fields.
  public init(from decoder: any Decoder) throws {
    fields = try decoder.singleValueContainer().decode([String: JSONField].self)
  }

  /// Writes the fields as they came.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(fields)
  }
}

extension AppListing {
  /// The names of the fields that a property reads.
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
