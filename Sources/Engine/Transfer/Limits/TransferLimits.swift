/// The limits of concurrent transfers and their rate; 1 is used instead of a lower number.
public struct TransferLimits: Hashable, Sendable {
  /// The maximum number of concurrent requests.
  public var connections = 16
  /// The maximum number of concurrent requests to one origin.
  ///
  /// It is four times as high over HTTP/2, where requests share a connection.
  public var connectionsPerHost = 8
  /// The maximum number of concurrent requests for one package.
  public var connectionsPerTransfer = 2
  /// The maximum number of concurrent requests for one package if they are small.
  ///
  /// It applies while they ask for less than 256 KiB in total, since the round trip then takes
  /// longer than the bytes.
  public var smallRequestsPerTransfer = 6
  /// The maximum rate in bytes per second, or nil for no limit.
  public var bytesPerSecond: Int64?
  /// The maximum rate of one origin in bytes per second, or nil for no limit.
  public var bytesPerSecondPerHost: Int64?
  /// The maximum bytes of the buffers of all transfers.
  ///
  /// One transfer may always continue.
  public var memory = 64 << 20

  /// Creates the default limits.
  public init() {}
}

extension TransferLimits {
  /// Returns the number of requests that a user has set, at least 1, and small enough to multiply.
  static func bounded(_ count: Int) -> Int { min(max(1, count), 1 << 16) }
}
