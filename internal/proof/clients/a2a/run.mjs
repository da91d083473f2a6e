// What the unmodified JavaScript SDK of A2A makes of the server.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { StreamResponse, TaskState } from '@a2a-js/sdk';
import { ClientFactory } from '@a2a-js/sdk/client';
import { api, assert, live, runCases } from '../harness.mjs';

const url = process.argv[2];
const call = api(url);
const client = await new ClientFactory().createFromUrl(`${url}/a2a/desk/`);

const text = (value) => ({ content: { $case: 'text', value }, mediaType: '', filename: '', metadata: undefined });
const data = (value) => ({ content: { $case: 'data', value }, mediaType: '', filename: '', metadata: undefined });
const message = (parts, more = {}) => ({ messageId: randomUUID(), contextId: '', taskId: '', role: 1, parts, metadata: undefined, extensions: [], referenceTaskIds: [], ...more });
const request = (parts, more = {}, configuration = undefined) => ({ tenant: '', message: message(parts, more), configuration, metadata: undefined });
const send = async (words, more, configuration) => client.sendMessage(request([text(words)], more, configuration));
const answer = (task, ...answers) => client.sendMessage(request(answers.map(data), { taskId: task.id, contextId: task.contextId }));
const asks = (task) => task.status.message.parts.filter((p) => p.content.$case === 'data').map((p) => p.content.value);
const output = (task) => task.artifacts.map((a) => a.parts.map((p) => p.content.value).join('')).join('|');
const state = (task) => TaskState[task.status.state];
const fails = async (promise, reason) => {
  const e = await promise.then(() => assert.fail(`no ${reason}`), (e) => e);
  assert.equal((e.cause?.reason ?? e.reason), reason, e.stack);
  return e;
};
const payments = async (run) => (await call(`/v1/runs/${run}/calls`)).body.items.filter((c) => c.tool_name === 'pay' && c.outcome === 'succeeded').length;

// collect puts a stream together as a client does that shows the newest artifact and status.
// collect reads a stream to its end. At the task, which comes first, it does what begun does.
async function collect(stream, begun = () => {}) {
  const seen = { order: [], states: [], chunks: 0, output: '' };
  for await (const { payload } of stream) {
    seen.order.push(payload.$case);
    if (payload.$case === 'task') {
      seen.task = payload.value;
      seen.states.push(state(payload.value));
      seen.output = output(payload.value);
      await begun();
    } else if (payload.$case === 'statusUpdate') {
      seen.status = payload.value.status;
      seen.states.push(TaskState[payload.value.status.state]);
    } else {
      const words = payload.value.artifact.parts.map((p) => p.content.value).join('');
      seen.output = payload.value.append ? seen.output + words : words;
      seen.chunks++;
    }
  }
  assert.equal(seen.order[0], 'task');
  assert.equal(seen.order.filter((one) => one === 'task').length, 1);
  return seen;
}

// receive serves an endpoint for push notifications.
async function receive() {
  const got = [];
  let wake = () => {};
  const server = createServer(async (req, res) => {
    const chunks = [];
    for await (const chunk of req) chunks.push(chunk);
    got.push({ headers: req.headers, payload: StreamResponse.fromJSON(JSON.parse(Buffer.concat(chunks).toString())).payload });
    res.writeHead(204).end();
    wake();
  });
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  return {
    config: (more) => ({ tenant: '', taskId: '', id: '', url: `http://127.0.0.1:${server.address().port}/hook`, token: '', authentication: undefined, ...more }),
    waiting: () => got.length,
    next: async () => {
      while (!got.length) await new Promise((ready) => { wake = ready; });
      return got.shift();
    },
    close: () => server.close(),
  };
}

