// What the unmodified MCP clients make of the server: the one of revision 2026-07-28, the same with its defaults, and the
// older SDK.
import { randomUUID } from 'node:crypto';
import { api, assert, runCases } from '../harness.mjs';
import { connectModern, connectOld, text } from './connect.mjs';

const url = process.argv[2];
const call = api(url);

const kinds = {
  'client 2.4.0, auto': { asks: true, connect: (answer) => connectModern(url, answer) },
  'client 2.4.0': { asks: false, connect: (answer) => connectModern(url, answer, {}) },
  'sdk 1.32.2': { asks: false, connect: (answer) => connectOld(url, answer) },
};

const runOf = (result) => result._meta['dormouse.dev/run'];
const approve = () => ({ action: 'accept', content: { approved: true, reason: 'fine' } });

// use runs a case with one client of each kind.
const cases = {};
for (const [kind, { asks, connect }] of Object.entries(kinds)) {
  const use = (title, answer, play) => {
    cases[`${kind}: ${title}`] = async () => {
      const asked = [];
      const client = await connect(answer && ((params) => { asked.push(params); return answer(params, asked.length); }));
      try {
        await play(client, asked, (input, more = {}) => client.callTool({ name: 'desk', arguments: { input, ...more } }));
      } finally {
        await client.close();
      }
    };
  };

  // finished answers what a client couldn't, with the tools that every client has.
  const finished = async (client, result, action, reason) => {
    for (let run = result.structuredContent; run.status !== 'done';) {
      const [waits] = run.pending;
      const decided = await client.callTool({ name: 'decide', arguments: { run_id: runOf(result).run_id, target: waits.suspension.id, action, reason, shown: waits.fingerprint } });
      assert.equal(decided.structuredContent.code, 'accepted', text(decided));
      run = (await client.callTool({ name: 'get_run', arguments: { run_id: runOf(result).run_id, wait: 20 } })).structuredContent;
      if (run.status === 'done') return run.output;
    }
  };

  use('the agents are tools, beside those that every client has', undefined, async (client) => {
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map((t) => t.name).filter((name) => !['board', 'chief', 'desk'].includes(name)), ['cancel_run', 'decide', 'get_run', 'list_approvals']);
    const desk = tools.find((t) => t.name === 'desk');
    assert.deepEqual(desk.inputSchema.required, ['input']);
    assert.match(desk.description, /Pays/);
  });

  use('an answer at once', undefined, async (client, _, desk) => {
    assert.equal(text(await desk('hello')), 'Hello. What can I do?');
  });

  use('a tool of the agent runs', undefined, async (client, _, desk) => {
    assert.equal(text(await desk('weather in Bern')), 'It is sunny.');
  });

  use('a conversation goes on', undefined, async (client, _, desk) => {
    const thread = randomUUID();
    const first = await desk('hello', { thread });
    const second = await desk('pay 5', { thread });
    assert.equal(text(second), 'Paid 5.');
    assert.equal(runOf(first).thread_id, runOf(second).thread_id);
    const third = await desk('hello', { thread: runOf(first).thread_id });
    assert.equal(runOf(first).thread_id, runOf(third).thread_id);
  });

  use('an approval that is given', approve, async (client, asked, desk) => {
    const result = await desk('pay 50');
    if (!asks) {
      assert.match(text(result), /waits for an answer.*\n.*"amount":50.*above 10 need approval/);
      assert.equal(await finished(client, result, 'resume'), 'Paid 50.');
      return;
    }
    assert.equal(text(result), 'Paid 50.');
    assert.equal(asked.length, 1);
    assert.match(asked[0].message, /^Approve pay\?\nArguments: \{"amount":50,"to":"Ann"\}\nWhy you are asked: Payments above 10 need approval\./);
    assert.deepEqual(result._meta['dormouse.dev/answers'].map((a) => a.code), ['accepted']);
  });

  use('an approval that is denied', () => ({ action: 'accept', content: { approved: false, reason: 'too much' } }), async (client, asked, desk) => {
    const result = await desk('pay 50');
    assert.equal(asks ? text(result) : await finished(client, result, 'cancel', 'too much'), 'I did not pay.');
  });

  // later lets the user put the agent's question off, and say this to what the model then decides
  const later = (said) => (params, n) => (n === 1 ? { action: 'cancel' } : said);
  const sure = later({ action: 'accept', content: { confirmed: true } });

  use('the user confirms what the model decides', sure, async (client, asked, desk) => {
    const result = await desk('pay 50');
    assert.equal(await finished(client, result, 'resume', 'the user said so'), 'Paid 50.');
    assert.equal(asked.length, asks ? 2 : 0);
    if (asks) assert.match(asked[1].message, /^Approve pay\?\nThe model has proposed this.*\nReason, in the words of the model: "the user said so"\nArguments: \{"amount":50,"to":"Ann"\}/);
  });

  use('the user confirms what the model edits', sure, async (client, asked, desk) => {
    const result = await desk('pay 50');
    const [waits] = result.structuredContent.pending;
    const edited = { target: waits.suspension.id, action: 'resume', arguments: { amount: 20, to: 'Ann' } };
    const decided = await client.callTool({ name: 'decide', arguments: edited });
    assert.equal(decided.structuredContent.code, 'accepted', text(decided));
    const run = await client.callTool({ name: 'get_run', arguments: { run_id: runOf(result).run_id, wait: 20 } });
    assert.equal(run.structuredContent.output, 'Paid 20.');
    if (asks) assert.match(asked[1].message, /\nArguments, as the model has edited them: \{"amount":20,"to":"Ann"\}\nArguments, before the edit: \{"amount":50/);
  });

  use('the user confirms an answer of the model', sure, async (client, asked, desk) => {
    const result = await desk('which color?');
    const [waits] = result.structuredContent.pending;
    const decided = await client.callTool({ name: 'decide', arguments: { target: waits.suspension.id, result: 'green' } });
    assert.equal(decided.structuredContent.code, 'accepted', text(decided));
    assert.equal(asked.length, asks ? 2 : 0);
    if (asks) assert.match(asked[1].message, /^Answer ask_color\?\n.*\nAnswer: "green"\n/);
  });

  for (const said of asks ? [{ action: 'decline' }, { action: 'cancel' }, { action: 'accept', content: { confirmed: false } }] : []) {
    use(`what the model decides counts for nothing: ${JSON.stringify(said)}`, later(said), async (client, asked, desk) => {
      const result = await desk('pay 50');
      const { run_id } = runOf(result);
      const [waits] = result.structuredContent.pending;
      const decided = await client.callTool({ name: 'decide', arguments: { target: waits.suspension.id, action: 'resume' } });
      assert.ok(decided.isError);
      assert.equal(decided.structuredContent.stored, false);
      assert.match(text(decided), /Nothing was stored: sus_\w+ is still open/);
      const run = (await client.callTool({ name: 'get_run', arguments: { run_id } })).structuredContent;
      assert.deepEqual(run.pending.map((p) => p.suspension.id), [waits.suspension.id]);
      await client.callTool({ name: 'cancel_run', arguments: { run_id } });
    });
  }

  use('a client without elicitation is told what to do', undefined, async (client, _, desk) => {
    const result = await desk('pay 50');
    assert.match(text(result), /decide \{"run_id"/);
    assert.equal(await finished(client, result, 'resume'), 'Paid 50.');
  });

  use('two approvals at once', approve, async (client, asked, desk) => {
    const result = await desk('pay 50 twice');
    assert.equal(asks ? text(result) : await finished(client, result, 'resume'), 'Paid 50.');
    assert.equal(asked.length, asks ? 2 : 0);
  });

  use('a question', () => ({ action: 'accept', content: { answer: 'green' } }), async (client, asked, desk) => {
    const result = await desk('which color?');
    if (asks) {
      assert.equal(text(result), 'So green it is.');
      assert.match(asked[0].message, /^Which color\?/);
      return;
    }
    const [waits] = result.structuredContent.pending;
    const decided = await client.callTool({ name: 'decide', arguments: { target: waits.suspension.id, result: 'green' } });
    assert.equal(decided.structuredContent.code, 'accepted', text(decided));
    const run = await client.callTool({ name: 'get_run', arguments: { run_id: runOf(result).run_id, wait: 20 } });
    assert.equal(run.structuredContent.output, 'So green it is.');
  });

  use('a call that the client runs is answered with decide', approve, async (client, asked, desk) => {
    const result = await desk('pick');
    assert.equal(asked.length, 0);
    const [waits] = result.structuredContent.pending;
    assert.equal(waits.kind, 'client');
    const wrong = await client.callTool({ name: 'decide', arguments: { target: waits.suspension.id, result: { chosen: 'red' } } });
    assert.ok(wrong.isError);
    assert.equal(wrong.structuredContent.code, 'schema_mismatch');
    await client.callTool({ name: 'decide', arguments: { target: waits.suspension.id, result: { picked: 'red' } } });
    const run = await client.callTool({ name: 'get_run', arguments: { run_id: runOf(result).run_id, wait: 20 } });
    assert.equal(run.structuredContent.output, 'You picked red.');
  });

  use('an approval that is put off stays open', () => ({ action: 'cancel' }), async (client, asked, desk) => {
    const result = await desk('pay 50');
    assert.equal(asked.length, asks ? 1 : 0);
    const { run_id } = runOf(result);
    const { structuredContent: inbox } = await client.callTool({ name: 'list_approvals', arguments: { thread_id: runOf(result).thread_id } });
    assert.deepEqual(inbox.items.map((i) => i.run_id), [run_id]);
    const cancelled = await client.callTool({ name: 'cancel_run', arguments: { run_id } });
    assert.ok(!cancelled.isError, text(cancelled));
    const run = await client.callTool({ name: 'get_run', arguments: { run_id, wait: 20 } });
    assert.equal(run.structuredContent.reason, 'cancelled');
  });

  use('another answer was first', async (params) => {
    // someone denies by the API while the user looks at the form
    const run = /run (run_\w+)/.exec(params.message)[1];
    const { body } = await call(`/v1/runs/${run}`);
    await call(`/v1/runs/${run}/decisions`, { target: body.pending[0].suspension.id, action: 'cancel', reason: 'no' });
    return approve();
  }, async (client, asked, desk) => {
    const result = await desk('pay 50');
    if (!asks) return assert.equal(await finished(client, result, 'cancel'), 'I did not pay.');
    assert.match(text(result), /^I did not pay\.\nYour answer to sus_\w+ wasn't used: already_decided/);
    assert.equal(result._meta['dormouse.dev/answers'][0].winner.action, 'cancel');
  });

  use('an unknown tool, and unclear arguments', undefined, async (client) => {
    await assert.rejects(client.callTool({ name: 'nothing', arguments: { input: 'x' } }), /no agent named "nothing"|-32602/);
    const unclear = await client.callTool({ name: 'desk', arguments: { prompt: 'x' } }).catch((e) => e);
    assert.ok(unclear.isError, unclear);
    assert.equal(unclear.structuredContent.code, 'unknown_field');
  });
}

await runCases('mcp', cases);
