import FoundationEssentials
import HostedModel
import HostedDigests
import HostedShop

enum StoreServerVoucherCommand {
  static let command = Command(
    name: "store-server voucher",
    summary: "Makes vouchers, each for one purchase, and prints them.",
    operands: "add",
    options: [
      LedgerArguments.data, LedgerArguments.database,
      .init("--product", "ID", "the only product that they pay for; default: any"),
      .init("--count", "N", "the number of vouchers; default 1"),
      .json,
    ],
    example: "hostedcontent store-server voucher add --data data --count 10 > vouchers"
  ) { arguments, console in
    guard arguments.operands == ["add"] else {
      throw arguments.wrong("Unknown action “\(arguments.operands[0])”, expected add")
    }
    let product = try arguments.identifier(of: "--product")
    let count = try arguments.number("--count", minimum: 1, maximum: maximumCount) ?? 1
    let ledger = try arguments.ledger(creating: true)
    defer { ledger.close() }
    let vouchers = (0..<count).map { _ in newVoucher() }
    // Only the digests are stored, so that a stolen database contains no vouchers.
    _ = try ledger.addVouchers(
      vouchers.map { try Digest(of: Array($0.utf8)) }, for: product, at: Date())
    try console.print(["vouchers": vouchers]) {
      console.print(document: vouchers.joined(separator: "\n"))
    }
    return .done
  }

  private static let maximumCount = 100_000
  /// Digits and letters that are not confused with each other.
  private static let alphabet = Array("23456789ABCDEFGHJKLMNPQRSTUVWXYZ")

  /// 100 random bits, in four groups.
  private static func newVoucher() -> String {
    (0..<4).map { _ in
      String((0..<5).map { _ in alphabet[Int.random(in: alphabet.indices)] })
    }.joined(separator: "-")
  }
}
