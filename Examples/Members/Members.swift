import Foundation
import HostedContent

/// Sells only to the accounts that are in a file, one per line.
struct MembersOnly: StoreService {
  /// The built-in store service, which grants everything.
  let service: any StoreService
  let members: URL

  /// Sells to members.
  ///
  /// An error decides nothing: the purchase is repeated with the same transaction. Return `failed`
  /// to refuse a purchase.
  func purchase(_ orders: [PurchaseOrder]) async throws -> [PurchaseOutcome] {
    var outcomes: [PurchaseOutcome] = []
    for order in orders {
      if try isMember(order.payment.applicationUsername) {
        outcomes += try await service.purchase([order])
      } else {
        outcomes.append(
          .failed(
            ContentError(
              .notEntitled, "The account is not a member", remedy: "Join the club first")))
      }
    }
    return outcomes
  }

  func grants(account: AccountID?) async throws -> [Grant] {
    try isMember(account) ? try await service.grants(account: account) : []
  }

  private func isMember(_ account: AccountID?) throws -> Bool {
    let lines = try String(contentsOf: members, encoding: .utf8).split(separator: "\n")
    return lines.contains { AccountID(rawValue: String($0)) == account }
  }

  func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
    try await service.products(identifiers)
  }

  func allProducts() async throws -> ProductsResponse { try await service.allProducts() }
}

/// Buys a product for an account: `Members STORE LIBRARY MEMBERS ACCOUNT PRODUCT`.
@main
enum Members {
  static func main() async {
    let words = CommandLine.arguments.dropFirst().map(\.self)
    guard words.count == 5 else {
      print("Usage: Members STORE LIBRARY MEMBERS ACCOUNT PRODUCT")
      exit(2)
    }
    do {
      var configuration = PaymentQueue.Configuration(
        library: URL(filePath: words[1]), store: try StoreLocation(words[0]))
      configuration.seller = { MembersOnly(service: $0, members: URL(filePath: words[2])) }
      let queue = try PaymentQueue(configuration)
      let payment = Payment(
        productIdentifier: try ProductIdentifier(validating: words[4]),
        applicationUsername: AccountID(rawValue: words[3]))
      for folder in try await queue.deliver(payment) { print(folder.path()) }
      await queue.shutDown()
    } catch {
      print(error)
      exit(1)
    }
  }
}
