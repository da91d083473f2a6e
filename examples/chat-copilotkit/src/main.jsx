import { createRoot } from 'react-dom/client';
import { CopilotChat, CopilotKitProvider, useAgent, useConfigureSuggestions, useDefaultRenderTool, useHumanInTheLoop, useInterrupt } from '@copilotkit/react-core/v2';
import '@copilotkit/react-core/v2/styles.css';
import './main.css';
import { z } from 'zod';

const dormouse = import.meta.env.VITE_DORMOUSE_URL ?? 'http://127.0.0.1:8420';
const desk = import.meta.env.VITE_DORMOUSE_AGENT ?? 'shop-desk';

// The address names the conversation: opened again, it shows the conversation as it is.
const address = new URL(location);
const thread = address.searchParams.get('thread') ?? crypto.randomUUID();
address.searchParams.set('thread', thread);
history.replaceState(null, '', address);

function Chat() {
  // Approvals are interrupts. resolve runs the agent again, with the answer.
  useInterrupt({
    enabled: ({ value }) => value.reason === 'tool_call',
    render: ({ interrupt, resolve }) => (
      <section className="card asks" aria-label="Approval">
        <p><strong>{interrupt.message}</strong></p>
        <Call name={interrupt.metadata.dormouse.tool_name} parameters={interrupt.metadata.dormouse.arguments} />
        <p>
          <button className="main" onClick={() => resolve({ approved: true })}>Approve</button>
          <button onClick={() => resolve({ approved: false })}>Deny</button>
        </p>
      </section>
    ),
  });

  // The agent's client tool choose_order runs in this page: what the user presses is its result.
  useHumanInTheLoop({
    name: 'choose_order',
    description: 'Lets the customer choose one of several orders.',
    parameters: z.object({ orders: z.array(z.string()) }),
    render: ({ status, args, respond, result }) => (
      <section className={respond ? 'card asks' : 'card'} aria-label="Choice of an order">
        {status === 'complete'
          ? <p>Chosen: {JSON.parse(result).order}</p>
          : <p>{args.orders?.map((order) => <button key={order} disabled={!respond} onClick={() => respond({ order })}>{order}</button>)}</p>}
      </section>
    ),
  });

  useDefaultRenderTool({
    render: ({ name, parameters, result }) => (
      <section className="card" aria-label={`Call of ${name}`}>
        <Call name={name} parameters={parameters} />
        <p className="state">{result ?? 'not run yet'}</p>
      </section>
    ),
  });

  useConfigureSuggestions({
    available: 'before-first-message',
    suggestions: ['Please refund order A-17', 'I want a refund', 'What is your return policy?'].map((message) => ({ title: message, message })),
  });

  const { agent } = useAgent();
  const named = { sendButton: { 'aria-label': agent.isRunning ? 'Stop' : 'Send' }, addMenuButton: { 'aria-label': 'More' } };
  return <CopilotChat threadId={thread} input={named} />;
}

function Call({ name, parameters }) {
  const written = Object.entries(parameters ?? {}).map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  return <p><code><strong>{name}</strong> {written.join(' ')}</code></p>;
}

createRoot(document.getElementById('root')).render(
  <CopilotKitProvider runtimeUrl={`${dormouse}/copilotkit`} agentId={desk} enableInspector={false}>
    <main>
      <h1>{desk}</h1>
      <Chat />
    </main>
  </CopilotKitProvider>,
);
