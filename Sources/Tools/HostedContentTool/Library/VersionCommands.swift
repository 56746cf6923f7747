import HostedContent

enum PinCommand {
  static let command = Command(
    name: "pin",
    summary: "Pins a version, so that collect never removes it. Without operands, lists pins.",
    operands: "[ID VERSION]",
    options: [.library, .json, .init("--remove", nil, "remove the pin")],
    example: "hostedcontent pin com.example.book.chapter1 1.0 --library lib"
  ) { arguments, console in
    guard arguments.operands.count != 1 else { throw arguments.wrong("VERSION is missing") }
    if arguments.operands.isEmpty {
      guard !arguments.has("--remove") else { throw arguments.wrong("--remove needs ID VERSION") }
    } else {
      let content = try arguments.identifier(arguments.operands[0])
      let version = try arguments.version(arguments.operands[1])
      let queue = try arguments.offlineQueue()
      defer { queue.close() }
      try queue.setPin(!arguments.has("--remove"), on: content, version: version)
    }
    let pins = try arguments.libraryReader().pins().sorted {
      ($0.contentIdentifier, $0.version) < ($1.contentIdentifier, $1.version)
    }
    try console.print(["pins": pins]) {
      if pins.isEmpty { console.print("Nothing is pinned.") }
      for pin in pins { console.print("\(pin.contentIdentifier) \(pin.version): pinned") }
    }
    return .done
  }
}

enum RemoveCommand {
  static let command = Command(
    name: "remove", summary: "Removes an installed version, or all versions of a content.",
    operands: "ID [VERSION]", options: [.library],
    example: "hostedcontent remove com.example.book.chapter1 1.0 --library lib"
  ) { arguments, console in
    let content = try arguments.identifier(arguments.operands[0])
    let wanted = try arguments.operands.dropFirst().first.map { try arguments.version($0) }
    let queue = try arguments.offlineQueue()
    defer { queue.close() }
    let installed = try arguments.libraryReader().contents().map(\.content)
    let versions = installed.filter {
      $0.contentIdentifier == content && (wanted == nil || $0.version == wanted)
    }
    guard !versions.isEmpty else {
      throw ContentError.notInstalled(
        arguments.operands.joined(separator: " "), among: installed.map(\.contentIdentifier))
    }
    for version in versions {
      try queue.remove(content, version: version.version)
      console.print("\(content) \(version.version): removed, \(Console.bytes(version.size))")
    }
    return .done
  }
}

extension Arguments {
  /// A queue for work without a store; throws `fileMissing` if the library does not exist.
  fileprivate func offlineQueue() throws -> PaymentQueue {
    _ = try libraryReader()
    // A placeholder: this work never opens the store.
    return try PaymentQueue(
      PaymentQueue.Configuration(library: library(), store: StoreLocation("/nonexistent")))
  }
}

enum CollectCommand {
  static let command = Command(
    name: "collect", summary: "Removes old versions, except pinned ones and those in use.",
    options: [
      .library, .json,
      .init("--keep", "N", "versions of a content to keep, including the current one; default 1"),
      .init(
        "--quota", "BYTES",
        "the maximum size of all versions; removes the least recently used first"),
    ],
    example: "hostedcontent collect --library lib --keep 2 --quota 1000000000"
  ) { arguments, console in
    let policy = CollectionPolicy(
      keptVersions: try arguments.number("--keep", minimum: 1) ?? 1,
      maximumBytes: try arguments.number("--quota", minimum: 0).map(Int64.init))
    let queue = try arguments.offlineQueue()
    defer { queue.close() }
    let report = try queue.collect(policy)
    try console.print(report) {
      for content in report.removed {
        console.print("\(content.contentIdentifier) \(content.version): removed")
      }
      for content in report.leased {
        console.print("\(content.contentIdentifier) \(content.version): in use, not removed")
      }
      console.print(
        "\(Console.bytes(report.bytesFreed)) freed, \(Console.bytes(report.bytesLeft)) left")
    }
    report.failures.forEach(console.report)
    return report.failures.isEmpty ? .done : .failed
  }
}
