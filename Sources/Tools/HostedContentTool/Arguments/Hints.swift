import ContentModel

extension ContentError {
  /// Returns the error with the options or the command that help, if there are any.
  ///
  /// The library does not know them.
  func withHint(for command: Command) -> ContentError {
    guard let hint = hint(for: command) else { return self }
    return ContentError(
      code, message, remedy: "\(remedy) (\(hint))", subject: subject, cause: cause)
  }

  private func hint(for command: Command) -> String? {
    let isForPublisher = command.name.hasPrefix("store ")
    return switch code {
    case .insecureConnectionRefused:
      subject.flatMap { Self.hint("--allow-plain-http", $0, of: command) }
    case .keyUnusable:
      Self.hint("--keys", "FOLDER, or --root-keys FOLDER for root keys", of: command)
    case .passphraseWrong:
      Self.hint(
        "--passphrase-file", "FILE, or --root-passphrase-file FILE for root keys", of: command)
    case .rootInvalid, .rootMissing: Self.hint("--root", "FILE", of: command)
    case .storeRolledBack:
      isAboutRoot ? nil : "hostedcontent store refresh STORE --restored"
    case .storeMissing:
      if message.hasPrefix("Cannot open the store at") {
        isForPublisher
          ? "hostedcontent store init STORE, or store repair STORE"
          : "hostedcontent store init STORE"
      } else {
        nil
      }
    case .metadataExpired: "hostedcontent store refresh STORE"
    case .productUnknown:
      if isForPublisher {
        "hostedcontent store list STORE"
      } else {
        Self.hint("--store", of: command, "hostedcontent products --store STORE")
      }
    case .notInstalled: Self.hint("--library", of: command, "hostedcontent list --library FOLDER")
    case .fileMissing:
      message.hasPrefix("No library found")
        ? "hostedcontent get ID --store STORE --library FOLDER" : nil
    default: isForPublisher && isRepairable ? "hostedcontent store repair STORE" : nil
    }
  }

  /// Returns `option` with `value`, if `command` has the option.
  private static func hint(_ option: String, _ value: String, of command: Command) -> String? {
    hint(option, of: command, "\(option) \(value)")
  }

  /// Returns `text`, if `command` has `option`.
  private static func hint(_ option: String, of command: Command, _ text: String) -> String? {
    command.options.contains { $0.name == option } ? text : nil
  }

  /// Whether it is about a root, which is neither repaired nor signed again: clients need every
  /// root unchanged.
  private var isAboutRoot: Bool { subject?.hasSuffix("root.json") == true }

  /// Whether it is about metadata in the store's folder that a repair writes again.
  private var isRepairable: Bool {
    guard let subject, subject.contains("metadata/"), subject.hasSuffix(".json") else {
      return false
    }
    return !isAboutRoot && (group == .trust || code == .storeDamaged)
  }
}
