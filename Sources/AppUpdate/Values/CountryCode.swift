/// The country of a storefront: two letters of ISO 3166-1 in lower case.
///
/// It is not a language: an app that is only sold in China is found with `cn`, not with `zh`.
public struct CountryCode: ValidatedText {
  /// The two letters, in lower case.
  public let rawValue: String

  /// The United States, the default of Apple's lookup.
  public static let us = CountryCode("us")

  /// Reads two letters of an assigned country code in any case, or `xk` for Kosovo.
  ///
  /// Throws `countryInvalid` for others.
  public init(validating text: String) throws {
    let code = text.lowercased()
    guard Self.assigned.contains(code) else {
      throw ContentError(
        .countryInvalid, "“\(text.printable(limit: 20))” is not a country code",
        remedy: Self.remedy(for: code), subject: text.printable(limit: 20))
    }
    rawValue = code
  }

  /// Compares the letters.
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

  private static func remedy(for code: String) -> String {
    if code == "uk" { return "Use gb for the United Kingdom" }
    let last = code.split { $0 == "_" || $0 == "-" }.last.map(String.init) ?? ""
    if last != code, assigned.contains(last) {
      return "Use the country of the locale, “\(last)”"
    }
    return "Use two letters of ISO 3166-1, such as us, cn or de, not a language"
  }

  /// The codes of ISO 3166-1, and `xk`, which stores use for Kosovo.
  private static let assigned = Set(
    """
    ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bl bm bn bo bq br \
    bs bt bv bw by bz ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz \
    ec ee eg eh er es et fi fj fk fm fo fr ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw \
    gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh ki km kn kp kr kw ky \
    kz la lb lc li lk lr ls lt lu lv ly ma mc md me mf mg mh mk ml mm mn mo mp mq mr ms mt mu mv \
    mw mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py \
    qa re ro rs ru rw sa sb sc sd se sg sh si sj sk sl sm sn so sr ss st sv sx sy sz tc td tf tg \
    th tj tk tl tm tn to tr tt tv tw tz ua ug um us uy uz va vc ve vg vi vn vu wf ws xk ye yt za \
    zm zw
    """.split(separator: " ").map(String.init))
}
