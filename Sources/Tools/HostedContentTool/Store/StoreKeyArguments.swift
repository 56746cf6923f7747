import ContentStore
import HostedFileIO

/// The options for the locations and passphrases of a store's keys and publication record.
enum StoreKeyArguments {
  /// The options of a command that reads the publication record.
  static let record: [Command.Option] = [
    .init("--keys", "FOLDER", "the folder of the signing keys; default STORE.keys"),
    .init("--state", "FOLDER", "the folder of the publication record; default: the keys' folder"),
  ]

  /// The options of a command that signs.
  static let keys: [Command.Option] =
    record + [
      .init(
        "--root-keys", "FOLDER", "the folder of the root keys; default: root in the keys' folder"),
      .init(
        "--passphrase-file", "FILE", "a file or pipe; its first line is the keys' passphrase"),
      .init(
        "--root-passphrase-file", "FILE",
        "the same for the root keys, once for all or once for each; default: the same file"),
    ]

  static let restored = Command.Option(
    "--restored", nil, "the store's files were restored from a backup: continue from them")

  /// The options of a command that changes a store.
  static let options = keys + [restored]

  static let plan: [Command.Option] = [
    .init("--key-type", "TYPE", "ed25519 (default), ecdsa or rsa"),
    .init("--key-counts", "LIST", "the number of keys, such as root=3,targets=2; default 1 each"),
    .init(
      "--thresholds", "LIST", "the number of keys that must sign, such as root=2; default 1 each"),
  ]
}

extension Arguments {
  func storeKeys() throws -> StoreKeyOptions {
    StoreKeyOptions(
      passphrase: try text("--passphrase-file").map(passphrase),
      rootPassphrases: try values("--root-passphrase-file").map { path in
        guard !path.isEmpty else { throw wrong("--root-passphrase-file is empty") }
        return try passphrase(path)
      },
      folderPath: try text("--keys"), rootFolderPath: try text("--root-keys"),
      stateFolderPath: try text("--state"))
  }

  func openedStore(_ fileSystem: FileSystem = .real) throws -> StoreFolder {
    try StoreFolder.open(
      at: operands[0], keys: storeKeys(), restored: has("--restored"), fileSystem: fileSystem)
  }

  func keyPlan() throws -> StoreKeyPlan {
    StoreKeyPlan(
      type: try choice("--key-type") ?? .ed25519, counts: try numbers("--key-counts"),
      thresholds: try numbers("--thresholds"))
  }

  /// Parses `role=number,role=number`.
  private func numbers(_ option: String) throws -> [StoreRole: Int] {
    try value(option, "a list such as root=3,targets=2") { text -> [StoreRole: Int]? in
      var numbers: [StoreRole: Int] = [:]
      for item in text.split(separator: ",", omittingEmptySubsequences: false) {
        let parts = item.split(separator: "=", omittingEmptySubsequences: false)
        guard parts.count == 2, let role = StoreRole(rawValue: String(parts[0])),
          let number = Int(parts[1]), number > 0
        else { return nil }
        numbers[role] = number
      }
      return numbers
    } ?? [:]
  }

  /// The first line of the file or pipe at `path`.
  private func passphrase(_ path: String) throws -> [UInt8] {
    Array(
      try SecretFile.contents(path)
        .prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") })
  }
}
