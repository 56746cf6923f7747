import HostedSelling
import HostedModel
import HostedTrust
import HostedShop

/// The accounts of requests and of their answers.
///
/// A request without an account is for the own account of the service. The server names it in the
/// answer: it is the account of the token, or else it is named after the token's key.
extension StoreServerConnection {
  /// Returns the account in an answer as the request named it.
  ///
  /// Nil if the request named none and the answer is for the own account. Any other difference
  /// stays, so that the queue refuses the answer.
  func account(_ answered: AccountID?, requested: AccountID?) -> AccountID? {
    guard requested == nil, let answered, isOwn(answered) else { return answered }
    return nil
  }

  /// Returns the grant of a purchase to the account as the request named it.
  func grant(of record: PurchaseRecord, requested account: AccountID?) -> Grant {
    var named = record
    named.account = self.account(record.account, requested: account)
    return Grant(named)
  }

  /// Whether `account` is the one of requests without an account.
  func isOwn(_ account: AccountID) -> Bool {
    pinnedAccount.map { $0 == account } ?? APIKey.names(account)
  }

  /// Returns the reason why an account cannot be in a payment; nil if it can.
  ///
  /// The server would sell for another account, or the answer would have another one.
  static func refusal(ofAccount account: AccountID?) -> ContentError? {
    guard let account, ["", "-", ".", ".."].contains(account) || APIKey.names(account) else {
      return nil
    }
    return ContentError(
      .paymentInvalid,
      "The store server does not support the account name "
        + "“\(account.rawValue.printable(limit: 260))”",
      remedy: "Use a one-way hash of the account name")
  }

  /// Returns the account that a JWT is limited to; nil for other tokens.
  ///
  /// The server verifies it. An account that is named after a key is the key's own.
  static func subject(of token: String) -> AccountID? {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let claims = Base64URL.bytes(of: parts[1]),
      let subject = (try? JSONValue(parsing: claims, rules: .anyNumber))?["sub"]?.string
    else { return nil }
    let account = AccountID(rawValue: subject)
    return APIKey.names(account) ? nil : account
  }
}
