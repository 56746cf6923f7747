import HostedModel
import FoundationEssentials
import HostedTestSupport
import Testing

@testable import AppUpdate

@Suite("Lookup answers")
struct ListingTests {
  private func read(_ json: String) throws -> LookupResults {
    try LookupResults(json: Array(json.utf8))
  }

  @Test("Every documented field is read, and unknown fields are kept")
  func allFields() throws {
    let json = #"""
      {"resultCount":1,"serverHint":"a","results":[{
      "wrapperType":"software","kind":"software","artistId":1,"artistName":"A","artistViewUrl":"https://a.example/1",
      "sellerName":"S","sellerUrl":"https://s.example","bundleId":"com.example.courier","trackId":364709193,
      "trackName":"N","trackCensoredName":"N*","trackViewUrl":"https://t.example/id364709193",
      "trackContentRating":"4+","contentAdvisoryRating":"12+","version":"1.10.2","releaseDate":"2010-04-01T07:00:00Z",
      "currentVersionReleaseDate":"2025-12-01T08:30:00Z","releaseNotes":"New.","minimumOsVersion":"15.1",
      "fileSizeBytes":"123456789","price":2.99,"formattedPrice":"$2.99","currency":"USD","primaryGenreId":6018,
      "primaryGenreName":"Books","genreIds":["6018","6012"],"genres":["Books","Lifestyle"],
      "languageCodesISO2A":["DE","EN"],"supportedDevices":["iPhone5s"],"features":["iosUniversal"],"advisories":["X"],
      "isGameCenterEnabled":false,"isVppDeviceBasedLicensingEnabled":true,"screenshotUrls":["https://i.example/1"],
      "ipadScreenshotUrls":[],"appletvScreenshotUrls":["https://i.example/3","not a url"],
      "artworkUrl60":"https://i.example/60","artworkUrl100":"https://i.example/100","artworkUrl512":"https://i.example/512",
      "description":"D","averageUserRating":4.5,"averageUserRatingForCurrentVersion":4,"userRatingCount":10,
      "userRatingCountForCurrentVersion":2,"ownField":{"deep":[1,null,true]}}]}
      """#
    let answer = try read(json)
    let app = try #require(answer.listings.first)
    #expect(answer.resultCount == 1)
    #expect(answer.otherFields["serverHint"] == .string("a"))
    #expect(app.trackID?.rawValue == 364_709_193)
    #expect(app.version == (try version("1.10.2")))
    #expect(app.fileSizeBytes == 123_456_789)
    #expect(app.price == Price(2.99, currency: "USD"))
    #expect(app.releaseDate == Date(timeIntervalSince1970: 1_270_105_200))
    #expect(app.currentVersionReleaseDate == Date(timeIntervalSince1970: 1_764_577_800))
    #expect(app.minimumOSVersion == (try version("15.1")))
    #expect(app.isGameCenterEnabled == false)
    #expect(app.isVPPDeviceBasedLicensingEnabled == true)
    #expect(app.genreIDs == ["6018", "6012"])
    #expect(app.iPadScreenshotURLs == [])
    #expect(app.appleTVScreenshotURLs?.count == 1)
    #expect(app.averageUserRatingForCurrentVersion == 4)
    let texts = [
      app.wrapperType, app.kind, app.artistName, app.sellerName, app.bundleID, app.trackName,
      app.trackCensoredName, app.trackContentRating, app.contentAdvisoryRating, app.releaseNotes,
      app.formattedPrice, app.currency, app.primaryGenreName, app.description,
    ]
    #expect(!texts.contains(nil))
    let urls = [
      app.artistViewURL, app.sellerURL, app.trackViewURL, app.artworkURL60, app.artworkURL100,
      app.artworkURL512, app.screenshotURLs?.first,
    ]
    #expect(!urls.contains(nil))
    let numbers = [
      app.artistID?.rawValue, app.primaryGenreID, app.userRatingCount,
      app.userRatingCountForCurrentVersion,
    ]
    #expect(!numbers.contains(nil))
    #expect([app.genres, app.languageCodesISO2A, app.supportedDevices].allSatisfy { $0 != nil })
    #expect([app.features, app.advisories].allSatisfy { $0 != nil })
    #expect(app.averageUserRating == 4.5)
    #expect(app.otherFields.keys.sorted() == ["ownField"])
    let again = try LookupResults(json: Array(JSONEncoder().encode(answer)))
    #expect(again == answer)
    #expect(Set(app.fields.keys).subtracting(["ownField"]) == AppListing.documentedFields)
  }

  @Test(
    "The size can be a string or a number",
    arguments: [
      (JSONValue.string("5"), Int64?(5)), (.integer(5), 5), (.number(5), 5), (.string("x"), nil),
      (.null, nil), (.number(5.5), nil), (.array([]), nil),
    ])
  func size(field: JSONValue, bytes: Int64?) {
    #expect(AppListing(fields: ["fileSizeBytes": field]).fileSizeBytes == bytes)
  }

  @Test(
    "Booleans can be booleans, numbers or strings",
    arguments: [
      (JSONValue.bool(true), Bool?(true)), (.integer(1), true), (.string("1"), true),
      (.string("TRUE"), true), (.string("yes"), true), (.bool(false), false), (.integer(0), false),
      (.string("0"), false), (.string("No"), false), (.string(""), false), (.number(1), true),
      (.integer(2), nil), (.string("maybe"), nil), (.null, nil), (.array([.bool(true)]), nil),
    ])
  func truth(field: JSONValue, truth: Bool?) { #expect(field.boolValue == truth) }

  @Test(
    "A number can be a string",
    arguments: [
      ("4.5", 4.5), ("-1", -1), ("nan", nil), ("inf", nil), ("1e999", nil), ("", nil),
    ] as [(String, Double?)])
  func number(text: String, number: Double?) {
    #expect(JSONValue.string(text).doubleValue == number)
  }

  @Test(
    "Dates are in UTC",
    arguments: [
      ("2026-01-15T12:00:00Z", 0.0), ("2026-01-15T12:00:00", 0), ("2026-01-15", -12 * 3600),
      ("2026-01-15T20:00:00+0800", 0), ("2026-01-15T20:00:00+08:00", 0),
      ("2026-01-15T12:00:00.000Z", 0),
    ] as [(String, Double)])
  func dates(text: String, offset: Double) {
    #expect(JSONValue.string(text).dateValue == noon + offset)
  }

  @Test("An invalid date is nil", arguments: ["", "soon", "2026-13-01T00:00:00Z", "15.1.2026"])
  func noDates(text: String) { #expect(JSONValue.string(text).dateValue == nil) }

  @Test("Missing or invalid fields are nil, and do not affect other fields")
  func missing() throws {
    let members = #""version":7,"trackId":-1,"releaseNotes":"","price":"1.5","currency":"EUR""#
    let app = try #require(read(#"{"resultCount":1,"results":[{\#(members)}]}"#).listings.first)
    #expect(app.version == (try version("7")))
    #expect(app.trackID == nil)
    #expect(app.releaseNotes == nil)
    #expect(app.price == Price(1.5, currency: "EUR"))
    #expect(app.bundleID == nil)
    #expect(app.screenshotURLs == nil)
  }

  @Test("A price needs an amount and a currency")
  func price() {
    let prices: [(JSONValue?, String?, Price?)] = [
      (.number(0.99), "EUR", Price(0.99, currency: "EUR")),
      (.integer(0), "USD", Price(0, currency: "USD")), (.number(0.99), nil, nil),
      (nil, "EUR", nil), (.integer(-1), "EUR", nil), (.number(1e300), "EUR", nil),
      (.string("nan"), "EUR", nil), (.number(1e-300), "EUR", Price(0, currency: "EUR")),
    ]
    for (amount, currency, expected) in prices {
      var fields: [String: JSONValue] = [:]
      fields["price"] = amount
      fields["currency"] = currency.map { .string($0) }
      #expect(AppListing(fields: fields).price == expected)
    }
  }

  @Test(
    "An unrepresentable value only affects its field",
    arguments: [
      (#""Thumbs \ud83d up""#, .string("Thumbs \u{fffd} up")), (#""\ude00""#, .string("\u{fffd}")),
      (#""\ud83d\ud83d\ude00""#, .string("\u{fffd}😀")), (#""\ud83dx""#, .string("\u{fffd}x")),
      ("1e999", .null), ("-1e999", .null), ("1e-999", .number(0)),
      ("99999999999999999999", .number(1e20)), ("-0", .integer(0)), ("1.50", .number(1.5)),
    ] as [(String, JSONValue)])
  func unrepresentable(text: String, field: JSONValue) throws {
    let answer = try read(#"{"results":[{"version":"2.0","x":\#(text)},{"version":"3.0"}]}"#)
    #expect(answer.listings.map(\.versionText) == ["2.0", "3.0"])
    #expect(answer.listings[0].fields["x"] == field)
  }

  @Test("Invalid UTF-8 only affects one string")
  func wrongBytes() throws {
    let json = Array(#"{"results":[{"version":"2.0","x":"a"#.utf8) + [0xff] + Array(#"b"}]}"#.utf8)
    #expect(try LookupResults(json: json).listings[0].fields["x"] == .string("a\u{fffd}b"))
  }

  @Test(
    "Invalid JSON is refused with its line",
    arguments: [
      "{\n\"a\": 01}", "{\n\"a\": 1.}", "{\n\"a\": +1}", "{\n\"a\": nul}", "{\n\"a\": \"\\x\"}",
      "{\n\"a\": \"\\u12g4\"}", "{\n\"a\": \"b\tc\"}", "{\n\"a\": [1,]}", "{\n\"a\": 1,}",
      "{\n\"a\" 1}",
      "{\n\"a\": 1} x", "{\n\"a\": .5}", "{\n\"a\": 1e}", "{\n\"a\": \"b", "{\n\"a\": -}",
    ])
  func notJSON(text: String) {
    let error = #expect(throws: ContentError.self) { try read(text) }
    #expect(error?.code == .answerUnreadable)
    #expect(error?.cause?.contains("line 2") == true)
  }

  @Test("A result that is not an object is skipped")
  func oddResult() throws {
    #expect(try read(#"{"resultCount":2,"results":[1,{"trackId":5}]}"#).listings.count == 1)
  }

  @Test(
    "An invalid answer is a typed error",
    arguments: [
      "", "{", "[]", "{}", "null", #"{"results":{}}"#, "<html>", #"{"resultCount":0}"#, "\u{0}",
      #"{"results":[}"#,
    ])
  func noAnswer(json: String) { #expect(code { try read(json) } == .answerUnreadable) }

  @Test("A refused query has the server's message")
  func refusedQuestion() {
    let error = #expect(throws: ContentError.self) {
      try read(#"{"errorMessage":"Invalid value(s) for key(s): [country]"}"#)
    }
    #expect(error?.code == .queryInvalid)
    #expect(error?.cause?.contains("country") == true)
  }

  @Test(
    "Many small values take at most 64 MB more than the answer's size",
    .enabled(if: SlowTests.allowExitTests && PeakMemory.isMeasurable),
    arguments: ["0", "[0]", #"{"":0}"#])
  func values(_ value: String) async {
    await #expect(processExitsWith: .success) { [value = value as String] in
      let list = String(repeating: value + ",", count: 2_000_000)
      let bytes = Array(#"{"results":[],"x":[\#(list)0]}"#.utf8)
      _ = try LookupResults(json: Array(#"{"results":[]}"#.utf8))
      let memory = try PeakMemory()
      let error = #expect(throws: ContentError.self) { try LookupResults(json: bytes) }
      #expect(error?.code == .answerUnreadable)
      #expect(try memory.used() <= 64_000_000 + bytes.count)
    }
  }

  @Test("Size and depth are limited")
  func bounds() {
    let deep = String(repeating: "[", count: 100_000)
    #expect(code { try read(deep) } == .answerUnreadable)
    let allowed = #"{"results":[{"x":"# + String(repeating: "[", count: 29)
    let closed = String(repeating: "]", count: 29) + "}]}"
    #expect(code { try read(allowed + closed) } == nil)
    #expect(code { try read(allowed + "[" + "]" + closed) } == .answerUnreadable)
    let quoted = #"{"results":[],"x":"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"[[["}"#
    #expect(code { try read(quoted) } == nil, "brackets in strings do not count")
    let long = Array(#"{"results":[]}"#.utf8)
    #expect(code { try LookupResults(json: long, maximumSize: long.count) } == nil)
    #expect(
      code { try LookupResults(json: long, maximumSize: long.count - 1) } == .answerUnreadable)
  }
}
