// An agent as a workflow of Restate. Each step of the model and each tool call is journaled, and an
// approval is a durable promise.
import * as restate from "@restatedev/restate-sdk";

// the SDK needs it, and Node 20 doesn't have it
Promise.withResolvers ??= function () {
  let resolve, reject;
  const promise = new this((a, b) => ([resolve, reject] = [a, b]));
  return { promise, resolve, reject };
};

const words = "lamp chair parcel table invoice shelf cushion label rug box mirror clock blanket mug set receipt bag drawer handle frame".split(" ");

function result(order) {
  let text = `Order ${order}:`;
  for (let x = order; text.length < 2000; ) {
    x = (Math.imul(x, 1103515245) + 12345) & 0x7fffffff;
    text += " " + words[(x >> 16) % 20];
  }
  return text.slice(0, 2000);
}

async function model(messages) {
  const answer = await fetch(process.env.MODEL_URL + "/chat/completions", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "scripted", messages }),
  });
  return (await answer.json()).choices[0].message;
}

const agent = restate.workflow({
  name: "agent",
  handlers: {
    async run(ctx) {
      const messages = [{ role: "user", content: "Settle the orders of this week." }];
      for (;;) {
        const turn = await ctx.run("model", () => model(messages));
        messages.push(turn);
        if (!turn.tool_calls) return turn.content;
        const call = turn.tool_calls[0];
        const { order } = JSON.parse(call.function.arguments);
        if (call.function.name === "refund") await ctx.promise(`approval-${order}`);
        messages.push({ role: "tool", tool_call_id: call.id, content: await ctx.run("tool", () => result(order)) });
      }
    },
    async approve(ctx, { step }) {
      await ctx.promise(`approval-${step}`).resolve(true);
    },
  },
});

restate.serve({ services: [agent], port: Number(process.env.PORT) });
