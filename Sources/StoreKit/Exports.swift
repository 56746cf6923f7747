// As on Apple's systems, files that import only StoreKit can use Foundation and its networking.
@_exported public import Foundation
@_exported public import FoundationNetworking
