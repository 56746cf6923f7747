import HostedConcurrency

/// Formats lengths of time, such as that of a subscription, as text.
///
/// Foundation on Linux does not have this class. English only. Values are expressed in the largest
/// allowed units: 14 days are "2 weeks". The text is nil for lengths of more than 6,000 years, and
/// if none of the units below is allowed.
// Sendable because all mutable state is protected by a lock.
open class DateComponentsFormatter: Formatter, @unchecked Sendable {
  /// The style of units.
  public enum UnitsStyle: Int, Sendable {
    /// "1:10:05"; units larger than an hour are abbreviated, "1d 2:00:00".
    case positional = 0
    /// "1h 10m"
    case abbreviated
    /// "1 hr, 10 min"
    case short
    /// "1 hour, 10 minutes"
    case full
    /// "one hour, ten minutes"
    case spellOut
    /// "1hr 10min"
    case brief
  }

  /// Which zero units are omitted, and whether numbers are padded to two digits.
  public struct ZeroFormattingBehavior: OptionSet, Sendable {
    /// The same bits as on Apple's systems.
    public let rawValue: UInt
    /// Creates options from the same bits as on Apple's systems.
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// `dropLeading` for the positional style, `dropAll` for the others.
    public static let `default` = Self(rawValue: 1)
    /// Omits zeros before the first other value.
    public static let dropLeading = Self(rawValue: 1 << 1)
    /// Omits zeros between other values.
    public static let dropMiddle = Self(rawValue: 1 << 2)
    /// Omits zeros after the last other value.
    public static let dropTrailing = Self(rawValue: 1 << 3)
    /// Omits all zeros.
    public static let dropAll: Self = [.dropLeading, .dropMiddle, .dropTrailing]
    /// Omits nothing, and writes "05" in the positional style.
    public static let pad = Self(rawValue: 1 << 16)
  }

  private struct Settings {
    var style = UnitsStyle.positional
    var units: NSCalendar.Unit = []
    var count = 0
    var zeros = ZeroFormattingBehavior.default
    var calendar: Calendar? = .current
    var isApproximation = false
    var isTimeRemaining = false
  }

  private let settings = Mutex(Settings())

  /// The style of units.
  open var unitsStyle: UnitsStyle {
    get { settings.withLock { $0.style } }
    set { settings.withLock { $0.style = newValue } }
  }
  /// The units to use, of year, month, weekOfMonth, day, hour, minute and second; empty for all.
  open var allowedUnits: NSCalendar.Unit {
    get { settings.withLock { $0.units } }
    set { settings.withLock { $0.units = newValue } }
  }
  /// The maximum number of units, the largest ones; 0 for all.
  open var maximumUnitCount: Int {
    get { settings.withLock { $0.count } }
    set { settings.withLock { $0.count = newValue } }
  }
  /// The formatting of zeros.
  open var zeroFormattingBehavior: ZeroFormattingBehavior {
    get { settings.withLock { $0.zeros } }
    set { settings.withLock { $0.zeros = newValue } }
  }
  /// The calendar for the time between two dates; nil for the current one.
  open var calendar: Calendar? {
    get { settings.withLock { $0.calendar } }
    set { settings.withLock { $0.calendar = newValue } }
  }
  /// Whether the text begins with "About".
  open var includesApproximationPhrase: Bool {
    get { settings.withLock { $0.isApproximation } }
    set { settings.withLock { $0.isApproximation = newValue } }
  }
  /// Whether the text ends with "remaining".
  open var includesTimeRemainingPhrase: Bool {
    get { settings.withLock { $0.isTimeRemaining } }
    set { settings.withLock { $0.isTimeRemaining = newValue } }
  }

  /// Formats `components` in a style with all units.
  open class func localizedString(from components: DateComponents, unitsStyle: UnitsStyle)
    -> String?
  {
    let formatter = DateComponentsFormatter()
    formatter.unitsStyle = unitsStyle
    return formatter.string(from: components)
  }

  /// Formats date components; returns nil for other values.
  open override func string(for obj: Any?) -> String? {
    (obj as? DateComponents).flatMap { string(from: $0) }
  }

  /// Formats a length of time given in units.
  open func string(from components: DateComponents) -> String? {
    // Add absolute values, because years and seconds could cancel each other out.
    let length = Unit.all.reduce(0) { $0 + abs(Double($1.value(in: components))) * $1.seconds }
    guard length < Self.maximumDistance else { return nil }
    var known = DateComponents()
    for unit in Unit.all { known.setValue(unit.value(in: components), for: unit.component) }
    let calendar = Self.plainCalendar
    guard let end = calendar.date(byAdding: known, to: Self.start) else { return nil }
    return string(from: Self.start, to: end, in: calendar)
  }

  /// Formats a number of seconds, in days of 24 hours.
  open func string(from ti: TimeInterval) -> String? {
    string(from: Self.start, to: Self.start + ti, in: Self.plainCalendar)
  }

  /// Formats the time between two dates.
  open func string(from startDate: Date, to endDate: Date) -> String? {
    string(from: startDate, to: endDate, in: calendar ?? .current)
  }

