"""An agent as a workflow of DBOS, with Postgres, behind a small HTTP server. Each step of the model
and each tool call is a step of the workflow, and an approval is a message to it."""
import http.client, json, os, threading, traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlparse

from dbos import DBOS, SetWorkflowID

WORDS = "lamp chair parcel table invoice shelf cushion label rug box mirror clock blanket mug set receipt bag drawer handle frame".split()


def result(order):
    text, x = f"Order {order}:", order
    while len(text) < 2000:
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
        text += " " + WORDS[(x >> 16) % 20]
    return text[:2000]


MODEL = urlparse(os.environ["MODEL_URL"])
kept, runs = threading.local(), {}


@DBOS.step()
def model():
    if not hasattr(kept, "connection"):
        kept.connection = http.client.HTTPConnection(MODEL.netloc)
    # the conversation is that of the thread's workflow: an argument would be copied
    body = json.dumps({"model": "scripted", "messages": kept.messages}, separators=(",", ":"))
    kept.connection.request("POST", MODEL.path + "/chat/completions", body, {"content-type": "application/json"})
    return json.loads(kept.connection.getresponse().read())["choices"][0]["message"]


@DBOS.step()
def tool(order):
    return result(order)


@DBOS.workflow()
def agent():
    messages = [{"role": "user", "content": "Settle the orders of this week."}]
    while True:
        kept.messages = messages
        turn = model()
        messages.append(turn)
        if not turn.get("tool_calls"):
            return turn["content"]
        call = turn["tool_calls"][0]
        order = json.loads(call["function"]["arguments"])["order"]
        if call["function"]["name"] == "refund" and DBOS.recv(f"approval-{order}", timeout_seconds=86400) is None:
            raise RuntimeError("no approval")
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": tool(order)})


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def handle_run(self, body):
        _, _, run, *what = self.path.split("/")
        if not what:
            with SetWorkflowID(run):
                runs[run] = DBOS.start_workflow(agent)
        elif what == ["approve"]:
            DBOS.send(run, True, f"approval-{json.loads(body)['step']}")
        else:
            runs[run].get_result()

    def answer(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        status, text = 200, b"{}"
        try:
            if self.path.startswith("/runs/"):
                self.handle_run(body)
        except Exception:
            traceback.print_exc()
            status, text = 500, traceback.format_exc().encode()
        self.send_response(status)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    DBOS(config={"name": "bench", "system_database_url": os.environ["DATABASE_URL"], "log_level": "WARNING"})
    DBOS.launch()
    ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
