package import HostedConcurrency
public import Dispatch
package import HostedFileIO
public import FoundationEssentials

extension PaymentQueue {
  /// The configuration of a queue.
  public struct Configuration: Sendable {
    /// The library's folder; created if it does not exist.
    public var library: URL
    /// The store that content comes from.
    public var store: StoreLocation
    /// The store's trusted root (TUF root metadata); nil uses the root of a local store, once.
    ///
    /// If the library already trusts another root, this root is refused with `rootMismatch`, unless
    /// the store has a chain of roots between the two, each signed by the keys of the one before.
    ///
    /// With a `service` and a store on the web, set it too: the contents of the service's responses
    /// can be looked up only in a catalog with a trusted root. Without a root, the service is
    /// trusted for them.
    public var trustedRoot: [UInt8]?
    /// Whether the first root of a store on the web is trusted; trusted roots must sign later ones.
    public var trustsOnFirstUse = false
    /// Other web servers with the same files, tried in order of their health.
    public var mirrors: [StoreLocation] = []
    /// The network settings for the store and its mirrors.
    public var network = NetworkSettings()
    /// The seller; nil for the built-in one, which grants every product of the store.
    public var service: (any StoreService)?
    /// The ledger of the built-in seller; nil for `ledger.sqlite` in the library.
    ///
    /// Several libraries and processes may share one file, on a local file system. The first
    /// purchase creates it.
    public var ledgerFile: URL?
    /// The key that the built-in seller signs receipts with; nil for no receipts.
    public var receiptKey: ReceiptSigningKey?
    /// The verifier of receipts; nil verifies those of the built-in seller with `receiptKey`, and
    /// those of a `service` with the receipt keys that the store's catalog lists.
    ///
    /// If there are such keys, every purchase must have a receipt that is accepted; otherwise the
    /// purchase fails. In other cases receipts are not checked.
    public var receiptVerifier: ReceiptVerifier?
    /// The maximum number of active downloads, 1 to 32, or the nearest of these.
    public var maximumActiveDownloads = 3
    /// The time after which an unanswered purchase is reported as `sellerNotResponding`.
    ///
    /// The purchase stays open, and other purchases continue.
    public var sellerTimeout = Duration.seconds(60)
    /// What happens to installed content when its product is revoked; it is kept by default.
    public var revokedContent = RevokedContentPolicy.keep
    /// The serial queue on which observers are called; nil for a private one.
    public var deliveryQueue: DispatchQueue?
    /// Whether the first queue limits the memory arenas of glibc in this process.
    ///
    /// By default, glibc creates up to eight arenas per processor, and each keeps free memory. The
    /// limit is `mallopt(M_ARENA_MAX)`; it applies to the whole process and stays. It is not set if
    /// the environment has `MALLOC_ARENA_MAX` or `GLIBC_TUNABLES`.
    public var limitsMemoryArenas = true

    /// Wraps the seller to decide about purchases; called once, by `PaymentQueue.init`.
    ///
    /// Its argument is `service`, or the built-in seller, which grants every product. Forward all
    /// calls that it does not decide itself: <doc:WritingAStoreService> has an example.
    public var seller: (@Sendable (any StoreService) -> any StoreService)?

    /// Whether downloads are not reported with their unfinished transaction if one of them is
    /// failed, paused or cancelled; for observers that take every reported failure as new.
    package var omitsStoppedDownloads = false
    package var clock = EngineClock.system
    package var fileSystem = FileSystem.real
    package var environment = Environment()

    /// Creates a configuration for a library and a store.
    public init(library: URL, store: StoreLocation) {
      self.library = library
      self.store = store
    }

    /// Reads the store as the queue does, with the library's trusted root and recorded versions.
    public var storeReader: StoreReader {
      StoreReader(
        store, trustedRoot: trustedRoot, trustsOnFirstUse: trustsOnFirstUse, library: library,
        mirrors: mirrors, network: network)
    }

    /// `maximumActiveDownloads` within its bounds.
    var activeLimit: Int { min(32, max(1, maximumActiveDownloads)) }

    /// The number of threads that a queue needs: its own, and two for each active download.
    ///
    /// Each download fetches on one thread and writes on the other.
    var requiredThreads: Int { 8 + 2 * activeLimit }
  }
}
