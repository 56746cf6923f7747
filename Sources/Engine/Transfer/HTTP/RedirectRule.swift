/// The rules for the target of a redirect.
///
/// Pure. libcurl does not follow redirects. Each redirect is a new request of ours, so that each
/// target is checked and credentials are chosen again.
enum RedirectRule {
  /// The maximum number of redirects.
  private static let limit = 5

  /// Returns the URL of redirect number `number` (from 1), or why it is not followed.
  ///
  /// `target` is the URL that libcurl made from the `Location` header and the previous URL.
  static func follow(from url: WebURL, to target: String?, number: Int) -> Result<
    WebURL, TransferFault
  > {
    guard number <= limit else {
      return .failure(TransferFault(.tooManyRedirects, "The limit is \(limit)"))
    }
    guard let target, let next = try? WebURL(target) else {
      return .failure(TransferFault(.redirectRefused, "The target is not an http or https URL"))
    }
    guard next.isSecure || !url.isSecure else {
      return .failure(TransferFault(.redirectRefused, "The target would downgrade https to http"))
    }
    return .success(next)
  }
}
