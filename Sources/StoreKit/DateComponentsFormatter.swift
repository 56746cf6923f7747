public import Foundation
import Locks

/// Words for lengths of time such as a subscription's, which Foundation on Linux does not have.
///
/// English only, and no more than formatting whole date components.
// Sendable because all that changes is behind a lock.
open class DateComponentsFormatter: Formatter, @unchecked Sendable {
  /// How units are written.
  public enum UnitsStyle: Int, Sendable {
    case positional = 0
    case abbreviated
    case short
    case full
    case spellOut
    case brief
  }

  /// How units are written; full words for every style but `abbreviated`, "1d 2h".
  open var unitsStyle: UnitsStyle {
    get { settings.withLock { $0.style } }
    set { settings.withLock { $0.style = newValue } }
  }
  /// Which units are written; empty for all.
  open var allowedUnits: NSCalendar.Unit {
    get { settings.withLock { $0.units } }
    set { settings.withLock { $0.units = newValue } }
  }
  /// How many units are written at most; 0 for all.
  open var maximumUnitCount: Int {
    get { settings.withLock { $0.count } }
    set { settings.withLock { $0.count = newValue } }
  }

  private struct Settings {
    var style = UnitsStyle.positional
    var units: NSCalendar.Unit = []
    var count = 0
  }

  private let settings = Mutex(Settings())

  /// Writes components that are not zero, largest first; nil when there is none.
  open func string(from components: DateComponents) -> String? {
    let all: [(NSCalendar.Unit, Int?, String)] = [
      (.year, components.year, "year"), (.month, components.month, "month"),
      (.weekOfMonth, components.weekOfMonth ?? components.weekOfYear, "week"),
      (.day, components.day, "day"), (.hour, components.hour, "hour"),
      (.minute, components.minute, "minute"), (.second, components.second, "second"),
    ]
    let words = all.compactMap { unit, value, name -> String? in
      guard let value, value != 0, allowedUnits.isEmpty || allowedUnits.contains(unit) else {
        return nil
      }
      if unitsStyle == .abbreviated { return "\(value)\(unit == .month ? "mo" : name.prefix(1))" }
      return "\(value) \(name)\(abs(value) == 1 ? "" : "s")"
    }
    guard !words.isEmpty else { return nil }
    let shown = maximumUnitCount > 0 ? words.prefix(maximumUnitCount) : words[...]
    return shown.joined(separator: unitsStyle == .abbreviated ? " " : ", ")
  }
}

extension NSMutableDictionary {
  /// Sets or, with nil, removes the value of `key`, as key-value coding does on Apple's systems.
  public func setValue(_ value: Any?, forKey key: String) {
    if let value { self[key] = value } else { removeObject(forKey: key) }
  }
}
