import HostedModel
import ContentStore
import HostedFileIO

enum StorePublishCommand {
  static let command = Command(
    name: "store publish", summary: "Validates, adds and signs content packages, all in one step.",
    operands: "STORE FILE.pkg…",
    options: [
      .init("--repackage", nil, "convert packages built elsewhere, so that updates fetch less")
    ] + StoreDryRun.options + details + StoreKeyArguments.options,
    example: "hostedcontent store publish store chapter1.pkg --title 'Chapter 1' --price 0.99",
    run: run)

  static let details: [Command.Option] = [
    .init("--title", "T", "a short name; default: the current title, or the identifier"),
    .init("--description", "TEXT", "one or more sentences"),
    .init("--release-notes", "TEXT", "what is new in this version"),
    .init("--language", "CODE", "the language of these texts (BCP 47); default en"),
    .init("--price", "P", "the price, such as 0.99; 0 is free"),
    .init("--currency", "CODE", "ISO 4217; default USD"),
    .init("--type", "TYPE", "non-consumable, consumable, auto-renewable or non-renewing"),
  ]

  private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
    let repackaging = arguments.has("--repackage")
    // After a signal, a conversion removes what it has written. A publication is atomic anyway.
    let fileSystem = repackaging ? console.stoppableFileSystem() : .real
    let packages = Array(arguments.operands.dropFirst())
    let details = try arguments.productDetails()
    var findings: [Finding] = []
    do {
      try arguments.changeStore(console, fileSystem) {
        try $0.publish(packages, details: details, repackaging: repackaging) {
          findings.append($0)
        }
      } report: { publication in
        for version in publication.versions {
          let size = Console.bytes(version.length)
          console.print("\(version.contentIdentifier) \(version.version): published, \(size)")
        }
        if publication.versions.isEmpty { console.print("The store already has these packages.") }
        for change in publication.changes where !change.isNew {
          console.print("\(change.productIdentifier): \(change.sentence)")
        }
      }
      return .done
    } catch {
      guard !findings.isEmpty else { throw error }
      console.reportFindings(findings)
      return .failed
    }
  }
}

extension ProductChange {
  /// The changes, such as `changed the title (fi) and the price`.
  var sentence: String { "changed \(fields.sentence)" }
}

extension Arguments {
  func productDetails() throws -> ProductDetails {
    var details = ProductDetails()
    details.title = try text("--title")
    details.description = value("--description")
    details.releaseNotes = value("--release-notes")
    details.language = try text("--language") ?? details.language
    details.price = try text("--price").map { text in
      guard let amount = Price.amount(text) else { throw ContentError.notAPrice(text) }
      return amount
    }
    details.currency = try text("--currency")
    details.type = try choice("--type")
    return details
  }
}
