extension NSMutableDictionary {
  /// Sets the value of `key`, or removes it for nil, as key-value coding on Apple's systems does.
  public func setValue(_ value: Any?, forKey key: String) {
    if let value { self[key] = value } else { removeObject(forKey: key) }
  }
}
