import ContentModel

extension ContentError {
  /// Options and commands that help to solve an error.
  ///
  /// The library does not know them.
  private static let hints: [Code: @Sendable (ContentError) -> String?] = [
    .insecureConnectionRefused: { $0.subject.map { "--allow-plain-http \($0)" } },
    .keyUnusable: { _ in "--keys FOLDER, or --root-keys FOLDER for root keys" },
    .passphraseWrong: { _ in "--passphrase-file FILE, or --root-passphrase-file FILE for root keys"
    },
    .rootInvalid: { _ in "--root FILE" },
    .rootMissing: { _ in "--root FILE" },
    .storeRolledBack: {
      // A root is not signed again: clients need every root unchanged.
      $0.subject?.hasSuffix(".root.json") == true ? nil : "store refresh STORE --restored"
    },
  ]

  /// Returns the error with a hint, if there is one for this command.
  func withHint(for command: Command) -> ContentError {
    guard let hint = Self.hints[code]?(self),
      !hint.hasPrefix("--")
        || command.options.contains(where: { hint.hasPrefix("\($0.name) ") || hint == $0.name })
    else { return self }
    return ContentError(
      code, message, remedy: "\(remedy) (\(hint))", subject: subject, cause: cause)
  }
}
