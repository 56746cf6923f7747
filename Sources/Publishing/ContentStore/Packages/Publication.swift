/// The result of a publication.
public struct Publication: Hashable, Sendable {
  /// The versions whose files were written: new versions, and published versions with lost or
  /// damaged files.
  public let versions: [StoredVersion]
  /// The products of the packages with new or changed descriptions.
  public let changes: [ProductChange]
}
