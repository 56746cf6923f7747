/// Where a redirect may lead; pure.
///
/// Redirects are followed by us, one request each, so that every hop is checked against the one
/// before it and credentials are chosen anew for each.
enum RedirectRule {
  /// The URL that redirect number `number` (from 1) leads to, or why it may not be followed.
  ///
  /// `target` is what libcurl made of the `Location` header and the URL before.
  static func follow(from url: WebURL, to target: String?, number: Int, limit: Int) -> Result<
    WebURL, TransferFault
  > {
    guard number <= limit else {
      return .failure(TransferFault(.tooManyRedirects, "\(limit) were followed"))
    }
    guard let target, let next = try? WebURL(target) else {
      return .failure(TransferFault(.redirectRefused, "It leads to no URL of a web server"))
    }
    guard next.isSecure || !url.isSecure else {
      return .failure(TransferFault(.redirectRefused, "It leads from https to http"))
    }
    return .success(next)
  }
}
