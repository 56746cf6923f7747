/// The statements for a ledger, in SQL that SQLite and PostgreSQL understand.
///
/// Each query of a request uses an index. The account of a library's own purchases has the empty
/// name.
package enum LedgerStatements {
  package static let numbers =
    "UPDATE ledger SET next_sequence = next_sequence + ?1 RETURNING next_sequence - ?1"
  package static let head =
    "SELECT incarnation, next_sequence - 1, pruned_sequence FROM ledger"
  /// Records the origin `?1`; if it replaces another one, `?2` becomes the incarnation.
  package static let adoption =
    "UPDATE ledger SET incarnation = CASE WHEN origin = '' THEN incarnation ELSE ?2 END, "
    + "origin = ?1 WHERE origin <> ?1"

  // MARK: Purchases

  private static let columns =
    "p.sequence, p.transaction_id, p.revision, "
    + "CASE WHEN a.is_erased = 1 THEN a.alias ELSE a.name END, "
    + "p.product, p.quantity, p.state, p.state_at, p.reason, p.waits_for, p.contents, p.is_restorable, p.is_sold_once, p.price, p.currency, "
    + "p.reference, p.sold_at, p.finished_at, s.transaction_id, s.sold_at"
  private static let tables =
    "purchase AS p JOIN account AS a ON a.id = p.account "
    + "LEFT JOIN purchase AS s ON s.sequence = p.original "
  private static let selection = "SELECT \(columns) FROM \(tables)"

  /// Records nothing, and returns no row, if the account does not exist.
  package static let insertion =
    "INSERT INTO purchase (sequence, transaction_id, revision, account, product, quantity, kind, "
    + "original, state, state_at, reason, waits_for, request_digest, contents, is_restorable, "
    + "is_sold_once, price, currency, voucher_digest, actor, reference, sold_at, finished_at) "
    + "SELECT ?1, ?2, ?3, id, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, "
    + "?19, ?20, ?21, ?22, ?23 FROM account WHERE hash = ?24 AND name = ?4 RETURNING sequence"
  /// The numbers are assigned while the counter's row is locked.
  package static let accountInsertion =
    "INSERT INTO account (id, name, hash, alias, is_erased) "
    + "SELECT max(id) + 1, ?1, ?2, ?3, 0 FROM account"

  /// A purchase by its transaction, with its request and the numbers that its changes need.
  package static let transaction =
    "SELECT \(columns), p.request_digest, p.original, p.voucher_digest FROM \(tables)"
    + "WHERE p.transaction_id = ?1"
  package static let sequence = selection + "WHERE p.sequence = ?1"

  package static let state =
    "UPDATE purchase SET revision = ?2, state = ?3, state_at = ?4, reason = ?5, waits_for = ?6, "
    + "price = ?7, currency = ?8, reference = ?9, actor = ?10, sold_at = ?11 WHERE sequence = ?1"
  /// The repeats of a sale have its state.
  package static let repeats =
    "UPDATE purchase SET revision = ?2, state = ?3, state_at = ?4, reason = ?5 WHERE original = ?1"
  /// Makes a deferred sale a repeat of the sale `?2`.
  package static let conversion =
    "UPDATE purchase SET kind = 'repeat', original = ?2, voucher_digest = NULL WHERE sequence = ?1"
  package static let finish = "UPDATE purchase SET finished_at = ?2 WHERE sequence = ?1"

  /// Overwrites the name of an account with `?3`, which has the same length; returns its number, or
  /// no row if it does not exist.
  package static let accountErasure =
    "UPDATE account SET name = ?3, hash = ?4, is_erased = 1 "
    + "WHERE hash = ?2 AND name = ?1 AND id <> 0 RETURNING id"
  /// The requests and the provider's numbers would identify the person.
  package static let purchaseErasure =
    "UPDATE purchase SET request_digest = ?2, reference = NULL WHERE account = ?1"
  package static let saleCount =
    "SELECT count(*) FROM purchase WHERE account = ?1 AND kind <> 'repeat'"

  /// SQLite uses a partial index only if a query has its condition.
  private static let unsold = "state <> 'purchased'"

  /// The purchases of an account that wait for approval.
  package static let waiting =
    "SELECT count(*) FROM purchase WHERE \(unsold) AND state = 'deferred' "
    + "AND waits_for = 'approval' "
    + "AND account = (SELECT id FROM account WHERE hash = ?2 AND name = ?1)"

  // MARK: Ends

  /// Deferred purchases that were requested before `?1`.
  package static let deferredBefore =
    selection + "WHERE p.\(unsold) AND p.state = 'deferred' AND p.sold_at < ?1 LIMIT ?2"
  /// Declined purchases before `?1`, interrupted ones before `?2`.
  package static let failedBefore =
    selection + "WHERE p.\(unsold) AND p.state = 'failed' "
    + "AND (p.state_at < ?2 OR p.state_at < ?1 AND p.reason <> '!') LIMIT ?3"
  /// Repeats that were finished before `?1`, or are not and were requested before `?2`.
  package static let repeatsBefore =
    selection + "WHERE p.original IS NOT NULL AND p.kind = 'repeat' "
    + "AND (p.finished_at < ?1 OR p.finished_at IS NULL AND p.sold_at < ?2) LIMIT ?3"
  /// Deletes a purchase that failed, or a repeat.
  package static let deletion =
    "DELETE FROM purchase WHERE sequence = ?1 AND (state = 'failed' OR kind = 'repeat') "
    + "RETURNING sequence"
  /// Such a purchase has no event of the kind `purchased`.
  package static let eventsDeletion =
    "DELETE FROM event WHERE purchase = ?1 AND kind <> 'purchased'"

  // MARK: Look-ups

  /// The purchases of all accounts, in the order of their numbers.
  package static let all = selection + "WHERE p.sequence > ?1 ORDER BY p.sequence LIMIT ?2"

  /// The number of the account `?1`, whose hash is another value.
  private static func account(hash: Int) -> String {
    "(SELECT id FROM account WHERE hash = ?\(hash) AND name = ?1)"
  }

  private static func sales(hash: Int) -> String {
    selection + "WHERE p.account = \(account(hash: hash)) AND p.kind <> 'repeat' "
  }

  /// The sales to an account after a revision, in the order of their last changes.
  package static let history =
    sales(hash: 4) + "AND p.revision > ?2 ORDER BY p.revision LIMIT ?3"
  package static let entitlements =
    sales(hash: 4) + "AND p.revision > ?2 AND p.state = 'purchased' "
    + "AND p.is_restorable = 1 ORDER BY p.revision LIMIT ?3"
  /// All sales to an account in the state purchased.
  package static let owned = sales(hash: 2) + "AND p.state = 'purchased'"
  private static let product =
    sales(hash: 3) + "AND p.product = ?2 AND p.state = 'purchased' "
  package static let original = product + "ORDER BY p.sequence LIMIT 1"
  package static let latest = product + "ORDER BY p.sequence DESC LIMIT 1"

  /// Steps from product to product in the index.
  ///
  /// The number of purchases per product does not matter.
  package static let originals =
    """
    WITH RECURSIVE owned (product) AS (
      SELECT (SELECT min(product) FROM purchase WHERE account = \(account(hash: 2)))
      UNION ALL
      SELECT (SELECT min(product) FROM purchase
              WHERE account = \(account(hash: 2)) AND product > owned.product)
      FROM owned WHERE product IS NOT NULL
    )
    \(selection)WHERE p.sequence IN (
      SELECT (SELECT sequence FROM purchase AS first
              WHERE first.account = \(account(hash: 2)) AND first.product = owned.product
                AND first.state = 'purchased' AND first.kind <> 'repeat'
              ORDER BY sequence LIMIT 1)
      FROM owned WHERE product IS NOT NULL)
    ORDER BY p.sequence
    """

  // MARK: Events

  package static let eventInsertion =
    "INSERT INTO event (sequence, at, kind, purchase, actor, request_key) "
    + "VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
  package static let events =
    "SELECT event.sequence, event.at, event.kind, event.actor, event.purchase, \(columns) "
    + "FROM event LEFT JOIN purchase AS p ON p.sequence = event.purchase "
    + "LEFT JOIN account AS a ON a.id = p.account "
    + "LEFT JOIN purchase AS s ON s.sequence = p.original "
    + "WHERE event.sequence > ?1 ORDER BY event.sequence LIMIT ?2"
  /// The event of the change that an actor requested with a key.
  package static let requestedEvent =
    "SELECT kind, purchase FROM event WHERE actor = ?1 AND request_key = ?2"
  /// The last event with a date before `?1` that precedes all events with a date from `?1` to `?2`.
  ///
  /// Reads only events that are not in this range, and the first one that is.
  package static let lastOldEvent =
    "SELECT sequence FROM event WHERE at < ?1 AND sequence < coalesce((SELECT sequence "
    + "FROM event WHERE at BETWEEN ?1 AND ?2 ORDER BY sequence LIMIT 1), \(Int64.max)) "
    + "ORDER BY sequence DESC LIMIT 1"
  package static let eventDeletion = "DELETE FROM event WHERE sequence <= ?1"
  package static let pruned = "UPDATE ledger SET pruned_sequence = ?1 WHERE pruned_sequence < ?1"

  // MARK: Vouchers

  /// Uses or reserves a voucher, unless another purchase has done so; `?4` is null to reserve it.
  package static let voucherUse =
    "UPDATE voucher SET transaction_id = ?2, used_at = ?4 WHERE code_digest = ?1 "
    + "AND (transaction_id IS NULL OR transaction_id = ?2 AND used_at IS NULL) "
    + "AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?5) "
    + "AND (product IS NULL OR product = ?3) RETURNING code_digest"
  /// Frees a reserved voucher.
  package static let voucherRelease =
    "UPDATE voucher SET transaction_id = NULL WHERE code_digest = ?1 AND transaction_id = ?2 "
    + "AND used_at IS NULL"
  package static let voucherInsertion =
    "INSERT INTO voucher (code_digest, product, created_at) VALUES (?1, ?2, ?3) "
    + "ON CONFLICT DO NOTHING RETURNING code_digest"

  // MARK: Keys

  private static let keyColumns =
    "kid, account, token_digest, public_key, scopes, created_at, not_after, revoked_at"
  package static let keyInsertion =
    "INSERT INTO api_key (\(keyColumns)) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) "
    + "ON CONFLICT DO NOTHING RETURNING kid"
  package static let keys = "SELECT \(keyColumns) FROM api_key ORDER BY created_at, kid"
  package static let key = "SELECT \(keyColumns) FROM api_key WHERE kid = ?1"
  package static let keyOfToken = "SELECT \(keyColumns) FROM api_key WHERE token_digest = ?1"
  package static let keyRevocation =
    "UPDATE api_key SET revoked_at = ?2 WHERE kid = ?1 AND revoked_at IS NULL RETURNING kid"
  package static let keyExpiry =
    "UPDATE api_key SET not_after = ?2 WHERE kid = ?1 AND revoked_at IS NULL RETURNING kid"

  // MARK: Receipt keys

  package static let receiptKeys =
    "SELECT digest, added_at, retired_at FROM receipt_key ORDER BY added_at, digest"
  /// Adds a key, also a retired one again.
  package static let receiptKeyInsertion =
    "INSERT INTO receipt_key (digest, added_at) VALUES (?1, ?2) "
    + "ON CONFLICT (digest) DO UPDATE SET retired_at = NULL"
  package static let receiptKeyRetirement =
    "UPDATE receipt_key SET retired_at = ?2 WHERE digest = ?1 AND retired_at IS NULL "
    + "RETURNING digest"
}