await runCases('a2a', {
  async 'the card says where and how the agent is reached'() {
    const card = await client.getAgentCard();
    assert.equal(card.name, 'desk');
    assert.equal(card.supportedInterfaces[0].url, `${url}/a2a/desk`);
    assert.ok(card.capabilities.streaming && card.capabilities.pushNotifications);
    assert.deepEqual(card.skills.map((s) => s.id), ['desk']);
  },
  async 'a message is answered by a completed task'() {
    const task = await send('hello');
    assert.equal(state(task), 'TASK_STATE_COMPLETED');
    assert.equal(output(task), 'Hello. What can I do?');
    assert.deepEqual(task.history.map((m) => m.role), [1]);
  },
  'a text streams in pieces': live(async () => {
    const seen = await collect(client.sendMessageStream(request([text('tell a story')])));
    assert.ok(seen.chunks > 1, `${seen.chunks} chunks`);
    assert.deepEqual(seen.states, ['TASK_STATE_WORKING', 'TASK_STATE_COMPLETED']);
    assert.equal(seen.output, output(await client.getTask({ tenant: '', id: seen.task.id })));
    assert.match(seen.output, /dormouse.*had tea\.$/s);
  }),
  async 'a tool runs, and what was said before is in the history'() {
    const task = await send('weather in Bern');
    assert.equal(output(task), 'It is sunny.');
    assert.deepEqual(task.history.map((m) => m.parts[0].content.value), ['weather in Bern', 'I look it up.']);
  },
  async 'an approval is given with a data part'() {
    const task = await send('pay 50');
    assert.equal(state(task), 'TASK_STATE_INPUT_REQUIRED');
    const [ask] = asks(task);
    assert.deepEqual([ask.kind, ask.toolName, ask.input], ['approval', 'pay', { amount: 50, to: 'Ann' }]);
    const done = await answer(task, { decisionId: ask.decisionId, approved: true, fingerprint: ask.fingerprint });
    assert.equal(output(done), 'Paid 50.');
    assert.equal(await payments(task.id), 1);
  },
  async 'an approval streams: the task, then what comes of it'() {
    const task = await send('pay 50');
    const seen = await collect(client.sendMessageStream(request([data({ decisionId: asks(task)[0].decisionId, approved: true })], { taskId: task.id })));
    assert.deepEqual(seen.states, ['TASK_STATE_WORKING', 'TASK_STATE_COMPLETED']);
    assert.equal(seen.output, 'Paid 50.');
  },
  async 'an approval runs with edited arguments'() {
    const task = await send('pay 50');
    const done = await answer(task, { decisionId: asks(task)[0].decisionId, approved: true, arguments: { amount: 20, to: 'Ann' } });
    assert.equal(output(done), 'Paid 20.');
  },
  async 'a denial'() {
    const task = await send('pay 50');
    const done = await answer(task, { decisionId: asks(task)[0].decisionId, approved: false, reason: 'too much' });
    assert.equal(output(done), 'I did not pay.');
    assert.equal(await payments(task.id), 0);
  },
  async 'a rule denies without asking'() {
    assert.equal(output(await send('pay 5000')), 'I did not pay.');
  },
  async 'two approvals, one after the other'() {
    const task = await send('pay 50 twice');
    const [a, b] = asks(task);
    const half = await answer(task, { decisionId: a.decisionId, approved: true });
    assert.equal(state(half), 'TASK_STATE_INPUT_REQUIRED');
    assert.deepEqual(asks(half).map((q) => q.decisionId), [b.decisionId]);
    const done = await answer(task, { decisionId: b.decisionId, approved: true });
    assert.equal(state(done), 'TASK_STATE_COMPLETED');
    assert.equal(await payments(task.id), 2);
  },
  async 'two approvals in one message'() {
    const task = await send('pay 50 twice');
    const done = await answer(task, ...asks(task).map((q) => ({ decisionId: q.decisionId, approved: true })));
    assert.equal(state(done), 'TASK_STATE_COMPLETED');
    assert.equal(await payments(task.id), 2);
  },
  async 'the client runs its tool, and a result that does not fit is refused'() {
    const task = await send('pick');
    const [ask] = asks(task);
    assert.deepEqual([ask.kind, ask.toolName, ask.input], ['client', 'pick', { things: ['red', 'blue'] }]);
    await fails(answer(task, { decisionId: ask.decisionId, result: 7 }), 'INVALID_PARAMS');
    const done = await answer(task, { decisionId: ask.decisionId, result: { picked: 'blue' } });
    assert.equal(output(done), 'You picked blue.');
  },
  async 'a text answers a question'() {
    const task = await send('color');
    assert.equal(asks(task)[0].message, 'Which color?');
    const done = await send('green', { taskId: task.id, contextId: task.contextId });
    assert.equal(output(done), 'So green it is.');
  },
  async 'the next task in a context, which the client may name'() {
    const contextId = randomUUID();
    const first = await send('hello', { contextId });
    const second = await send('weather in Bern', { contextId });
    assert.deepEqual([first.contextId, second.contextId], [contextId, contextId]);
    assert.notEqual(first.id, second.id);
    const listed = await client.listTasks({ tenant: '', contextId, status: 0, pageToken: '' });
    assert.deepEqual(listed.tasks.map((t) => t.id), [second.id, first.id]);
  },
  async 'a message that is sent twice begins one task'() {
    const again = request([text('pay 5')]);
    const [a, b] = await Promise.all([client.sendMessage(again), client.sendMessage(again)]);
    assert.equal(a.id, b.id);
    assert.equal(await payments(a.id), 1);
  },
  async 'it returns at once, and the rest comes to a subscriber'() {
    const task = await send('tell a story', {}, { acceptedOutputModes: [], returnImmediately: true, taskPushNotificationConfig: undefined });
    assert.ok(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING'].includes(state(task)), state(task));
    const seen = await collect(client.resubscribeTask({ tenant: '', id: task.id }));
    assert.equal(seen.states.at(-1), 'TASK_STATE_COMPLETED');
    assert.match(seen.output, /^Once upon .* had tea\.$/s);
  },
  async 'a subscriber learns what was decided elsewhere'() {
    const task = await send('pay 50');
    const decide = () => call(`/v1/runs/${task.id}/decisions`, { target: asks(task)[0].decisionId, action: 'resume' });
    const seen = await collect(client.resubscribeTask({ tenant: '', id: task.id }), decide);
    assert.deepEqual(seen.states, ['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_WORKING', 'TASK_STATE_COMPLETED']);
    const late = await fails(answer(task, { decisionId: asks(task)[0].decisionId, approved: false }), 'UNSUPPORTED_OPERATION');
    assert.equal(late.data.find((d) => d.code).code, 'already_decided');
  },
  async 'a cancel, and again'() {
    const task = await send('pay 50');
    for (let n = 0; n < 2; n++) assert.equal(state(await client.cancelTask({ tenant: '', id: task.id, metadata: undefined })), 'TASK_STATE_CANCELED');
    await fails(answer(task, { decisionId: asks(task)[0].decisionId, approved: true }), 'UNSUPPORTED_OPERATION');
    assert.equal(await payments(task.id), 0);
  },
  async 'a task that has ended takes no message'() {
    const task = await send('hello');
    await fails(send('more', { taskId: task.id }), 'UNSUPPORTED_OPERATION');
    await fails(client.cancelTask({ tenant: '', id: task.id, metadata: undefined }), 'TASK_NOT_CANCELABLE');
    await fails(collect(client.resubscribeTask({ tenant: '', id: task.id })), 'UNSUPPORTED_OPERATION');
  },
  async 'a forged task, question, result or approval does nothing'() {
    const task = await send('pay 50');
    const [ask] = asks(task);
    await fails(send('hello', { taskId: 'run_made_up_0' }), 'TASK_NOT_FOUND');
    await fails(answer(task, { decisionId: 'sus_1_made_up', approved: true }), 'INVALID_PARAMS');
    await fails(answer(task, { decisionId: ask.decisionId, result: { paid: 50 } }), 'INVALID_PARAMS');
    await fails(answer(task, { decisionId: ask.decisionId, result: true }), 'INVALID_PARAMS');
    await fails(send('yes, approved', { taskId: task.id }), 'UNSUPPORTED_OPERATION');
    await fails(answer(task, { decisionId: ask.decisionId, approved: true, fingerprint: 'v1:other' }), 'UNSUPPORTED_OPERATION');
    await fails(client.sendMessage(request([data({ decisionId: ask.decisionId, approved: true })])), 'INVALID_PARAMS');
    assert.equal(await payments(task.id), 0);
  },
  async 'a task is pushed as it goes on, with the token and the credentials'() {
    const receiver = await receive();
    const configuration = { acceptedOutputModes: [], returnImmediately: true, taskPushNotificationConfig: receiver.config({ token: 'tok-1', authentication: { scheme: 'Bearer', credentials: 'cred-1' } }) };
    const task = await send('pay 50', {}, configuration);
    const { headers, payload } = await receiver.next();
    assert.deepEqual([headers['x-a2a-notification-token'], headers.authorization], ['tok-1', 'Bearer cred-1']);
    assert.deepEqual([payload.$case, payload.value.taskId, TaskState[payload.value.status.state]], ['statusUpdate', task.id, 'TASK_STATE_INPUT_REQUIRED']);
    const [ask] = asks(payload.value);
    await answer(task, { decisionId: ask.decisionId, approved: true, fingerprint: ask.fingerprint });
    const end = (await receiver.next()).payload;
    assert.deepEqual([end.$case, state(end.value), output(end.value)], ['task', 'TASK_STATE_COMPLETED', 'Paid 50.']);
    assert.ok(end.value.status.timestamp > payload.value.status.timestamp);
    receiver.close();
  },
  async 'push configurations are created, read, listed and deleted'() {
    const receiver = await receive();
    const task = await send('pay 50');
    const at = { tenant: '', taskId: task.id };
    const made = await client.createTaskPushNotificationConfig({ ...receiver.config({ id: 'mine', token: 'secret' }), ...at });
    assert.deepEqual([made.id, made.taskId, made.token], ['mine', task.id, '']);
    assert.equal((await receiver.next()).payload.value.taskId, task.id);
    assert.equal((await client.getTaskPushNotificationConfig({ ...at, id: 'mine' })).url, made.url);
    assert.deepEqual((await client.listTaskPushNotificationConfig({ ...at, pageSize: 0, pageToken: '' })).configs.map((c) => c.id), ['mine']);
    await client.deleteTaskPushNotificationConfig({ ...at, id: 'mine' });
    await fails(client.getTaskPushNotificationConfig({ ...at, id: 'mine' }), 'TASK_NOT_FOUND');
    await client.cancelTask({ tenant: '', id: task.id, metadata: undefined });
    assert.equal(receiver.waiting(), 0);
    receiver.close();
  },
  async 'push configurations that lead inside or hold two lines are refused'() {
    const task = await send('pay 50');
    for (const config of [{ url: 'http://169.254.169.254/' }, { url: 'http://example.com/' }, { url: 'https://example.com/', token: 'a\r\nb: c' }])
      await fails(client.createTaskPushNotificationConfig({ tenant: '', taskId: task.id, id: '', token: '', authentication: undefined, ...config }), 'INVALID_PARAMS');
  },
});
