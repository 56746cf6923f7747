import Foundation

/// A self-signed certificate, valid from 2020 to 2119 unless noted otherwise.
///
/// Its key protects no data.
package struct TestCertificate: Sendable {
  /// The certificate in PEM.
  package let chain: String
  /// Its key in PEM.
  package let key: String

  /// For 127.0.0.1 and localhost.
  package static let right = TestCertificate(
    chain: """
      -----BEGIN CERTIFICATE-----
      MIIBejCCAR+gAwIBAgITARBrjAqB0oRMQFFQ6PMA5MtvQTAKBggqhkjOPQQDAjAU
      MRIwEAYDVQQDDAlsb2NhbGhvc3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEw
      MDAwMDBaMBQxEjAQBgNVBAMMCWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49
      AwEHA0IABCfFbon7b85LMTNX1ObASZBI+PZ6SqCR1l4Gp1ueRlr+/TiG8qvF/Syv
      dAee1GgwfZqyMRPvTXLX5KFdXt8SEfmjTjBMMA8GA1UdEwEB/wQFMAMBAf8wGgYD
      VR0RBBMwEYcEfwAAAYIJbG9jYWxob3N0MB0GA1UdDgQWBBSUkmxkvxsPodcqRpRL
      r5rLKtyqOjAKBggqhkjOPQQDAgNJADBGAiEA1YvAxq8R1+Gyyko4MiOfcrqjfV+m
      kgjarjILJQFBHBcCIQCoK13SK79Ve23GhzomviSrHux9JvbbunXosjkvyknxpA==
      -----END CERTIFICATE-----
      """,
    key: """
      -----BEGIN PRIVATE KEY-----
      MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgJ/Mj3TzDBrtH5zAB
      agXjQzXG58CNmZYn3skNAIU/xxahRANCAAQnxW6J+2/OSzEzV9TmwEmQSPj2ekqg
      kdZeBqdbnkZa/v04hvKrxf0sr3QHntRoMH2asjET701y1+ShXV7fEhH5
      -----END PRIVATE KEY-----
      """
  )

  /// For another host.
  package static let wrong = TestCertificate(
    chain: """
      -----BEGIN CERTIFICATE-----
      MIIBizCCATGgAwIBAgITAXj7LQlrjKahALfH7fXjtikW+jAKBggqhkjOPQQDAjAc
      MRowGAYDVQQDDBFlbHNld2hlcmUuZXhhbXBsZTAgFw0yMDAxMDEwMDAwMDBaGA8y
      MTIwMDEwMTAwMDAwMFowHDEaMBgGA1UEAwwRZWxzZXdoZXJlLmV4YW1wbGUwWTAT
      BgcqhkjOPQIBBggqhkjOPQMBBwNCAAR2D67Z9szplsHgK4ZgpW1K5kcd6Fu3DitS
      OSlL+0YL3RohWy0LyK7k6m3jhZq+kvfELjSE6MAELlivgDghLLTXo1AwTjAPBgNV
      HRMBAf8EBTADAQH/MBwGA1UdEQQVMBOCEWVsc2V3aGVyZS5leGFtcGxlMB0GA1Ud
      DgQWBBQyxX/ZJlnX5SJvXKeMBQH1htuHEzAKBggqhkjOPQQDAgNIADBFAiEAyIas
      Er2BWdO7XUCCc8EHUo2Y7CGXvffEiiMb4A7PeCUCIBcAou9VvG+IRSe0zhOHhY87
      e/6B6/WNy2AXfd/W5K82
      -----END CERTIFICATE-----
      """,
    key: """
      -----BEGIN PRIVATE KEY-----
      MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg8UCY7mjBPc85fUPC
      ruR8GlZ+DVXGd99ft9WHfi+LzO+hRANCAAR2D67Z9szplsHgK4ZgpW1K5kcd6Fu3
      DitSOSlL+0YL3RohWy0LyK7k6m3jhZq+kvfELjSE6MAELlivgDghLLTX
      -----END PRIVATE KEY-----
      """
  )

  /// For 127.0.0.1 and localhost, but only valid in 2020.
  package static let expired = TestCertificate(
    chain: """
      -----BEGIN CERTIFICATE-----
      MIIBZTCCAQugAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhv
      c3QwHhcNMjAwMTAxMDAwMDAwWhcNMjEwMTAxMDAwMDAwWjAUMRIwEAYDVQQDDAls
      b2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAS0J/NNhRmv29Gfhunh
      qKiDYyOTisu/MvhbuWXj8llqdGbgMJlXE/5KJMZ1ZqChG2TFNBAL9bYO+TzbIsWg
      LNn4o04wTDAPBgNVHRMBAf8EBTADAQH/MBoGA1UdEQQTMBGHBH8AAAGCCWxvY2Fs
      aG9zdDAdBgNVHQ4EFgQU44El5AqSDwmc7K71FFSY0PmLEB4wCgYIKoZIzj0EAwID
      SAAwRQIhAIB72geELQ8oJUp2xa3Y5HdGaENY/NKxVYhhqjM20BY4AiBm05Ppv2Y/
      DZUXNOS2d1wf/L0ZnrKcukiSSYG/05KZ4A==
      -----END CERTIFICATE-----
      """,
    key: """
      -----BEGIN PRIVATE KEY-----
      MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQge1wKS9rfKnS5RqCV
      2lAoE5ioiCnhPEnwKXJS8NRa6UihRANCAAS0J/NNhRmv29GfhunhqKiDYyOTisu/
      MvhbuWXj8llqdGbgMJlXE/5KJMZ1ZqChG2TFNBAL9bYO+TzbIsWgLNn4
      -----END PRIVATE KEY-----
      """
  )

  /// Writes both into `folder`, and returns their paths.
  package func write(to folder: TemporaryFolder) throws -> (chain: String, key: String) {
    let paths = (chain: folder.path("certificate.pem"), key: folder.path("key.pem"))
    try chain.write(toFile: paths.chain, atomically: false, encoding: .utf8)
    try key.write(toFile: paths.key, atomically: false, encoding: .utf8)
    return paths
  }
}
