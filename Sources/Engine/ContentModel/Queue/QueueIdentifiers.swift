/// An identifier that the queue makes: random, unique in a library, and the same after a restart.
public protocol QueueIdentifier: RawRepresentable<String>, Hashable, Comparable, Codable, Sendable,
  CustomStringConvertible, ExpressibleByStringLiteral
{
  /// Creates an identifier that was stored as text.
  init(rawValue: String)
}

extension QueueIdentifier {
  /// Creates an identifier from a literal, for tests and tools.
  public init(stringLiteral value: String) { self.init(rawValue: value) }

  /// The identifier as text.
  public var description: String { rawValue }

  /// Compares the texts, for a stable order.
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The identifier of a transaction.
///
/// A store service gets it with each purchase: the same one when it is asked again.
public struct TransactionID: QueueIdentifier {
  /// The identifier as text.
  public let rawValue: String

  /// Creates an identifier that was stored as text.
  public init(rawValue: String) { self.rawValue = rawValue }
}

/// The identifier of a download.
public struct DownloadID: QueueIdentifier {
  /// The identifier as text.
  public let rawValue: String

  /// Creates an identifier that was stored as text.
  public init(rawValue: String) { self.rawValue = rawValue }
}

/// The identifier of a restore of earlier purchases.
public struct RestoreID: QueueIdentifier {
  /// The identifier as text.
  public let rawValue: String

  /// Creates an identifier that was stored as text.
  public init(rawValue: String) { self.rawValue = rawValue }
}
