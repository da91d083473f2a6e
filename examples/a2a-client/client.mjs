// Sends a message to the agent, shows its answer as it arrives, and asks at the terminal what the agent asks.
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { Role, TaskState } from '@a2a-js/sdk';
import { ClientFactory } from '@a2a-js/sdk/client';

const server = process.env.DORMOUSE_URL ?? 'http://127.0.0.1:8420';
const agent = `${server}/a2a/${process.env.DORMOUSE_AGENT ?? 'shop-desk'}/`;
const client = await new ClientFactory().createFromUrl(agent).catch((e) => {
  console.error(`There is no agent at ${agent}: ${e.cause?.message ?? e.message}. Is dormouse running, with this agent?`);
  process.exit(1);
});
const terminal = createInterface({ input: process.stdin });
const lines = terminal[Symbol.asyncIterator]();

let task = await send([text(process.argv.slice(2).join(' ') || 'Please refund order A-17')]);
while (task.status.state === TaskState.TASK_STATE_INPUT_REQUIRED) {
  const questions = task.status.message.parts.filter((part) => part.content.$case === 'data').map((part) => part.content.value);
  const answers = [];
  for (const question of questions) answers.push(data(await ask(question)));
  task = await send(answers, { taskId: task.id, contextId: task.contextId });
}
terminal.close();
console.log(`\n${TaskState[task.status.state]}`);
process.exitCode = task.status.state === TaskState.TASK_STATE_COMPLETED ? 0 : 1;

// send returns the task as it is when the stream ends: the agent is done, or waits for an answer.
async function send(parts, about) {
  const message = { messageId: randomUUID(), contextId: '', taskId: '', role: Role.ROLE_USER, parts, metadata: undefined, extensions: [], referenceTaskIds: [], ...about };
  let task;
  for await (const { payload } of client.sendMessageStream({ tenant: '', message, configuration: undefined, metadata: undefined })) {
    if (payload.$case === 'task') task = payload.value;
    if (payload.$case === 'statusUpdate') task.status = payload.value.status;
    if (payload.$case === 'artifactUpdate') process.stdout.write((payload.value.append ? '' : '\n') + payload.value.artifact.parts.map((part) => part.content.value).join(''));
  }
  return task;
}

async function ask({ decisionId, kind, toolName, input, message }) {
  console.log(`\n${message} ${toolName ?? ''} ${JSON.stringify(input) ?? ''}`);
  if (kind === 'approval') return { decisionId, approved: (await line('Approve? [yes/no] ', (said) => /^(yes|no)$/.test(said))) === 'yes' };
  return { decisionId, result: JSON.parse(await line('Result, as JSON: ', isJSON)) };
}

async function line(prompt, wanted) {
  for (;;) {
    process.stdout.write(prompt);
    const { value, done } = await lines.next();
    if (done) {
      console.log('\nNo answer: the agent waits for one.');
      process.exit(1);
    }
    if (wanted(value)) return value;
  }
}

function isJSON(said) {
  try {
    JSON.parse(said);
    return true;
  } catch {
    return false;
  }
}

function text(value) {
  return { content: { $case: 'text', value }, mediaType: '', filename: '', metadata: undefined };
}

function data(value) {
  return { content: { $case: 'data', value }, mediaType: '', filename: '', metadata: undefined };
}
