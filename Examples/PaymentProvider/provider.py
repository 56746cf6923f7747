#!/usr/bin/env python3
"""A back end for `hostedcontent store-server run --decide webhook`, with the shape of a payment provider.

It verifies the signature of each request (Standard Webhooks), looks up the price, and decides once for each
transaction: purchases up to the limit are approved, more expensive ones wait until a person runs
`hostedcontent approve TRANSACTION`. Where it approves, a real back end charges the account.

    provider.py --secret-file webhook-secret --prices prices.json --limit 1000 [--listen 127.0.0.1:8095]

`prices.json` has the price of each product in cents: {"com.example.book": 299}
"""
import argparse
import base64
import hashlib
import hmac
import http.server
import json
import sqlite3
import threading
import time

MAXIMUM_BODY = 64 << 10
# How far the clocks of both machines may differ, in seconds.
TOLERANCE = 300


class Ledger:
    """What was decided, by transaction: a repeated request gets the same decision and is not charged again."""

    def __init__(self, path):
        self.lock = threading.Lock()
        self.database = sqlite3.connect(path, check_same_thread=False)
        self.database.execute(
            "CREATE TABLE IF NOT EXISTS charge (transaction_id TEXT PRIMARY KEY, account TEXT, cents INTEGER, decision TEXT)")

    def decide(self, transaction, account, cents, decision):
        with self.lock, self.database:
            self.database.execute(
                "INSERT OR IGNORE INTO charge VALUES (?, ?, ?, ?)", (transaction, account, cents, decision))
            row = self.database.execute(
                "SELECT decision FROM charge WHERE transaction_id = ?", (transaction,)).fetchone()
        return row[0]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 10

    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > MAXIMUM_BODY:
            self.close_connection = True
            return self.answer(413, {"error": "The body has no length or is too long"})
        body = self.rfile.read(int(length))
        if not self.is_authentic(body):
            return self.answer(401, {"error": "The signature is invalid"})
        try:
            purchase = json.loads(body)
            product, quantity = purchase["productIdentifier"], int(purchase["quantity"])
            account = str(purchase["account"])
        except (KeyError, TypeError, ValueError):
            return self.answer(400, {"error": "The body is not a purchase"})
        self.answer(200, self.decision(self.headers["webhook-id"], account, product, quantity))

    def is_authentic(self, body):
        identifier = self.headers.get("webhook-id", "")
        timestamp = self.headers.get("webhook-timestamp", "")
        if not identifier or not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > TOLERANCE:
            return False
        message = f"{identifier}.{timestamp}.".encode() + body
        expected = base64.b64encode(hmac.new(self.server.secret, message, hashlib.sha256).digest()).decode()
        # While a secret is replaced, a request has two signatures.
        return any(
            hmac.compare_digest(signature.encode(), f"v1,{expected}".encode())
            for signature in self.headers.get("webhook-signature", "").split())

    def decision(self, transaction, account, product, quantity):
        cents = self.server.prices.get(product)
        if cents is None:
            return {"decision": "decline", "reason": "The product has no price"}
        total = cents * quantity
        wanted = "approve" if total <= self.server.limit else "later"
        return {"decision": self.server.ledger.decide(transaction, account, total, wanted)}

    def answer(self, status, document):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def main():
    parser = argparse.ArgumentParser(description="Decides about the purchases of a store server.")
    parser.add_argument("--secret-file", required=True)
    parser.add_argument("--prices", required=True)
    parser.add_argument("--limit", type=int, required=True, help="in cents")
    parser.add_argument("--ledger", default="charges.sqlite")
    parser.add_argument("--listen", default="127.0.0.1:8095")
    options = parser.parse_args()
    address, port = options.listen.rsplit(":", 1)
    server = http.server.ThreadingHTTPServer((address, int(port)), Handler)
    with open(options.secret_file) as file:
        text = file.read().strip()
    prefix = "whsec_"
    server.secret = base64.b64decode(text[len(prefix):]) if text.startswith(prefix) else text.encode()
    with open(options.prices) as file:
        server.prices = json.load(file)
    server.limit = options.limit
    server.ledger = Ledger(options.ledger)
    print(f"http://{address}:{server.server_address[1]}/", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
