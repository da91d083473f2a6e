// The JavaScript SDK of A2A, whose server is killed: the client subscribes to its task again, and gets it if it has ended.
import { randomUUID } from 'node:crypto';
import { Role, TaskState } from '@a2a-js/sdk';
import { ClientFactory } from '@a2a-js/sdk/client';
import { api, assert } from '../harness.mjs';
import { runCrashes } from '../crashes.mjs';

const part = ($case, value) => ({ content: { $case, value }, mediaType: '', filename: '', metadata: undefined });

async function open(url, contextId = randomUUID()) {
  const client = await new ClientFactory().createFromUrl(`${url}/a2a/desk/`);
  const messageId = randomUUID();
  const run = async () => (await api(url)(`/v1/threads?key=${contextId}`)).body.run_id;
  let task, live;

  const said = (parts) => parts.map((p) => p.content.value).join('');
  const output = (of) => of.artifacts.map((a) => said(a.parts)).join('|');

  // follow collects what is streamed until the task ends or asks, and says which.
  async function follow(stream) {
    for await (const { payload: { $case, value } } of stream) {
      if ($case === 'task') live = output(value);
      else if ($case === 'artifactUpdate') live = (value.append ? live : '') + said(value.artifact.parts);
      const status = TaskState[value.status?.state];
      if (['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_COMPLETED'].includes(status)) return status;
    }
    return undefined;
  }
  // a message that breaks off is judged by what the task shows then
  const send = async (id, taskId, one) => {
    live = '';
    task = undefined;
    const message = { messageId: id, contextId, taskId, role: Role.ROLE_USER, parts: [one], metadata: undefined, extensions: [], referenceTaskIds: [] };
    await follow(client.sendMessageStream({ tenant: '', message, configuration: undefined, metadata: undefined })).catch(() => {});
  };
  const read = async () => { task = await client.getTask({ tenant: '', id: await run() }); };
  const agentSaid = ({ role, parts }) => role === Role.ROLE_AGENT && parts.every((p) => p.content.$case === 'text'); // and doesn't ask

  return {
    async say(words) {
      await send(messageId, '', part('text', words));
      await read().catch(() => {});
    },
    async reconnect() {
      const id = await run();
      if (!id) return;
      const ended = await follow(client.resubscribeTask({ tenant: '', id })).catch((e) => { assert.equal(e.cause?.reason ?? e.reason, 'UNSUPPORTED_OPERATION', e.stack); });
      await read();
      if (ended === 'TASK_STATE_COMPLETED') assert.equal(live, output(task));
    },
    questions: () => (task?.status.message?.parts ?? []).filter((p) => p.content.$case === 'data').map((p) => ({ id: p.content.value.decisionId, kind: p.content.value.kind })),
    answer: (q, approved) => send(randomUUID(), task.id, part('data', { decisionId: q.id, approved })),
    text: () => (task ? [...task.history.filter(agentSaid).map((m) => said(m.parts)), output(task)].filter(Boolean).join('|') : live ?? ''),
    users: () => task.history.filter((m) => m.role === Role.ROLE_USER).length,
    run,
    live: true,
    async reopened() {
      const other = await open(url, contextId);
      await other.reconnect();
      return other;
    },
  };
}

await runCrashes('a2a', process.argv[2], { '': open });
