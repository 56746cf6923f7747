public import Dispatch
package import FileIO
public import FoundationEssentials

extension PaymentQueue {
  /// What a queue works with.
  public struct Configuration: Sendable {
    /// The library's folder; created when it is not there.
    public var library: URL
    /// Where content comes from.
    public var store: StoreLocation
    /// The store's trusted root (TUF root metadata); nil takes the one of a local store, once.
    ///
    /// A library that trusts another root already refuses it with `rootMismatch`, unless roots of
    /// the store, each signed by the keys of the one before, lead from one of the two to the other.
    ///
    /// A `service` needs it for a store on the web, too: only with a trusted root is there a
    /// catalog to look up the contents of its answers. Without one the service vouches for them.
    public var trustedRoot: [UInt8]?
    /// Whether a store on the web may vouch for itself the first time; then nobody else does.
    public var trustsOnFirstUse = false
    /// Other web servers with the same files, tried in their order of health.
    public var mirrors: [StoreLocation] = []
    /// How the store and its mirrors are reached.
    public var network = NetworkSettings()
    /// Who sells; nil grants every product of the store.
    public var service: (any StoreService)?
    /// The database of what the built-in seller granted; nil for `grants.sqlite` in the library.
    ///
    /// Several libraries and processes may share one, on a local file system. The first grant
    /// creates it.
    public var grantsFile: URL?
    /// What the built-in seller signs receipts with; nil for no receipts.
    public var receiptKey: ReceiptSigningKey?
    /// Whose receipts are believed; nil for those of `receiptKey`.
    ///
    /// With either, every purchase must come with a receipt that it verifies; a purchase without
    /// one fails. With neither, what a seller's receipts say is the service's own business.
    public var receiptVerifier: ReceiptVerifier?
    /// How many downloads are worked on at once, 1 to 32.
    public var maximumActiveDownloads = 3
    /// The time after which an unanswered purchase is reported with `sellerNotResponding`.
    ///
    /// The purchase stays open, and other purchases continue.
    public var sellerTimeout = Duration.seconds(60)
    /// A serial queue on which observers are called; nil for one of the queue's own.
    public var deliveryQueue: DispatchQueue?
    /// Whether the first queue limits the heaps that glibc keeps for the threads of this process.
    ///
    /// By default glibc keeps up to eight heaps for each processor, and each keeps what is free in
    /// it. The limit is `mallopt(M_ARENA_MAX)`, concerns the whole process and stays. It is not set
    /// if the environment has `MALLOC_ARENA_MAX` or `GLIBC_TUNABLES`.
    public var limitsMemoryArenas = true

    /// Wraps the seller, to decide about purchases in front of it; called once, by `PaymentQueue.init`.
    ///
    /// Its argument is `service`, or the built-in seller, which grants every product. Forward to it
    /// the calls that are not decided otherwise: <doc:WritingAStoreService> has an example.
    public var seller: (@Sendable (any StoreService) -> any StoreService)?

    package var clock = EngineClock.system
    package var fileSystem = FileSystem.real
    package var environment = Environment()

    /// Creates a configuration for a library and a store.
    public init(library: URL, store: StoreLocation) {
      self.library = library
      self.store = store
    }

    /// Threads that a queue needs beside those that the process has: its own, and two for each
    /// download, which fetches in one and writes in the other.
    var requiredThreads: Int { 8 + 2 * min(32, max(1, maximumActiveDownloads)) }

    /// `service`, with its answers checked as far as anything here says how.
    func checkingAnswers(
      of service: any StoreService, contents: SignedContents?,
      report: @escaping @Sendable (ContentError) -> Void
    ) -> any StoreService {
      // A service of somebody else's is not known to sign with the key that is meant for ours.
      let own = self.service == nil ? receiptKey.map { [$0.verificationKey] } : nil
      let verifier = receiptVerifier ?? own.map(ReceiptVerifier.init(keys:))
      // What the built-in seller names comes from the catalog.
      let contents = self.service == nil && seller == nil ? nil : contents
      guard verifier != nil || contents != nil else { return service }
      return SellerGate(
        service: service, verifier: verifier, contents: contents, clock: clock, report: report)
    }
  }
}
