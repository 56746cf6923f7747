import ContentStore
import HostedFileIO

enum StorePublishCommand {
  static let command = Command(
    name: "store publish", summary: "Validates, adds and signs content packages, all in one step.",
    operands: "STORE FILE.pkg…",
    options: [
      .init("--repackage", nil, "convert packages built elsewhere, so that updates fetch less")
    ] + StoreDryRun.options + details + StoreKeyArguments.options,
    example: "hostedcontent store publish store chapter1.pkg --title 'Chapter 1' --price 0.99"
  ) { arguments, console in
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

  fileprivate static let details: [Command.Option] = [
    .init("--title", "T", "a short name; default: the current title, or the identifier"),
    .init("--description", "TEXT", "one or more sentences"),
    .init("--release-notes", "TEXT", "what is new in this version"),
    .init("--language", "CODE", "the language of these texts (BCP 47); default en"),
    .init("--price", "P", "the price, such as 0.99; 0 is free"),
    .init("--currency", "CODE", "ISO 4217; default USD"),
    .init("--type", "TYPE", "non-consumable, consumable, auto-renewable or non-renewing"),
  ]
}

extension ProductChange {
  /// The changes, such as `changed the title (fi) and the price`.
  var sentence: String { "changed \(fields.sentence)" }
}

extension Arguments {
  fileprivate func productDetails() throws -> ProductDetails {
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

enum StoreAddCommand {
  static let command = Command(
    name: "store add", summary: "Adds or changes a product without content.",
    operands: "STORE ID",
    options: StoreDryRun.options + StorePublishCommand.details + StoreKeyArguments.options,
    example: "hostedcontent store add store com.example.club --title 'Book club' --price 4.99"
  ) { arguments, console in
    let identifier = try arguments.identifier(arguments.operands[1])
    let details = try arguments.productDetails()
    try arguments.changeStore(console) {
      try $0.add(identifier, details: details)
    } report: { change in
      let result = change.map { $0.isNew ? "added" : $0.sentence } ?? "nothing changed"
      console.print("\(identifier): \(result)")
    }
    return .done
  }
}

extension Console {
  /// Prints one line for each of `findings`, for which packages were not published.
  fileprivate func reportFindings(_ findings: [Finding]) {
    for finding in findings {
      let message = finding.message.naming(entry: finding.path)
      report(
        ContentError(
          finding.code, "\(finding.subject.map { "\($0): " } ?? "")\(message)",
          remedy: finding.remedy, subject: finding.subject, cause: finding.cause))
    }
    guard findings.count > 1 else { return }
    let packages = Set(findings.map(\.subject)).count
    report(
      ContentError(
        findings[0].code,
        "Nothing was published: \(findings.count) findings in "
          + Console.count(packages, "package"),
        remedy: "Correct what they name, then publish all packages again"))
  }
}
