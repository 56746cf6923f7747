"""Receipts and two independent JOSE libraries.

receipts.py verify KEY: reads receipts from standard input, one a line, verifies each with the public key in
the PEM file KEY by both libraries, and prints its claims as JSON.
receipts.py sign KEY ALGORITHM: reads claims as JSON, one a line, and prints two receipts for each, signed with
the private key in the PEM file KEY, one by each library.
"""

import json
import sys

import jwt
from jwcrypto import jwk, jws


def verify(key, receipts):
    pem = open(key, "rb").read()
    for receipt in receipts:
        options = {"verify_exp": False, "verify_iat": False}
        algorithms = ["EdDSA", "ES256"]
        first = jwt.decode(receipt, pem, algorithms=algorithms, options=options)
        token = jws.JWS()
        token.allowed_algs = algorithms
        token.deserialize(receipt)
        token.verify(jwk.JWK.from_pem(pem))
        second = json.loads(token.payload)
        if first != second:
            sys.exit(f"{first} and {second}")
        print(json.dumps(first, sort_keys=True))


def sign(key, algorithm, lines):
    pem = open(key, "rb").read()
    for line in lines:
        claims = json.loads(line)
        print(jwt.encode(claims, pem, algorithm=algorithm, headers={"typ": "receipt+jwt"}))
        token = jws.JWS(json.dumps(claims).encode())
        header = json.dumps({"alg": algorithm, "typ": "receipt+jwt"})
        token.add_signature(jwk.JWK.from_pem(pem), None, header, None)
        print(token.serialize(compact=True))


if __name__ == "__main__":
    lines = [line.strip() for line in sys.stdin if line.strip()]
    if sys.argv[1] == "verify":
        verify(sys.argv[2], lines)
    else:
        sign(sys.argv[2], sys.argv[3], lines)
