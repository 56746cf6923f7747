/// Certificates that sign themselves, valid for a hundred years; their keys protect nothing.
package enum TestCertificates {
  /// For 127.0.0.1 and localhost.
  package static let right = (
    chain: """
    -----BEGIN CERTIFICATE-----
    MIIBnDCCAUGgAwIBAgIURgti8yRuW8IVuCXKbI5U+SObC70wCgYIKoZIzj0EAwIw
    FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTEzMTQyMVoYDzIxMjYxMDI4
    MTMxNDIxWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
    PQMBBwNCAAQVwCWmMGDWeTRDrSiiotPnT2TrN9UYyYLX7hEVAjg05do295kKYkiz
    z3i+xMpnilsetLqrO8oE4JfOvkhhPhuTo28wbTAdBgNVHQ4EFgQU4lT0hdNeszYP
    kv/iFNdqLIcPNzcwHwYDVR0jBBgwFoAU4lT0hdNeszYPkv/iFNdqLIcPNzcwDwYD
    VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARhwR/AAABgglsb2NhbGhvc3QwCgYIKoZI
    zj0EAwIDSQAwRgIhAMCzL9IPIHRiuUU5I4/DUZmfQxAGQhnzOkFOlDpzvWh8AiEA
    jwsii9GOrRBha+6iFR6DQaIo6JPIpDUll3+VOxFznRw=
    -----END CERTIFICATE-----
    """,
    key: """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQglxFzgc9fy35ZnIYF
    B0XKnTVp+BBS5QztERepCr9YgFehRANCAAQVwCWmMGDWeTRDrSiiotPnT2TrN9UY
    yYLX7hEVAjg05do295kKYkizz3i+xMpnilsetLqrO8oE4JfOvkhhPhuT
    -----END PRIVATE KEY-----
    """
  )

  /// For another host.
  package static let wrong = (
    chain: """
    -----BEGIN CERTIFICATE-----
    MIIBrTCCAVOgAwIBAgIUKlxsoYcc5txtEBox93AjdsaXwVgwCgYIKoZIzj0EAwIw
    HDEaMBgGA1UEAwwRZWxzZXdoZXJlLmV4YW1wbGUwIBcNMjYxMTIxMTMxNDIxWhgP
    MjEyNjEwMjgxMzE0MjFaMBwxGjAYBgNVBAMMEWVsc2V3aGVyZS5leGFtcGxlMFkw
    EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEfCFOsC+yowG7piJjZGR0ZC/djsSOCLnS
    FTVIG2zWzmxkL1BnIsLnTArPd1WtvqZEPE+3Cut7xh4/R/oFrVj6iKNxMG8wHQYD
    VR0OBBYEFBrlJRpX5gMlwsBHBki+Yr8XosfDMB8GA1UdIwQYMBaAFBrlJRpX5gMl
    wsBHBki+Yr8XosfDMA8GA1UdEwEB/wQFMAMBAf8wHAYDVR0RBBUwE4IRZWxzZXdo
    ZXJlLmV4YW1wbGUwCgYIKoZIzj0EAwIDSAAwRQIgbcXoHbgIge2l8ob/cB/zk0Bx
    nueIHoQ7xCUgCKZPmsUCIQC/fCvWurFETnCCW2x2o3pb4FW9PTM0ScK7Z8UtDZJn
    lA==
    -----END CERTIFICATE-----
    """,
    key: """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg+YQ3nUkSWUhmncFj
    CwYvBsutPRVkRQz/OKiYxtqwmhehRANCAAR8IU6wL7KjAbumImNkZHRkL92OxI4I
    udIVNUgbbNbObGQvUGciwudMCs93Va2+pkQ8T7cK63vGHj9H+gWtWPqI
    -----END PRIVATE KEY-----
    """
  )
}
