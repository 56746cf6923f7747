import ContentStore
import FoundationEssentials

enum StoreRefreshCommand {
  static let command = Command(
    name: "store refresh", summary: "Renews metadata that expires soon. Run it daily.",
    operands: "STORE",
    options: [.init("--everything", nil, "also renew metadata that does not expire soon")]
      + StoreDryRun.options + StoreKeyArguments.options,
    example: "hostedcontent store refresh store"
  ) { arguments, console in
    let path = arguments.operands[0]
    var rootExpires: Date?
    try arguments.changeStore(console) { store -> StoreFolder.Renewal in
      let renewal = try store.refresh(everything: arguments.has("--everything"))
      rootExpires = renewal.rootExpires
      return renewal
    } report: { renewal in
      let roles = renewal.roles.map(\.rawValue).joined(separator: ", ")
      console.print("\(path): \(roles.isEmpty ? "nothing expires soon" : "renewed \(roles)")")
    }
    if let expires = rootExpires {
      let error = ContentError(
        .keyUnusable,
        "\(path): the root expires on \(expires.formatted(.iso8601)), and its keys are missing",
        remedy: "Before that, run store refresh once with --root-keys FOLDER", subject: path)
      // A failed job gets attention. Until shortly before the expiry, a message is enough.
      guard expires > Date().addingTimeInterval(60 * 86_400) else { throw error }
      console.note("\(error.message). \(error.remedy).")
    }
    return .done
  }
}
