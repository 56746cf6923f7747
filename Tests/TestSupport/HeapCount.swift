import HostedCSpawn

/// The heaps that glibc has created for the threads of this process.
package enum HeapCount {
  /// Their number, or -1 if glibc does not report it.
  package static var current: Int { Int(hc_heap_count()) }
}
