import ContentModel

extension ContentError {
  /// The options and commands that help against errors; a library does not know of them.
  private static let hints: [Code: @Sendable (ContentError) -> String?] = [
    .insecureConnectionRefused: { $0.subject.map { "--allow-plain-http \($0)" } },
    .keyUnusable: { _ in "--keys FOLDER, or --root-keys FOLDER for root keys" },
    .passphraseWrong: { _ in "--passphrase-file FILE, or --root-passphrase-file FILE for root keys"
    },
    .rootInvalid: { _ in "--root FILE" },
    .rootMissing: { _ in "--root FILE" },
    .storeRolledBack: {
      // A root is not signed again: clients need each one as it was.
      $0.subject?.hasSuffix(".root.json") == true ? nil : "store refresh STORE --restored"
    },
  ]

  /// The same error, with the option of `command` or the command that helps, if there is one.
  func withHint(for command: Command) -> ContentError {
    guard let hint = Self.hints[code]?(self),
      !hint.hasPrefix("--")
        || command.options.contains(where: { hint.hasPrefix("\($0.name) ") || hint == $0.name })
    else { return self }
    return ContentError(
      code, message, remedy: "\(remedy) (\(hint))", subject: subject, cause: cause)
  }
}
