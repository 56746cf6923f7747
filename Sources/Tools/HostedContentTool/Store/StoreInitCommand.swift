import ContentStore

enum StoreInitCommand {
  static let command = Command(
    name: "store init", summary: "Creates a store: its keys and an empty signed catalog.",
    operands: "STORE",
    options: StoreKeyArguments.keys + StoreKeyArguments.plan,
    example: "hostedcontent store init store --root-keys /media/safe/root-keys"
  ) { arguments, console in
    let path = arguments.operands[0]
    let keys = try arguments.storeKeys()
    let plan = try arguments.keyPlan()
    let folder = try StoreFolder.create(at: path, keys: keys, plan: plan).keysPath
    let root = keys.rootFolderPath ?? "\(folder)/root"
    console.print("\(path): empty store created; its keys are in \(folder), keep them secret")
    console.print("The root key is in \(root). Make a copy, and store both offline: publishing")
    console.print(
      "does not need it; store rotate and, in nine years, store refresh do (--root-keys FOLDER).")
    return .done
  }
}
