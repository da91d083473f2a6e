// What the unmodified core of CopilotKit makes of the server.
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { api, assert, live, runCases, until } from '../harness.mjs';
import { answer, open as openAt, say, text } from './page.mjs';

const url = process.argv[2];
const call = api(url);
const open = (more) => openAt(url, more);

const results = ({ agent }) => agent.messages.filter((m) => m.role === 'tool').map((m) => m.content);
const seenBy = ({ agent }) => agent.messages.map(({ id, role, content, toolCalls, toolCallId }) => ({ id, role, content, toolCalls, toolCallId }));
const stored = async ({ agent }) => (await call(`/v1/runs/${(await call(`/v1/threads?key=${agent.threadId}`)).body.run_id}`)).body;
const reopened = async (page, more) => {
  const other = await open({ threadId: page.agent.threadId, ...more });
  await other.core.connectAgent({ agent: other.agent });
  return other;
};
const pick = (picked = []) => ({ name: 'pick', parameters: z.object({ things: z.array(z.string()) }), handler: async ({ things }) => { picked.push(things); return { picked: things[0] }; } });

const cases = {};
for (const transport of ['rest', 'single']) {
  Object.assign(cases, {
    async [`${transport}: the agents are listed`]() {
      const { core, agent } = await open({ transport });
      assert.ok(Object.keys(core.agents).includes('desk'));
      assert.equal(agent.description, 'Pays, looks things up and asks questions.');
      assert.equal((await agent.getCapabilities()).humanInTheLoop.approvals, true);
    },
    async [`${transport}: a text and a tool`]() {
      const page = await open({ transport });
      await say(page, 'hello');
      await say(page, 'weather in Bern');
      assert.equal(text(page), 'Hello. What can I do?|I look it up.|It is sunny.');
      assert.deepEqual(page.errors, []);
      assert.deepEqual(seenBy(await reopened(page, { transport })), seenBy(page));
    },
    async [`${transport}: an approval, with the made-up result of the hook`]() {
      const page = await open({ transport });
      await say(page, 'pay 70');
      assert.deepEqual(seenBy(await reopened(page, { transport })), seenBy(page));
      await answer(page, page.interrupts.resolve({ approved: true }));
      assert.equal(text(page), 'Let me pay.|Paid 70.');
      assert.deepEqual(results(page).map((r) => JSON.parse(r)), [{ paid: 70, to: 'Ann' }]);
      assert.deepEqual(page.errors, []);
      assert.deepEqual(seenBy(await reopened(page, { transport })), seenBy(page));
    },
    [`${transport}: stop cancels the run`]: live(async () => {
      const page = await open({ transport });
      const sent = say(page, 'tell a story');
      await until('text', () => text(page).length > 20);
      page.core.stopAgent({ agent: page.agent });
      await sent;
      await until('the end', async () => (await stored(page)).status === 'done');
      assert.equal((await stored(page)).reason, 'cancelled');
    }),
  });
}
Object.assign(cases, {
  async 'a denial, and edited arguments, of two calls at once'() {
    const page = await open();
    await say(page, 'pay 71 twice');
    const [one, two] = page.interrupts.pending.interrupts;
    assert.deepEqual(page.interrupts.resolve({ approved: false, reason: 'no' }, one.id), { kind: 'waiting' });
    await answer(page, page.interrupts.resolve({ approved: true, editedArgs: { amount: 11, to: 'Zoe' } }, two.id));
    assert.equal(results(page).length, 2);
    assert.ok(results(page).includes('{"paid":11,"to":"Zoe"}'), results(page).join());
    assert.deepEqual(page.errors, []);
  },
  async 'a cancelled question denies'() {
    const page = await open();
    await say(page, 'pay 72');
    await answer(page, page.interrupts.cancel());
    assert.equal(text(page), 'Let me pay.|I did not pay.');
  },
  async 'a question of a tool'() {
    const page = await open();
    await say(page, 'color');
    await answer(page, page.interrupts.resolve('green'));
    assert.match(text(page), /So green it is\.$/);
  },
  async 'a tool of the page runs, and the run goes on by itself'() {
    const picked = [];
    const page = await open({ tools: [pick(picked)] });
    await say(page, 'pick');
    assert.equal(text(page), 'Please pick.|You picked red.');
    assert.deepEqual(picked, [['red', 'blue']]);
    assert.equal(results(page).length, 1);
    assert.deepEqual(page.errors, []);
    assert.deepEqual(seenBy(await reopened(page)), seenBy(page));
  },
  async 'a tool that only the page has runs, and the run goes on by itself'() {
    const painted = [];
    const paint = { name: 'ui_paint', description: 'Paints the board.', parameters: z.object({ color: z.string() }), handler: async ({ color }) => { painted.push(color); return { painted: color }; } };
    const page = await open({ name: 'board', tools: [paint, pick()] });
    page.core.addContext({ description: 'the board', value: 'white' });
    page.agent.setState({ zoom: 3 });
    assert.equal((await page.agent.getCapabilities()).tools.clientProvided, true);
    await say(page, 'paint it red');
    assert.equal(text(page), 'I paint.|It is red.');
    assert.deepEqual(painted, ['red']);
    assert.deepEqual((await stored(page)).client_tool_names, ['ui_paint']); // the agent itself has pick
    await say(page, 'remember milk');
    assert.match(text(page), /Noted at zoom 3\.$/);
    assert.deepEqual(page.agent.state, { zoom: 3, thing: 'milk' });
    await say(page, 'pick');
    assert.match(text(page), /You picked red\.$/);
    assert.deepEqual(page.errors, []);
    const other = await reopened(page, { name: 'board' });
    assert.deepEqual(seenBy(other), seenBy(page));
    assert.deepEqual(other.agent.state, page.agent.state);
  },
  async 'a tool of the page that needs approval runs once that is given, and not before'() {
    for (const approved of [true, false]) {
      let erased = 0;
      const erase = { name: 'ui_erase', description: 'Erases the board.', parameters: z.object({}), handler: async () => { erased++; return { erased: true }; } };
      const page = await open({ name: 'board', tools: [erase] });
      await say(page, 'erase');
      assert.equal(erased, 0);
      const [asked] = page.interrupts.pending.interrupts;
      assert.match(asked.message, /^ui_erase \{\}\. .*What is erased is gone\.$/);
      const other = await reopened(page, { name: 'board', tools: [erase] });
      assert.equal(erased, 0);
      assert.deepEqual(seenBy(other), seenBy(page));
      await answer(page, page.interrupts.resolve({ approved }));
      assert.equal(erased, approved ? 1 : 0);
      assert.equal(text(page), approved ? 'I erase.|It is empty.' : 'I erase.|I erased nothing.');
      assert.deepEqual(page.errors, []);
      assert.deepEqual(seenBy(await reopened(page, { name: 'board' })), seenBy(page));
    }
  },
  async 'a page takes no place of a server tool'() {
    const page = await open({ name: 'board', tools: [{ name: 'pay', parameters: z.object({ amount: z.number() }), handler: async () => ({ paid: 9 }) }] });
    await say(page, 'pay 9');
    assert.match(page.errors[0][1], /HTTP 4/);
    assert.equal((await call(`/v1/threads?key=${page.agent.threadId}`)).status, 404);
  },
  async 'what an agent does not accept is dropped'() {
    const page = await open({ tools: [{ name: 'pay', parameters: z.object({ amount: z.number() }), handler: async () => ({ paid: 9 }) }] });
    page.core.addContext({ description: 'the board', value: 'white' });
    page.agent.setState({ approved: true });
    await say(page, 'pay 76');
    assert.equal((await stored(page)).pending.length, 1);
    assert.equal('client_tool_names' in (await stored(page)), false);
  },
  async 'a tool that asks the user is asked again after a reload'() {
    const asking = (answers) => ({ ...pick(), type: 'human-in-the-loop', handler: () => answers });
    const page = await open({ tools: [asking(new Promise(() => {}))] });
    void say(page, 'pick');
    await until('the call', async () => (await stored(page)).status === 'waiting');
    const other = await reopened(page, { tools: [asking(Promise.resolve({ picked: 'blue' }))] });
    await until('the answer', () => /You picked blue\.$/.test(text(other)));
    assert.deepEqual(other.errors, []);
  },
  async 'a page that is opened while an approval waits goes on'() {
    const page = await open();
    await say(page, 'pay 73');
    const other = await reopened(page);
    await answer(other, other.interrupts.resolve({ approved: true }));
    assert.equal(text(other), 'Let me pay.|Paid 73.');
    assert.equal(results(other).length, 1);
  },
  async 'a page that is opened while the text streams shows all of it'() {
    const page = await open();
    const sent = say(page, 'tell a story');
    await until('text', () => text(page).length > 20);
    const other = await reopened(page);
    await sent;
    assert.match(text(other), /had tea\.$/);
    assert.deepEqual(seenBy(other), seenBy(page));
  },
  async 'a page of a new conversation is empty'() {
    const page = await open();
    await page.core.connectAgent({ agent: page.agent });
    assert.deepEqual(page.agent.messages, []);
    assert.deepEqual(page.errors, []);
  },
  async 'what was decided elsewhere first is shown'() {
    const page = await open();
    await say(page, 'pay 74');
    const [asked] = page.interrupts.pending.interrupts;
    assert.equal((await call(`/v1/suspensions/${asked.id}`, { action: 'cancel', reason: 'no' })).status, 202);
    await answer(page, page.interrupts.resolve({ approved: true }));
    assert.equal(text(page), 'Let me pay.|I did not pay.');
    assert.equal(results(page).length, 1);
  },
  async 'a page that is opened after the run was cancelled shows that'() {
    const page = await open();
    await say(page, 'pay 77');
    assert.equal((await call(`/v1/runs/${(await stored(page)).id}/cancel`, {})).status, 202);
    await until('the end', async () => (await stored(page)).status === 'done');
    const other = await reopened(page);
    assert.equal(text(other), 'Let me pay.|The run ended: cancelled.');
    assert.deepEqual(other.errors, []);
    await say(other, 'hello');
    assert.match(text(other), /cancelled\.\|Hello\. What can I do\?$/);
  },
  async 'a run that fails is an error'() {
    const page = await open();
    await say(page, 'xyzzy');
    assert.equal(page.errors.length, 1);
    assert.equal(page.errors[0][0], 'agent_run_error_event');
    assert.equal((await reopened(page)).errors[0][1], page.errors[0][1]);
  },
  async 'a refused message is an error'() {
    const page = await open();
    await say(page, 'pay 75');
    page.agent.pendingInterrupts = [];
    await say(page, 'hello');
    assert.match(page.errors[0][1], /HTTP 409.*run_open/);
    assert.equal((await stored(page)).pending.length, 1);
  },
});

await runCases('copilotkit', cases);
