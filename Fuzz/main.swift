import HostedFuzzTargets
import Glibc

/// libFuzzer calls this for each input; the variable `FUZZ_TARGET` selects the target.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let bytes = Array(UnsafeBufferPointer(start: start, count: count))
  if let broken = target.feed(bytes) { fatalError(broken) }
  return 0
}

private let target: FuzzTarget = {
  let name = getenv("FUZZ_TARGET").map { String(cString: $0) } ?? ""
  guard let target = FuzzTarget(rawValue: name) else { fatalError("FUZZ_TARGET is not set") }
  return target
}()
