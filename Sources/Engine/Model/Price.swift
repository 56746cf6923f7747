public import FoundationEssentials

/// An amount of money, for display; the queue does not charge it.
public struct Price: Hashable, Sendable, CustomStringConvertible {
  /// The amount in units of `currency`, such as 2.99; below 100 billion, rounded to four decimals.
  public let amount: Decimal
  /// The currency's ISO 4217 code, such as `EUR`.
  public let currency: String

  /// Creates a price.
  public init(_ amount: Decimal, currency: String) {
    self.amount = Self.rounded(amount)
    self.currency = currency
  }

  /// Creates a price from the texts of a record; nil if `text` is not an amount.
  package init?(text: String, currency: String) {
    guard let amount = Self.amount(text) else { return nil }
    self.init(amount, currency: currency)
  }

  /// Parses an amount in digits with an optional period; nil for other text.
  package static func amount(_ text: String) -> Decimal? {
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard text.utf8.count <= 20, (1...2).contains(parts.count),
      parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(\.isDigit) })
    else { return nil }
    return Decimal(string: text)
  }

  /// Rounds to four decimals, the maximum of ISO 4217; a literal such as 4.99 is not exact.
  private static func rounded(_ amount: Decimal) -> Decimal {
    guard let value = Double("\(amount)"), abs(value) < 1e11 else { return amount }
    return Decimal(Int64((value * 10_000).rounded())) / 10_000
  }

  /// The amount in digits; a fraction has at least two digits, as in 1.50.
  var text: String {
    let text = "\(amount)"
    guard let point = text.firstIndex(of: ".") else { return text }
    return text.distance(from: point, to: text.endIndex) == 2 ? text + "0" : text
  }

  /// The amount and the currency, such as `2.99 EUR`.
  public var description: String { "\(text) \(currency)" }
}
