import HostedModel
import HostedContent

enum RemoveCommand {
  static let command = Command(
    name: "remove", summary: "Removes an installed version, or all versions of a content.",
    operands: "ID [VERSION]", options: [.library],
    example: "hostedcontent remove com.example.book.chapter1 1.0 --library lib", run: run)

  private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
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
  func offlineQueue() throws -> PaymentQueue {
    _ = try libraryReader()
    // A placeholder: this work never opens the store.
    return try PaymentQueue(
      PaymentQueue.Configuration(library: library(), store: StoreLocation("/nonexistent")))
  }
}
