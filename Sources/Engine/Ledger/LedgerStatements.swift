/// The statements for a ledger, in SQL that SQLite and PostgreSQL understand.
///
/// Each query of a request uses an index. `account IS ?1` also finds the account null in SQLite.
/// PostgreSQL has no operator that does this with an index, so `PostgresConnection` replaces `IS`
/// with `=`.
package enum LedgerStatements {
  package static let numbers =
    "UPDATE ledger SET next_sequence = next_sequence + ?1 RETURNING next_sequence - ?1"
  package static let head =
    "SELECT incarnation, next_sequence - 1, pruned_sequence FROM ledger"
  /// Records the origin `?1`; if it replaces another one, `?2` becomes the incarnation.
  package static let adoption =
    "UPDATE ledger SET incarnation = CASE WHEN origin = '' THEN incarnation ELSE ?2 END, "
    + "origin = ?1 WHERE origin <> ?1"

  private static let columns =
    "sequence, transaction_id, revision, account, product, quantity, state, state_at, reason, "
    + "receipt, contents, is_restorable, price, currency, sold_at, finished_at, request_digest"
  private static let selection = "SELECT \(columns) FROM purchase "

  package static let insertion =
    "INSERT INTO purchase (\(columns)) VALUES "
    + "(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)"
  package static let transaction = selection + "WHERE transaction_id = ?1"
  package static let state =
    "UPDATE purchase SET revision = ?2, state = ?3, state_at = ?4, reason = ?5, receipt = ?6, "
    + "sold_at = ?7, finished_at = ?8 WHERE sequence = ?1"
  /// The receipts name the account.
  package static let erasure =
    "UPDATE purchase SET account = ?2, receipt = NULL WHERE account IS ?1"

  // MARK: Look-ups

  /// The purchases of all accounts, in the order of their numbers.
  package static let all = selection + "WHERE sequence > ?1 ORDER BY sequence LIMIT ?2"

  /// The purchases of an account after a revision, in the order of their last changes.
  package static let history =
    selection + "WHERE account IS ?1 AND revision > ?2 ORDER BY revision LIMIT ?3"
  package static let entitlements =
    selection + "WHERE account IS ?1 AND revision > ?2 AND state = 'purchased' "
    + "AND is_restorable = 1 ORDER BY revision LIMIT ?3"
  /// All purchases of an account in the state purchased.
  package static let owned = selection + "WHERE account IS ?1 AND state = 'purchased'"
  private static let product =
    selection + "WHERE account IS ?1 AND product = ?2 AND state = 'purchased' "
  package static let original = product + "ORDER BY sequence LIMIT 1"
  package static let latest = product + "ORDER BY sequence DESC LIMIT 1"

  /// Steps from product to product in the index.
  ///
  /// The number of purchases per product does not matter.
  package static let originals =
    """
    WITH RECURSIVE owned (product) AS (
      SELECT (SELECT min(product) FROM purchase WHERE account IS ?1)
      UNION ALL
      SELECT (SELECT min(product) FROM purchase
              WHERE account IS ?1 AND product > owned.product)
      FROM owned WHERE product IS NOT NULL
    )
    \(selection)WHERE sequence IN (
      SELECT (SELECT sequence FROM purchase AS first
              WHERE first.account IS ?1 AND first.product = owned.product
                AND first.state = 'purchased'
              ORDER BY sequence LIMIT 1)
      FROM owned WHERE product IS NOT NULL)
    ORDER BY sequence
    """

  // MARK: Events

  package static let eventInsertion =
    "INSERT INTO event (sequence, at, kind, purchase) VALUES (?1, ?2, ?3, ?4)"
  package static let events =
    "SELECT event.sequence, at, kind, "
    + columns.split(separator: ", ").map { "purchase.\($0)" }.joined(separator: ", ")
    + " FROM event LEFT JOIN purchase ON purchase.sequence = event.purchase "
    + "WHERE event.sequence > ?1 ORDER BY event.sequence LIMIT ?2"
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

  /// Uses a voucher, unless a purchase has used it.
  package static let voucherUse =
    "UPDATE voucher SET transaction_id = ?2 WHERE code_digest = ?1 AND transaction_id IS NULL "
    + "AND (product IS NULL OR product = ?3) RETURNING code_digest"
  package static let voucherInsertion =
    "INSERT INTO voucher (code_digest, product) VALUES (?1, ?2) ON CONFLICT DO NOTHING "
    + "RETURNING code_digest"

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
}
