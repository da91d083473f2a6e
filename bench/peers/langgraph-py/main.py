"""An agent of LangGraph with the saver for SQLite or Postgres, behind a small HTTP server. Messages
are plain objects, and the model is asked with http.client: LangChain's classes would cost more."""
import http.client, json, operator, os, sqlite3, sys, threading, traceback
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Annotated, TypedDict
from urllib.parse import urlparse

from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

WORDS = "lamp chair parcel table invoice shelf cushion label rug box mirror clock blanket mug set receipt bag drawer handle frame".split()


def result(order):
    text, x = f"Order {order}:", order
    while len(text) < 2000:
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
        text += " " + WORDS[(x >> 16) % 20]
    return text[:2000]


class State(TypedDict):
    messages: Annotated[list, operator.add]


MODEL = urlparse(os.environ["MODEL_URL"])
kept = threading.local()


def ask(messages):
    if not hasattr(kept, "connection"):
        kept.connection = http.client.HTTPConnection(MODEL.netloc)
    body = json.dumps({"model": "scripted", "messages": messages}, separators=(",", ":"))
    kept.connection.request("POST", MODEL.path + "/chat/completions", body, {"content-type": "application/json"})
    return json.loads(kept.connection.getresponse().read())["choices"][0]["message"]


def model(state):
    return {"messages": [ask(state["messages"])]}


def tool(state):
    call = state["messages"][-1]["tool_calls"][0]
    if call["function"]["name"] == "refund":
        interrupt(call["function"])
    order = json.loads(call["function"]["arguments"])["order"]
    return {"messages": [{"role": "tool", "tool_call_id": call["id"], "content": result(order)}]}


builder = StateGraph(State)
builder.add_node("model", model)
builder.add_node("tool", tool)
builder.add_edge(START, "model")
builder.add_conditional_edges("model", lambda state: "tool" if state["messages"][-1].get("tool_calls") else END)
builder.add_edge("tool", "model")
pool, runs = ThreadPoolExecutor(4), {}


def go(run, value):
    config = {"configurable": {"thread_id": run}, "recursion_limit": 100000}
    runs[run] = pool.submit(graph.invoke, value, config, durability="sync")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def handle_run(self):
        _, _, run, *what = self.path.split("/")
        if not what:
            go(run, {"messages": [{"role": "user", "content": "Settle the orders of this week."}]})
        elif what == ["approve"]:
            runs[run].result()
            go(run, Command(resume=True))
        else:
            state = runs[run].result()
            if what == ["done"] and state["messages"][-1].get("tool_calls"):
                raise RuntimeError("the run is not done")

    def answer(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        status, body = 200, b"{}"
        try:
            if self.path.startswith("/runs/"):
                self.handle_run()
        except Exception:
            traceback.print_exc()
            status, body = 500, traceback.format_exc().encode()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


def serve(saver):
    global graph
    graph = builder.compile(checkpointer=saver)
    ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()


if "DATABASE_URL" in os.environ:
    with PostgresSaver.from_conn_string(os.environ["DATABASE_URL"]) as saver:
        saver.setup()
        serve(saver)
else:
    db = sqlite3.connect(os.environ["DATA"] + "/graph.db", check_same_thread=False)
    db.execute("PRAGMA synchronous = FULL")
    serve(SqliteSaver(db))
