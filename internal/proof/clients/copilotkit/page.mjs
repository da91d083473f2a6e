// Pages of the unmodified core of CopilotKit.
import { randomUUID } from 'node:crypto';
import { until } from '../harness.mjs';

globalThis.window = {}; // without one it does not look for the runtime
console.warn = () => {};
console.error = () => {};
const { CopilotKitCore, CopilotKitCoreRuntimeConnectionStatus, ɵInterruptState } = await import('@copilotkit/core');

export async function open(url, { transport = 'rest', threadId = randomUUID(), tools = [], name = 'desk' } = {}) {
  const errors = [];
  const core = new CopilotKitCore({ runtimeUrl: `${url}/copilotkit`, runtimeTransport: transport, tools });
  core.subscribe({ onError: ({ error, code }) => { errors.push([code, error.message]); } });
  await until('the runtime', () => core.runtimeConnectionStatus === CopilotKitCoreRuntimeConnectionStatus.Connected);
  const agent = core.getAgent(name);
  agent.threadId = threadId;
  const interrupts = new ɵInterruptState();
  agent.subscribe({ onRunFinishedEvent: (e) => { if (e.outcome === 'interrupt') interrupts.setStandard(e.interrupts); else interrupts.clear(); } });
  return { core, agent, errors, interrupts };
}

export const say = (page, content, id = randomUUID()) => {
  page.agent.addMessage({ id, role: 'user', content });
  return page.core.runAgent({ agent: page.agent });
};

// answer does what the hook useInterrupt does once the last question is answered: it makes a message of each answer, and runs again with the
// id of the run that asked.
export async function answer(page, decision) {
  if (decision.kind !== 'resume') return;
  for (const { toolCallId, content } of decision.toolResults) page.agent.addMessage({ id: randomUUID(), role: 'tool', toolCallId, content });
  await page.core.runAgent({ agent: page.agent, resume: decision.resume, runId: 'the-old-run' });
}

export const text = ({ agent }) => agent.messages.filter((m) => m.role === 'assistant' && m.content).map((m) => m.content).join('|');
