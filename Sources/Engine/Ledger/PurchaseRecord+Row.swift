import HostedModel
import FoundationEssentials

extension Date {
  /// Whole milliseconds since 1970; a later date than 64 bits can express becomes the last one.
  var milliseconds: Int64 {
    let number = (timeIntervalSince1970 * 1000).rounded()
    return Int64(exactly: number) ?? (number < 0 ? .min : .max)
  }

  init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }
}

extension LedgerConnection {
  /// Returns the purchase with this transaction, and the digest of its request.
  func request(_ transaction: String) throws -> (record: PurchaseRecord, digest: String)? {
    try rows(LedgerStatements.transaction, [.text(transaction)]) {
      (record: try PurchaseRecord($0), digest: $0.text(16))
    }.first
  }
}

extension PurchaseRecord {
  /// Reads the columns of `LedgerStatements` from column `first`; throws if they are damaged.
  init(_ row: any LedgerRow, from first: Int32 = 0) throws {
    let transaction = row.text(first + 1)
    func damaged(_ what: String) -> DamagedLedger {
      DamagedLedger("the \(what) of transaction \(transaction.printable(limit: 200)) is invalid")
    }
    guard let product = try? ProductIdentifier(validating: row.text(first + 4)) else {
      throw damaged("product")
    }
    guard
      let state = PurchaseState(
        row.text(first + 6), row.optionalInteger(first + 7), row.optionalText(first + 8))
    else { throw damaged("state") }
    guard let contents = ContentKey.list(row.text(first + 10)) else { throw damaged("contents") }
    let price = row.optionalInteger(first + 12)
    let currency = row.optionalText(first + 13)
    self.init(
      transaction: transaction, account: row.optionalText(first + 3).map(AccountID.init(rawValue:)),
      product: product,
      quantity: Int(row.integer(first + 5)), state: state,
      date: Date(milliseconds: row.integer(first + 14)), receipt: row.optionalText(first + 9),
      contents: contents, isRestorable: row.integer(first + 11) != 0,
      price: price.flatMap { price in
        currency.map { SoldPrice(milliunits: price, currency: $0) }
      },
      finished: row.optionalInteger(first + 15).map(Date.init(milliseconds:)),
      sequence: row.integer(first), revision: row.integer(first + 2))
  }

  /// The values of all columns, in the order of `LedgerStatements`.
  func values(requestDigest: Digest) -> [LedgerValue] {
    [
      .integer(sequence), .text(transaction), .integer(revision), LedgerValue(account?.rawValue),
      .text(product.rawValue), .integer(Int64(quantity)), .text(state.name), state.dateValue,
      state.reasonValue, LedgerValue(receipt), .text(ContentKey.text(of: contents)),
      .integer(isRestorable ? 1 : 0), LedgerValue(price?.milliunits), LedgerValue(price?.currency),
      .integer(date.milliseconds), LedgerValue(finished?.milliseconds), .text(requestDigest.hex),
    ]
  }

  /// The values of `LedgerStatements.state`.
  var changedValues: [LedgerValue] {
    [
      .integer(sequence), .integer(revision), .text(state.name), state.dateValue,
      state.reasonValue, LedgerValue(receipt), .integer(date.milliseconds),
      LedgerValue(finished?.milliseconds),
    ]
  }
}

extension PurchaseState {
  /// The reason of an interrupted purchase in a row; a declined one has a longer text.
  private static let interruption = "!"

  fileprivate init?(_ name: String, _ date: Int64?, _ reason: String?) {
    switch (name, date, reason) {
    case ("deferred", _, _): self = .deferred
    case ("purchased", _, _): self = .purchased
    case ("failed", _, Self.interruption): self = .failed(.interrupted)
    case ("failed", _, let reason?):
      // Not a `Character`, which would include a combining mark.
      self = .failed(.declined(String(Substring(reason.utf8.dropFirst()))))
    case ("refunded", let date?, let reason?):
      self = .refunded(at: Date(milliseconds: date), reason: reason)
    case ("revoked", let date?, let reason?):
      self = .revoked(at: Date(milliseconds: date), reason: reason)
    default: return nil
    }
  }

  fileprivate var dateValue: LedgerValue {
    switch self {
    case .refunded(let date, _), .revoked(let date, _): .integer(date.milliseconds)
    case .deferred, .purchased, .failed: .null
    }
  }

  fileprivate var reasonValue: LedgerValue {
    switch self {
    case .refunded(_, let reason), .revoked(_, let reason): .text(reason)
    case .failed(.interrupted): .text(Self.interruption)
    case .failed(.declined(let reason)): .text("=" + reason)
    case .deferred, .purchased: .null
    }
  }
}

extension ContentKey {
  fileprivate static func text(of contents: [ContentKey]) -> String {
    contents.map { "\($0.contentIdentifier.rawValue) \($0.version.rawValue)" }.joined(
      separator: "\n")
  }

  fileprivate static func list(_ text: String) -> [ContentKey]? {
    let lines = text.split(separator: "\n")
    let contents = lines.compactMap { line -> ContentKey? in
      let parts = line.split(separator: " ", maxSplits: 1).map(String.init)
      guard parts.count == 2, let content = try? ProductIdentifier(validating: parts[0]),
        let version = try? ContentVersion(validating: parts[1])
      else { return nil }
      return ContentKey(content, version: version)
    }
    return contents.count == lines.count ? contents : nil
  }
}
