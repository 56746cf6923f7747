import HostedModel
import FoundationEssentials

extension ContentError {
  private static let publisherRemedy =
    "Try again later. If the error persists, inform the store's owner, and do not use the store"

  static func metadataDamaged(_ role: MetadataName, _ reason: String) -> ContentError {
    ContentError(
      .metadataDamaged, "The \(role.text) metadata is damaged: \(reason)",
      remedy: publisherRemedy, subject: role.fileName)
  }

  static func metadataTooLong(_ role: MetadataName, limit: Int64) -> ContentError {
    metadataDamaged(role, "it is longer than \(limit) bytes, the maximum")
  }

  static func metadataExpired(_ role: MetadataName, _ expires: Date, now: Date) -> ContentError {
    ContentError(
      .metadataExpired,
      "The \(role.text) metadata expired at \(expires.metadataText). The current time is "
        + now.metadataText,
      remedy: "Check the clock. If it is right, the store's owner must renew the metadata",
      subject: role.fileName)
  }

  static func rolledBack(
    _ role: MetadataName, _ found: Int64, trusted: Int64, in file: MetadataName? = nil
  ) -> ContentError {
    let place = file.map { "in the \($0.text) metadata " } ?? ""
    return ContentError(
      .metadataRolledBack,
      "Version \(found) of the \(role.text) metadata \(place)is older than version \(trusted), "
        + "which was trusted before",
      remedy: "Ask the store's owner whether the server has an old copy. It is not accepted",
      subject: role.fileName)
  }

  static func wrongVersion(
    _ role: MetadataName, _ found: Int64, promised: Int64, by promiser: String
  ) -> ContentError {
    ContentError(
      found < promised ? .metadataRolledBack : .metadataDamaged,
      "The \(role.text) metadata has version \(found), but \(promiser) specifies \(promised)",
      remedy: "Ask the store's owner whether the server mixes files of different publications",
      subject: role.fileName)
  }

  static func digestMismatch(_ file: String, _ difference: String) -> ContentError {
    ContentError(
      .digestMismatch, "\(file) does not match the signed metadata: \(difference)",
      remedy: publisherRemedy, subject: file)
  }

  static func storeMissing(_ path: String) -> ContentError {
    ContentError(
      .storeMissing, "The store has no \(path)",
      remedy: "Check the store's address. If it is right, ask the store's owner to publish again",
      subject: path)
  }
}
