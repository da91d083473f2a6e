// CopilotKit, whose server is killed: the page is loaded again, and connects to the conversation.
import { randomUUID } from 'node:crypto';
import { api, assert } from '../harness.mjs';
import { runCrashes } from '../crashes.mjs';
import { answer, open as openPage, say, text } from './page.mjs';

async function open(url, threadId = randomUUID()) {
  const message = randomUUID();
  let page = await openPage(url, { threadId });
  return {
    say: (words) => say(page, words, message),
    async reconnect() {
      page = await openPage(url, { threadId });
      await page.core.connectAgent({ agent: page.agent });
      assert.deepEqual(page.errors, []);
    },
    questions: () => (page.interrupts.pending?.interrupts ?? []).map((i) => ({ id: i.id, kind: i.reason === 'tool_call' ? 'approval' : i.reason.replace('dormouse:', '') })),
    answer: (q, approved) => answer(page, page.interrupts.resolve({ approved }, q.id)),
    text: () => text(page),
    users: () => page.agent.messages.filter((m) => m.role === 'user').length,
    run: async () => (await api(url)(`/v1/threads?key=${threadId}`)).body.run_id,
    live: true,
    async reopened() {
      const other = await open(url, threadId);
      await other.reconnect();
      return other;
    },
  };
}

await runCrashes('copilotkit', process.argv[2], { '': open });
