// The AG-UI client, whose server is killed: a page connects to the conversation again.
import { randomUUID } from 'node:crypto';
import { api, assert } from '../harness.mjs';
import { runCrashes } from '../crashes.mjs';
import { connecting } from './connecting.mjs';

export async function crash({ client, version, program }) {
  const Page = connecting(client);
  console.error = () => {};

  function open(url, threadId = randomUUID()) {
    const page = new Page({ url: `${url}/ag-ui/desk`, threadId });
    let outcome;
    page.subscribe({ onRunFinishedEvent: (e) => { outcome = e.outcome; } });
    const sent = (promise) => promise.catch(() => {}); // a connection that broke; what the page shows then is judged
    return {
      async say(content) {
        if (page.messages.length === 0) page.addMessage({ id: randomUUID(), role: 'user', content });
        await sent(page.runAgent());
      },
      async reconnect() {
        page.pendingInterrupts = []; // the stock client would insist on answers before it looks
        await page.connectAgent();
      },
      questions: () => page.pendingInterrupts.map((i) => ({ id: i.id, kind: i.reason === 'tool_call' ? 'approval' : i.reason.replace('dormouse:', '') })),
      answer: (q, approved) => sent(page.runAgent({ resume: [{ interruptId: q.id, status: 'resolved', payload: { approved } }] })),
      text: () => page.messages.filter((m) => m.role === 'assistant' && m.content).map((m) => m.content).join('|'),
      users: () => page.messages.filter((m) => m.role === 'user').length,
      results: () => page.messages.filter((m) => m.role === 'tool').length,
      run: async () => (await api(url)(`/v1/threads?key=${threadId}`)).body.run_id,
      live: true,
      async reopened() {
        const other = open(url, threadId);
        await other.reconnect();
        assert.equal(other.results(), this.results());
        return other;
      },
    };
  }

  await runCrashes(`ag-ui ${version}`, program, { '': open });
}
