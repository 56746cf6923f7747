import StoreKit
import Testing

/// Foundation on Linux does not have `DateComponentsFormatter`.
///
/// Expectations are from Apple's documentation.
@Suite("Lengths of time are formatted as on Apple's systems, in English")
struct FormatterTests {
  private func formatter(
    _ style: DateComponentsFormatter.UnitsStyle, _ units: NSCalendar.Unit = []
  ) -> DateComponentsFormatter {
    let formatter = DateComponentsFormatter()
    formatter.unitsStyle = style
    formatter.allowedUnits = units
    return formatter
  }

  @Test("A subscription period is formatted as client libraries do")
  func periods() {
    typealias Words = DateComponentsFormatter
    let month = DateComponents(month: 1)
    #expect(Words.localizedString(from: month, unitsStyle: .short) == "1 mth")
    #expect(Words.localizedString(from: month, unitsStyle: .full) == "1 month")
    let weeks = DateComponents(weekOfMonth: 2)
    #expect(Words.localizedString(from: weeks, unitsStyle: .full) == "2 weeks")
    #expect(Words.localizedString(from: DateComponents(day: 3), unitsStyle: .short) == "3 days")
    #expect(Words.localizedString(from: DateComponents(day: 14), unitsStyle: .full) == "2 weeks")
    #expect(Words.localizedString(from: DateComponents(month: 12), unitsStyle: .full) == "1 year")
    let days = formatter(.full, [.day])
    days.maximumUnitCount = 1
    days.zeroFormattingBehavior = .dropAll
    #expect(days.string(from: DateComponents(day: 14)) == "14 days")
  }

  private static let samples: [(DateComponentsFormatter.UnitsStyle, String)] = [
    (.positional, "1:10:05"), (.abbreviated, "1h 10m 5s"), (.short, "1 hr, 10 min, 5 sec"),
    (.full, "1 hour, 10 minutes, 5 seconds"), (.spellOut, "one hour, ten minutes, five seconds"),
    (.brief, "1hr 10min 5sec"),
  ]

  @Test("Each style has its own words and separators", arguments: samples)
  func styles(style: DateComponentsFormatter.UnitsStyle, text: String) {
    let components = DateComponents(hour: 1, minute: 10, second: 5)
    #expect(formatter(style).string(from: components) == text)
    #expect(formatter(style).string(for: components) == text)
    #expect(formatter(style).string(from: 4_205) == text)
    let start = Date(timeIntervalSinceReferenceDate: 1_000)
    #expect(formatter(style).string(from: start, to: start + 4_205.7) == text)
  }

  @Test("Allowed units and their maximum number limit the text")
  func units() {
    let words = formatter(.full, [.hour, .minute])
    #expect(words.string(from: 90_061) == "25 hours, 1 minute")
    words.maximumUnitCount = 1
    #expect(words.string(from: 90_061) == "25 hours")
    #expect(formatter(.full, [.minute, .second]).string(from: 543) == "9 minutes, 3 seconds")
    #expect(formatter(.full, [.second]).string(from: 1_342) == "1,342 seconds")
    #expect(formatter(.full, [.era]).string(from: 5) == nil)
    #expect(formatter(.positional).string(from: 93_600) == "1d 2:00:00")
    #expect(formatter(.positional, [.day]).string(from: 5 * 86_400) == "5d")
  }

  @Test("Zeros are dropped or padded")
  func zeros() {
    let units: NSCalendar.Unit = [.hour, .minute, .second]
    #expect(formatter(.positional, units).string(from: 65) == "1:05")
    #expect(formatter(.positional, units).string(from: 3_600) == "1:00:00")
    #expect(formatter(.full, units).string(from: 3_605) == "1 hour, 5 seconds")
    #expect(formatter(.full, units).string(from: 0) == "0 seconds")
    let padded = formatter(.positional, [.minute, .second])
    padded.zeroFormattingBehavior = .pad
    #expect(padded.string(from: 65) == "01:05" && padded.string(from: 0) == "00:00")
    let whole = formatter(.abbreviated, units)
    whole.zeroFormattingBehavior = []
    #expect(whole.string(from: 60) == "0h 1m 0s")
    whole.zeroFormattingBehavior = .dropTrailing
    #expect(whole.string(from: 60) == "0h 1m")
  }

  @Test("The remaining time of a download is formatted with its phrases")
  func phrases() {
    let words = formatter(.brief, [.minute, .second])
    words.includesApproximationPhrase = true
    words.includesTimeRemainingPhrase = true
    #expect(words.string(from: 123) == "About 2min 3sec remaining")
    #expect(formatter(.abbreviated).string(from: -65) == "-1m 5s")
  }

  @Test("The calendar divides the time between two dates")
  func calendar() throws {
    let words = formatter(.full, [.day, .hour])
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = try #require(TimeZone(identifier: "Europe/Stockholm"))
    words.calendar = calendar
    let start = try #require(calendar.date(from: DateComponents(year: 2026, month: 3, day: 28)))
    let end = try #require(calendar.date(from: DateComponents(year: 2026, month: 3, day: 30)))
    #expect(words.string(from: start, to: end) == "2 days")
    #expect(words.string(from: end.timeIntervalSince(start)) == "1 day, 23 hours")
  }

  @Test("Lengths that a calendar cannot express are nil")
  func extremes() {
    for length in [Double.nan, .infinity, -.infinity, 1e300] {
      #expect(formatter(.full).string(from: length) == nil)
    }
    // Int.max means that a value is not set.
    for value in [Int.max - 1, Int.min] {
      #expect(formatter(.full).string(from: DateComponents(year: value, second: value)) == nil)
      #expect(formatter(.full).string(from: DateComponents(weekOfYear: value)) == nil)
    }
    #expect(formatter(.full).string(from: .distantPast, to: .distantFuture) != nil)
  }
}
