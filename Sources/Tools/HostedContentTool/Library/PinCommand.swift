import HostedModel
import HostedContent

enum PinCommand {
  static let command = Command(
    name: "pin",
    summary: "Pins a version, so that collect never removes it. Without operands, lists pins.",
    operands: "[ID VERSION]",
    options: [.library, .json, .init("--remove", nil, "remove the pin")],
    example: "hostedcontent pin com.example.book.chapter1 1.0 --library lib", run: run)

  private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
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
