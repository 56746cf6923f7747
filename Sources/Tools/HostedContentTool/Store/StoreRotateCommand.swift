import ContentStore

enum StoreRotateCommand {
  static let command = Command(
    name: "store rotate", summary: "Creates new keys for roles, and signs everything with them.",
    operands: "STORE ROLE…",
    options: StoreDryRun.options + StoreKeyArguments.options + StoreKeyArguments.plan,
    example:
      "hostedcontent store rotate store timestamp snapshot --root-keys /media/safe/root-keys"
  ) { arguments, console in
    let roles = try arguments.operands.dropFirst().map { text in
      guard let role = StoreRole(rawValue: text) else {
        let names = StoreRole.allCases.map(\.rawValue).joined(separator: ", ")
        throw arguments.wrong("A role must be one of \(names), not “\(text)”")
      }
      return role
    }
    guard Set(roles).count == roles.count else {
      throw arguments.wrong("Each role can be named once")
    }
    let plan = try arguments.keyPlan()
    try arguments.changeStore(console) {
      try $0.rotate(roles, plan: plan)
    } report: { _ in
      let names = roles.map(\.rawValue).joined(separator: ", ")
      console.print("\(arguments.operands[0]): new keys for \(names)")
    }
    return .done
  }
}
