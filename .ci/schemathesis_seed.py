"""Prepares a server for .ci/schemathesis.

  schemathesis_seed.py agents DIR                     writes the agents that the server serves
  schemathesis_seed.py DORMOUSE URL FILE MODE         brings runs into every state, and writes the server's document with their ids in it

A fuzzer cannot guess ids. In the document that it gets, ids, names and cursors are those of the seeded runs, or what the real document
allows. Waits are short there, so that requests do not hold the fuzzer up. With MODE with-tokens each call demands its token."""

import json
import os
import re
import subprocess
import sys
import urllib.request

STATES = {  # what a run is asked for, and what is done to it then
    "waiting for an approval": ("weather", "alert Rome 3", []),
    "waiting for a client": ("weather", "Will it rain here?", []),
    "done": ("weather", "What is the weather in Rome?", []),
    "stopped": ("stopper", "What is the weather in Rome?", []),
    "cancelled": ("weather", "alert Oslo 3", ["runs", "cancel"]),
    "interrupted": ("weather", "Will it rain here?", ["interrupt"]),
}
EACH = 6  # runs of each state: requests use them up


def write_agents(directory):
    page = open("docs/reference/agent-file.md", encoding="utf-8").read()
    agent, script = re.findall(r"(?ms)^```yaml\n(.*?)^```$", page)[:2]
    os.makedirs(os.path.join(directory, "scripts"))
    for name, text in {
        "weather.yaml": agent,
        "scripts/weather.yaml": script,
        "stopper.yaml": agent.replace("name: weather", "name: stopper", 1) + "stop:\n  - max_rounds: 1\n",
    }.items():
        with open(os.path.join(directory, name), "w", encoding="utf-8") as f:
            f.write(text)


def seed(dormouse):
    runs = []
    for agent, text, then in STATES.values():
        for _ in range(EACH):
            out = subprocess.run([dormouse, "run", agent, text, "--wait", "--json"], check=True, capture_output=True, text=True).stdout
            run = json.loads(out)
            runs.append(run)
            if then:
                subprocess.run([dormouse, *then, run["id"]], check=True, capture_output=True)
    return runs


def get(url, path, body=None):
    headers = {"Accept": "application/json", "Content-Type": "application/json"}
    if os.environ.get("DORMOUSE_TOKEN"):
        headers["Authorization"] = "Bearer " + os.environ["DORMOUSE_TOKEN"]
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url + path, data, headers)) as answer:
        return json.load(answer)


def make_links(url):
    waiting = [a for a in get(url, "/v1/approvals")["items"] if a["kind"] == "approval"]
    return [get(url, f"/v1/runs/{a['run_id']}/links", {"target": a["suspension"]["id"], "for": "anna@example.com"}) for a in waiting]


def ask(url):
    """Asks questions, one of which is cancelled."""
    asks = [get(url, "/v1/asks", {"title": f"Deploy 4.{n} to production?"})["id"] for n in range(EACH)]
    get(url, f"/v1/asks/{asks[0]}/cancel", {})
    return asks


def or_known(words, schema):
    return {"anyOf": [{"enum": words}, schema]}


def only(words, schema):
    return {**schema, "enum": words}


def prepare(document, runs, asks, cursors, links, records, secure):
    ids = [r["id"] for r in runs]
    threads = [r["thread_id"] for r in runs]
    targets = [p["suspension"]["id"] for r in runs for p in r["pending"]]
    # The stream of a tenant has no end, and the fuzzer would wait for it; tests of internal/api/httpapi read it.
    del document["paths"]["/v1/events"]
    for path, methods in document["paths"].items():
        for call in methods.values():
            if secure and call["security"]:
                call["security"] = [{"bearer": []}]
            call["parameters"] = [p for p in call.get("parameters", []) if p["name"] != "follow"]  # it holds a stream open for long
            for p in call["parameters"]:
                if p["in"] == "path" and p["name"] == "link":
                    p["schema"] = only(records, p["schema"])
                elif p["in"] == "path" and p["name"] == "call":
                    p["schema"] = only(["call_1", "call_2", "nobody"], p["schema"])
                elif p["in"] == "path" and p["name"] == "decision":
                    p["schema"] = only(["desk-4711", "nobody"], p["schema"])
                elif p["in"] == "path":
                    words = {"runs": ids, "asks": asks, "hooks": ["nobody"], "push": ["nobody"], "webhooks": ["wh_nobody", "dlv_nobody"], "threads": threads, "approvals": links, "agents": ["weather", "stopper"], "streams": ["no-ticket"], "suspensions": targets + ["sus_1_nobody"]}[path.split("/")[2]]
                    # several decisions are answered one by one, also where there is no such run
                    p["schema"] = (or_known if path.endswith("/decisions") else only)(words, p["schema"])
                elif p["name"] in ("after", "Last-Event-ID", "cursor"):
                    p["schema"] = or_known(cursors, p["schema"])
                elif p["name"] in ("created_after", "created_before"):
                    p["schema"] = or_known(["2026-01-01T00:00:00Z", "2100-01-01T00:00:00Z"], p["schema"])
                elif p["name"] == "agent":
                    p["schema"] = or_known(["weather", "stopper"], p["schema"])
                elif p["name"] == "wait":
                    p["schema"]["enum"] = [0, 1]
    shapes = document["components"]["schemas"]
    start = shapes["StartRequest"]["properties"]
    start["agent"] = only(["weather", "stopper", "nobody"], start["agent"])
    start["thread_id"] = only(threads + ["", None, "thr_nobody"], start["thread_id"])
    decision = shapes["Decision"]["properties"]
    decision["target"] = only(targets + ["sus_1_nobody"], decision["target"])
    question = shapes["BulkQuestion"]["properties"]
    # one that is not there is not refused for its form: it has an answer among the others
    question["suspension"] = or_known(targets + ["sus_1_nobody"], question["suspension"])
    question["shown"] = or_known([p["fingerprint"] for r in runs for p in r["pending"]], question["shown"])
    link = shapes["LinkRequest"]["properties"]
    link["target"] = only(targets + ["sus_1_nobody"], link["target"])


def main():
    if sys.argv[1] == "agents":
        write_agents(sys.argv[2])
        return
    dormouse, url, file, mode = sys.argv[1:]
    runs = seed(dormouse)
    cursors = [e["cursor"] for e in get(url, f"/v1/runs/{runs[0]['id']}/events")["items"]]
    links = [m["link"].rsplit("/", 1)[1] for m in make_links(url)]
    records = [m["id"] for m in make_links(url)] + ["lnk_nobody"]  # others: revoked ones answer nothing
    document = get(url, "/openapi.json")
    prepare(document, runs, ask(url), cursors, links or ["no-link"], records, mode == "with-tokens")
    with open(file, "w", encoding="utf-8") as f:
        json.dump(document, f)


main()
