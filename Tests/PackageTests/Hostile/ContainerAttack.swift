import HostedModel
import Testing

/// An attack that only one format can express.
struct ContainerAttack: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let code: ContentError.Code
  let bytes: @Sendable () throws -> [UInt8]

  init(
    _ name: String, _ code: ContentError.Code = .archiveDamaged,
    _ bytes: @escaping @Sendable () throws -> [UInt8]
  ) {
    testDescription = name
    self.code = code
    self.bytes = bytes
  }
}
