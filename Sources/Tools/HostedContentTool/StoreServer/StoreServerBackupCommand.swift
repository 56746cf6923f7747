import HostedModel
import HostedStoreServer
import HostedShop

enum StoreServerBackupCommand {
  static let command = Command(
    name: "store-server backup",
    summary: "Copies a server's SQLite ledger, also while it runs.",
    options: [
      .init("--data", "FOLDER", "the server's data folder", isRequired: true),
      .init("--output", "FILE", "the new file", isRequired: true),
    ],
    example: "hostedcontent store-server backup --data data --output backup.sqlite"
  ) { arguments, console in
    let output = try FilePlace(arguments.required("--output"))
    let folder = try StoreServerFolder(arguments.required("--data"), creating: false)
    let ledger = try folder.ledgerDatabase()
    defer { ledger.close() }
    try ledger.backup(to: output.path)
    console.print("\(output.path): copied")
    return .done
  }
}
