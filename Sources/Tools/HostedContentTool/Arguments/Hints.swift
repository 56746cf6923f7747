import ContentModel

extension ContentError {
  /// The options that help against errors; a library does not know of options.
  private static let hints: [Code: @Sendable (ContentError) -> String?] = [
    .insecureConnectionRefused: { $0.subject.map { "--allow-plain-http \($0)" } },
    .keyUnusable: { _ in "--keys FOLDER, or --root-keys FOLDER for root keys" },
    .passphraseWrong: { _ in "--passphrase-file FILE, or --root-passphrase-file FILE for root keys"
    },
    .rootInvalid: { _ in "--root FILE" },
    .rootMissing: { _ in "--root FILE" },
    .storeRolledBack: { $0.subject?.hasSuffix(".root.json") == true ? "--restored" : nil },
  ]

  /// The same error, with the option of `command` that helps, if there is one.
  func withHint(for command: Command) -> ContentError {
    guard let hint = Self.hints[code]?(self),
      command.options.contains(where: { hint.hasPrefix("\($0.name) ") || hint == $0.name })
    else { return self }
    return ContentError(
      code, message, remedy: "\(remedy) (\(hint))", subject: subject, cause: cause)
  }
}
