import HostedContent

extension ContentError {
  /// Returns the error with the options or the command that help, which the library does not know.
  func withHint(for arguments: Arguments) -> ContentError {
    guard let hint = hint(for: arguments) else { return self }
    return with(remedy: "\(remedy) (\(hint))")
  }

  private func hint(for arguments: Arguments) -> String? {
    func has(_ option: String) -> Bool { arguments.command.options.contains { $0.name == option } }
    let isForPublisher = arguments.command.name.hasPrefix("store ")
    return switch code {
    case .insecureConnectionRefused:
      has("--allow-plain-http") ? subject.map { "--allow-plain-http \($0)" } : nil
    case .keyUnusable:
      has("--keys") ? "--keys FOLDER, or --root-keys FOLDER for root keys" : nil
    case .passphraseWrong:
      has("--passphrase-file")
        ? "--passphrase-file FILE, or --root-passphrase-file FILE for root keys" : nil
    case .rootInvalid, .rootMissing: has("--root") ? "--root FILE" : nil
    case .storeRolledBack:
      isAboutRoot ? nil : "hostedcontent store refresh STORE --restored"
    case .storeMissing:
      // With another subject, it is about a file of the store.
      if let subject, let store = arguments.value("--store") ?? arguments.operands.first,
        (try? StoreLocation(store))?.description == subject
      {
        "hostedcontent store init STORE" + (isForPublisher ? ", or store repair STORE" : "")
      } else {
        nil
      }
    case .metadataExpired: "hostedcontent store refresh STORE"
    case .productUnknown:
      if isForPublisher {
        "hostedcontent store list STORE"
      } else {
        has("--store") ? "hostedcontent products --store STORE" : nil
      }
    case .notInstalled: has("--library") ? "hostedcontent list --library FOLDER" : nil
    case .fileMissing:
      if let subject, (try? arguments.library().filePath(of: "library")) == subject {
        "hostedcontent get ID --store STORE --library FOLDER"
      } else {
        nil
      }
    default: isForPublisher && isRepairable ? "hostedcontent store repair STORE" : nil
    }
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
