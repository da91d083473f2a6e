// An agent of LangGraph with the saver for SQLite or Postgres, behind a small HTTP server. Messages
// are plain objects, and the model is asked with fetch: LangChain's classes would cost more.
import http from "node:http";
import Database from "better-sqlite3";
import { Annotation, Command, END, interrupt, START, StateGraph } from "@langchain/langgraph";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";

const words = "lamp chair parcel table invoice shelf cushion label rug box mirror clock blanket mug set receipt bag drawer handle frame".split(" ");

function result(order) {
  let text = `Order ${order}:`;
  for (let x = order; text.length < 2000; ) {
    x = (Math.imul(x, 1103515245) + 12345) & 0x7fffffff;
    text += " " + words[(x >> 16) % 20];
  }
  return text.slice(0, 2000);
}

const append = Annotation({ reducer: (all, more) => all.concat(more), default: () => [] });

async function model({ messages }) {
  const answer = await fetch(process.env.MODEL_URL + "/chat/completions", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "scripted", messages }),
  });
  return { messages: [(await answer.json()).choices[0].message] };
}

function tool({ messages }) {
  const call = messages.at(-1).tool_calls[0];
  if (call.function.name === "refund") interrupt(call.function);
  const { order } = JSON.parse(call.function.arguments);
  return { messages: [{ role: "tool", tool_call_id: call.id, content: result(order) }] };
}

function sqlite() {
  const db = new Database(process.env.DATA + "/graph.db");
  db.pragma("synchronous = FULL"); // better-sqlite3 is built with NORMAL, which loses commits in a power loss
  return new SqliteSaver(db);
}

async function postgres(url) {
  const saver = PostgresSaver.fromConnString(url);
  await saver.setup();
  return saver;
}

const database = process.env.DATABASE_URL;
const graph = new StateGraph(Annotation.Root({ messages: append }))
  .addNode("model", model)
  .addNode("tool", tool)
  .addEdge(START, "model")
  .addConditionalEdges("model", ({ messages }) => (messages.at(-1).tool_calls ? "tool" : END))
  .addEdge("tool", "model")
  .compile({ checkpointer: database ? await postgres(database) : sqlite() });

const runs = new Map();

function go(id, input) {
  const config = { configurable: { thread_id: id }, durability: "sync", recursionLimit: 100000 };
  const run = graph.invoke(input, config);
  run.catch((err) => console.error(err));
  runs.set(id, run);
}

async function handle(method, path, body) {
  const [, , id, what] = path.split("/");
  if (method === "POST" && !what) go(id, { messages: [{ role: "user", content: "Settle the orders of this week." }] });
  if (what === "approve") {
    await runs.get(id);
    go(id, new Command({ resume: true }));
  }
  if (what === "settled") await runs.get(id);
  if (what === "done") {
    const state = await runs.get(id);
    if (state.messages.at(-1).tool_calls) throw new Error("the run is not done");
  }
}

http
  .createServer(async (request, response) => {
    try {
      for await (const _ of request);
      await handle(request.method, request.url);
      response.end("{}");
    } catch (err) {
      response.statusCode = 500;
      response.end(String(err));
    }
  })
  .listen(Number(process.env.PORT), "127.0.0.1");
