import CSpawn

/// The heaps that glibc has made for the threads of this process.
package enum HeapCount {
  /// Their number; -1 if glibc does not say.
  package static var current: Int { Int(hc_heap_count()) }
}