  /// The start of each length: the first day of a month of 31 days.
  private static let start = Date(timeIntervalSinceReferenceDate: 0)
  /// The maximum distance from `start` that a calendar supports, in seconds.
  private static let maximumDistance = 2e11

  private static var plainCalendar: Calendar {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .gmt
    return calendar
  }

  private func string(from start: Date, to end: Date, in calendar: Calendar) -> String? {
    let settings = settings.withLock { $0 }
    let units = Unit.all.filter { settings.units.isEmpty || settings.units.contains($0.option) }
    // False for NaN, too.
    guard let smallest = units.last,
      abs(start.timeIntervalSinceReferenceDate) < Self.maximumDistance,
      abs(end.timeIntervalSinceReferenceDate) < Self.maximumDistance
    else { return nil }
    let parts = calendar.dateComponents(Set(units.map(\.component)), from: start, to: end)
    let values = units.map { (unit: $0, value: parts.value(for: $0.component) ?? 0) }
    var shown = withoutZeros(values, settings)
    if shown.isEmpty { shown = [(smallest, 0)] }
    if settings.count > 0 { shown = Array(shown.prefix(settings.count)) }
    let text =
      (shown.contains { $0.value < 0 } ? "-" : "")
      + words(shown.map { ($0.unit, abs($0.value)) }, settings)
    return (settings.isApproximation ? "About " : "") + text
      + (settings.isTimeRemaining ? " remaining" : "")
  }

  private func withoutZeros(_ values: [(unit: Unit, value: Int)], _ settings: Settings)
    -> [(unit: Unit, value: Int)]
  {
    var dropped = settings.zeros
    if dropped.contains(.default) {
      dropped.formUnion(settings.style == .positional ? .dropLeading : .dropAll)
    }
    let first = values.firstIndex { $0.value != 0 } ?? values.count
    let last = values.lastIndex { $0.value != 0 } ?? values.count
    return values.indices.filter { index in
      let place: ZeroFormattingBehavior =
        index < first ? .dropLeading : index > last ? .dropTrailing : .dropMiddle
      return values[index].value != 0 || !dropped.contains(place)
    }.map { values[$0] }
  }

  private func words(_ values: [(unit: Unit, value: Int)], _ settings: Settings) -> String {
    let numbers = NumberFormatter()
    numbers.locale = Locale(identifier: "en_US")
    numbers.numberStyle = settings.style == .spellOut ? .spellOut : .decimal
    func number(_ value: Int) -> String { numbers.string(from: NSNumber(value: value)) ?? "" }
    switch settings.style {
    case .positional:
      let times = values.filter { $0.unit.seconds <= 3_600 }
      var texts = values.dropLast(times.count).map { number($0.value) + $0.unit.letters }
      numbers.usesGroupingSeparator = false
      let digits = times.enumerated().map { index, time in
        numbers.minimumIntegerDigits = index > 0 || settings.zeros.contains(.pad) ? 2 : 1
        return number(time.value)
      }
      if !digits.isEmpty { texts.append(digits.joined(separator: ":")) }
      return texts.joined(separator: " ")
    case .abbreviated:
      return values.map { number($0.value) + $0.unit.letters }.joined(separator: " ")
    case .brief:
      return values.map { number($0.value) + $0.unit.short($0.value) }.joined(separator: " ")
    case .short:
      return values.map { "\(number($0.value)) \($0.unit.short($0.value))" }.joined(separator: ", ")
    case .full, .spellOut:
      return values.map { "\(number($0.value)) \($0.unit.name)\($0.value == 1 ? "" : "s")" }
        .joined(separator: ", ")
    }
  }

  private struct Unit {
    let option: NSCalendar.Unit
    let component: Calendar.Component
    let seconds: Double
    let letters: String
    let shortName: String
    let hasShortPlural: Bool
    let name: String

    /// Returns the value in `components`; weeks have two names.
    func value(in components: DateComponents) -> Int {
      let weeks = component == .weekOfMonth ? components.weekOfYear : nil
      return components.value(for: component) ?? weeks ?? 0
    }

    func short(_ value: Int) -> String { shortName + (hasShortPlural && value != 1 ? "s" : "") }

    /// From the largest to the smallest.
    static let all = [
      Unit(.year, .year, 31_556_952, "y", "yr", true, "year"),
      Unit(.month, .month, 2_629_746, "mo", "mth", true, "month"),
      Unit(.weekOfMonth, .weekOfMonth, 604_800, "w", "wk", true, "week"),
      Unit(.day, .day, 86_400, "d", "day", true, "day"),
      Unit(.hour, .hour, 3_600, "h", "hr", false, "hour"),
      Unit(.minute, .minute, 60, "m", "min", false, "minute"),
      Unit(.second, .second, 1, "s", "sec", false, "second"),
    ]

    private init(
      _ option: NSCalendar.Unit, _ component: Calendar.Component, _ seconds: Double,
      _ letters: String, _ shortName: String, _ hasShortPlural: Bool, _ name: String
    ) {
      (self.option, self.component, self.seconds) = (option, component, seconds)
      (self.letters, self.shortName, self.hasShortPlural) = (letters, shortName, hasShortPlural)
      self.name = name
    }
  }
}
