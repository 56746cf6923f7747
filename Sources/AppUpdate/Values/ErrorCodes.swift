/// The codes of this module.
extension ContentError.Code {
  // Server.
  /// Too many requests for app versions; the server asks to wait, or a limit is reached.
  public static let lookupThrottled = Self(rawValue: 220)
  /// The response about app versions cannot be read.
  public static let answerUnreadable = Self(rawValue: 221)
  /// The server offers an older version of the app than before.
  public static let appVersionWentDown = Self(rawValue: 222)

  // File.
  /// The state of app updates cannot be read; it is reset.
  public static let updateMemoryDamaged = Self(rawValue: 320)
  /// A feed of apps is incomplete or invalid.
  public static let feedDamaged = Self(rawValue: 321)

  // Entitlement.
  /// None of the queried storefronts offers the app.
  public static let appNotOffered = Self(rawValue: 720)

  // User.
  /// The operation is refused until the app is updated.
  public static let updateRequired = Self(rawValue: 820)
  /// The country is not two letters of ISO 3166-1.
  public static let countryInvalid = Self(rawValue: 821)
  /// The text is not an Apple ID, bundle identifier or product link.
  public static let appIdentifierInvalid = Self(rawValue: 822)
  /// A parameter of a query is invalid, or the server refuses the query.
  public static let queryInvalid = Self(rawValue: 823)
}
