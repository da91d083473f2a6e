// MCP clients, whose server is killed: the client connects again, and sends its call again under the key that it had.
import { randomUUID } from 'node:crypto';
import { api } from '../harness.mjs';
import { runCrashes } from '../crashes.mjs';
import { connectModern, connectOld, outputOf } from './connect.mjs';

// opens makes pages of a client that can ask its user, or can't.
const opens = (connect, asks) => async function open(url, thread = randomUUID(), key = randomUUID(), input = '') {
  let client, result, verdict;
  // the user puts a question off until the test answers it
  const asked = () => (verdict === undefined ? { action: 'cancel' } : { action: 'accept', content: { approved: verdict } });
  const call = async (name, args, _meta) => {
    client ??= await connect(url, asks ? asked : undefined);
    result = await client.callTool({ name, arguments: args, _meta });
  };
  const sent = (promise) => promise.catch(() => { client = undefined; }); // what the call comes to is seen when it is sent again
  const again = () => call('desk', { input, thread }, { 'dormouse.dev/idempotency-key': key });
  const run = async () => (await api(url)(`/v1/threads?key=${thread}`)).body.run_id;
  return {
    async say(words) {
      input = words;
      await sent(again());
    },
    async reconnect() {
      client = undefined;
      if (await run()) await again();
    },
    questions: () => (result?.structuredContent?.pending ?? []).map((p) => ({ id: p.suspension.id, kind: p.kind })),
    async answer(q, yes) {
      if (!asks) return sent(call('decide', { target: q.id, action: yes ? 'resume' : 'cancel' }));
      verdict = yes;
      await sent(again());
      verdict = undefined;
    },
    text: () => outputOf(result),
    output: true,
    run,
    live: false,
    async reopened() {
      const other = await open(url, thread, key, input);
      await other.reconnect();
      return other;
    },
  };
};

await runCrashes('mcp', process.argv[2], { 'client 2.4.0, ': opens(connectModern, true), 'sdk 1.32.2, ': opens(connectOld, false) }, { rounds: 4 });
