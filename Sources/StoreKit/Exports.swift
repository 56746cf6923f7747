// Files that import only StoreKit use Foundation's names, and its networking's, as on Apple's
// systems.
@_exported public import Foundation
@_exported public import FoundationNetworking
