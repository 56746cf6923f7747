/// A value that prints its raw value, such as the name of a case in JSON.
public protocol PrintedAsRawValue: RawRepresentable<String>, CustomStringConvertible {}

extension PrintedAsRawValue {
  /// The raw value.
  public var description: String { rawValue }
}
