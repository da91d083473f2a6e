"""Plays the service of a carrier: python3 carrier.py [PORT]

GET  /parcels/P-1          returns the state of a parcel
POST /parcels/P-1/claims   opens a claim, one for each Idempotency-Key
"""
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PARCELS = {"P-1": {"state": "on its way", "value": 40}, "P-2": {"state": "lost", "value": 180}}
claims = {}  # by idempotency key


class Carrier(BaseHTTPRequestHandler):
    def answer(self, status, body):
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def do_GET(self):
        parcel = PARCELS.get(self.path.removeprefix("/parcels/"))
        if parcel is None:
            return self.answer(404, {"error": "this parcel does not exist"})
        return self.answer(200, parcel)

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Authorization") != "Bearer sesame":
            return self.answer(401, {"error": "the token is invalid"})
        key = self.headers.get("Idempotency-Key", "")
        claim = claims.setdefault(key, "C-%d" % (len(claims) + 1))
        return self.answer(201, {"claim": claim})

    def log_message(self, *args):
        pass


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 9310
    server = ThreadingHTTPServer(("127.0.0.1", port), Carrier)
    print("the carrier answers at http://127.0.0.1:%d" % server.server_port, flush=True)
    server.serve_forever()
