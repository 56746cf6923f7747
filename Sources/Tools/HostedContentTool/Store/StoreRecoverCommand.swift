import ContentStore
import HostedContent
import HostedHostCheck

enum StoreRecoverCommand {
  static let command = Command(
    name: "store recover",
    summary: "Signs a store from a backup with numbers above those that clients have seen.",
    operands: "STORE",
    options: seenOptions + StoreKeyArguments.keys + networkOptions,
    example: "hostedcontent store recover store --at https://content.example.com/"
  ) { arguments, console in
    let path = arguments.operands[0]
    var seen: [StoreRole: Int64] = [:]
    for role in roles {
      seen[role] = try arguments.number(option(of: role), minimum: 1).map { Int64($0) }
    }
    let location = try arguments.text("--at").map { try StoreLocation($0) }
    let network = try arguments.network()
    let store = try arguments.openedStore()
    var listed: Set<String> = []
    if let location {
      let host = try versions(at: location, of: store, network)
      console.print("\(path): \(location) has \(list(host.numbers))")
      seen.merge(host.numbers) { max($0, $1) }
      listed = host.files
    }
    let signed = try store.recover(seen: seen, listed: listed)
    console.print("\(path): signed \(list(signed))")
    console.note(
      "Publish again what came after the backup, and retire or withdraw again what came back. "
        + "Then upload the store.")
    return .done
  }

  /// The roles with numbers, in the order in which they are printed.
  private static let roles: [StoreRole] = [.timestamp, .snapshot, .targets]

  private static func option(of role: StoreRole) -> String { "--seen-\(role.rawValue)" }

  private static let seenOptions: [Command.Option] =
    [Command.Option("--at", "URL", "a server that still has the newest metadata")]
    + roles.map {
      Command.Option(
        option(of: $0), "N",
        "the highest version of the \($0.rawValue) metadata that clients have seen")
    }

  /// The options of one server, whose files are trusted by the store's own root.
  private static let networkOptions = NetworkArguments.options(without: [
    "--root", "--mirror", "--trust-on-first-use",
  ])

  private static func list(_ numbers: [StoreRole: Int64]) -> String {
    roles.compactMap { role in numbers[role].map { "\(role.rawValue) \($0)" } }
      .joined(separator: ", ")
  }

  /// Returns the numbers and the files of the newest metadata at `location`.
  ///
  /// Throws `metadataRolledBack` if it is older than the metadata of `store`: then clients may have
  /// seen higher numbers elsewhere.
  private static func versions(
    at location: StoreLocation, of store: StoreFolder, _ network: NetworkSettings
  ) throws -> (numbers: [StoreRole: Int64], files: Set<String>) {
    let known = try store.newestMetadata()
    let host = try HostedVersions(at: location, root: known.root, network: network)
    let numbers: [StoreRole: Int64] = [
      .timestamp: host.timestamp, .snapshot: host.snapshot, .targets: host.targets,
    ]
    for role in roles {
      guard let own = known.versions[role], let number = numbers[role], number < own else {
        continue
      }
      throw ContentError(
        .metadataRolledBack,
        "\(location) has version \(number) of the \(role.rawValue) metadata, but the store has "
          + "version \(own)",
        remedy: "Use a host with the newest metadata, or recover without --at",
        subject: location.description)
    }
    return (numbers, host.files)
  }
}
