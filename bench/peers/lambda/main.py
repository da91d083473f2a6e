"""An agent as a durable function of Lambda, in the runner that its tests use, behind a small HTTP
server. Each step of the model and each tool call is a step, and an approval is a callback."""
import http.client, json, logging, os, threading, traceback
from concurrent.futures import Future
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlparse

from aws_durable_execution_sdk_python import durable_execution
from aws_durable_execution_sdk_python_testing import DurableFunctionTestRunner

WORDS = "lamp chair parcel table invoice shelf cushion label rug box mirror clock blanket mug set receipt bag drawer handle frame".split()


def result(order):
    text, x = f"Order {order}:", order
    while len(text) < 2000:
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
        text += " " + WORDS[(x >> 16) % 20]
    return text[:2000]


MODEL = urlparse(os.environ["MODEL_URL"])
kept, runs, callbacks = threading.local(), {}, {}


def ask(messages):
    if not hasattr(kept, "connection"):
        kept.connection = http.client.HTTPConnection(MODEL.netloc)
    body = json.dumps({"model": "scripted", "messages": messages}, separators=(",", ":"))
    kept.connection.request("POST", MODEL.path + "/chat/completions", body, {"content-type": "application/json"})
    return json.loads(kept.connection.getresponse().read())["choices"][0]["message"]


def callback(run, order):
    return callbacks.setdefault((run, order), Future())


@durable_execution
def agent(event, context):
    messages = [{"role": "user", "content": "Settle the orders of this week."}]
    while True:
        turn = context.step(lambda _: ask(messages), name="model")
        messages.append(turn)
        if not turn.get("tool_calls"):
            return turn["content"]
        call = turn["tool_calls"][0]
        order = json.loads(call["function"]["arguments"])["order"]
        if call["function"]["name"] == "refund":
            approval = context.create_callback(name=f"approval-{order}")
            if not callback(event["run"], order).done():
                callback(event["run"], order).set_result(approval.callback_id)
            approval.result()
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": context.step(lambda _: result(order), name="tool")})


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def handle_run(self, body):
        _, _, run, *what = self.path.split("/")
        if not what:
            runs[run] = runner.run_async(json.dumps({"run": run}), execution_timeout=86400, execution_name=run)
        elif what == ["approve"]:
            runner.send_callback_success(callback(run, json.loads(body)["step"]).result(60), b"true")
        elif (status := runner.wait_for_result(runs[run], 86400).status.value) != "SUCCEEDED":
            raise RuntimeError(f"the run is {status}")

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
    logging.disable(logging.WARNING)
    runner = DurableFunctionTestRunner(agent, skip_time=False)
    ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
