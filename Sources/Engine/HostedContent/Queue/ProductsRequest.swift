import HostedConcurrency

/// Looks up products by identifier and calls a delegate.
///
/// Source: `SKProductsRequest`.
public final class ProductsRequest: Sendable {
  private let identifiers: Set<String>
  private let service: any StoreService
  private let weakDelegate = Mutex(WeakReference<any ProductsRequestDelegate>())
  private let task = Serialized<Task<Void, Never>?>(nil)

  init(_ identifiers: Set<String>, service: any StoreService) {
    self.identifiers = identifiers
    self.service = service
  }

  deinit { cancel() }

  /// The delegate; not retained.
  public var delegate: (any ProductsRequestDelegate)? {
    get { weakDelegate.withLock { $0 }.object }
    set {
      let reference = WeakReference(newValue)
      weakDelegate.withLock { $0 = reference }
    }
  }

  /// Starts the request, once; keep a reference to it until the delegate is called.
  public func start() {
    task.use { task in
      guard task == nil else { return }
      task = Task { [weak self, identifiers, service] in
        let result: Result<ProductsResponse, ContentError>
        do {
          result = .success(try await ProductsResponse(to: identifiers, from: service.products))
        } catch {
          result = .failure(ContentError(error, while: "looking up products"))
        }
        guard !Task.isCancelled, let self else { return }
        self.deliver(result)
      }
    }
  }

  /// Cancels the request once it was started; the delegate is not called anymore.
  ///
  /// A call on another thread may still be in progress.
  public func cancel() { task.use { $0 }?.cancel() }

  private func deliver(_ result: Result<ProductsResponse, ContentError>) {
    guard let delegate else { return }
    switch result {
    case .success(let response):
      delegate.productsRequest(self, didReceive: response)
      // The delegate may have cancelled the request.
      if !Task.isCancelled { delegate.requestDidFinish(self) }
    case .failure(let error): delegate.request(self, didFailWithError: error)
    }
  }
}

/// Receives the result of a request; called from a task, on any thread.
public protocol ProductsRequestDelegate: AnyObject, Sendable {
  /// The response arrived; `requestDidFinish` is called next.
  func productsRequest(_ request: ProductsRequest, didReceive response: ProductsResponse)
  /// The request finished.
  func requestDidFinish(_ request: ProductsRequest)
  /// The request failed; no other method is called.
  func request(_ request: ProductsRequest, didFailWithError error: ContentError)
}

extension ProductsRequestDelegate {
  /// Does nothing.
  public func requestDidFinish(_ request: ProductsRequest) {}
  /// Does nothing.
  public func request(_ request: ProductsRequest, didFailWithError error: ContentError) {}
}
