import ContentStore

enum StoreRepairCommand {
  static let command = Command(
    name: "store repair",
    summary: "Repairs lost or inconsistent metadata from the newest consistent version.",
    operands: "STORE", options: StoreKeyArguments.keys,
    example: "hostedcontent store repair store"
  ) { arguments, console in
    let path = arguments.operands[0]
    guard let version = try StoreFolder.repair(at: path, keys: arguments.storeKeys()) else {
      console.print("\(path): the metadata is consistent, nothing to repair")
      return .done
    }
    console.print("\(path): repaired from version \(version) of the targets metadata")
    console.note(
      "Run hostedcontent store list, publish missing versions, and retire those that came back.")
    return .done
  }
}
