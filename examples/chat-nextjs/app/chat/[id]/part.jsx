// Part shows one part of a message. The types of tool parts are "tool-" and the name of the agent's tool.
export function Part({ part, chat }) {
  switch (true) {
    case part.type === 'text':
      return <p className="text">{part.text}</p>;
    case part.type === 'tool-choose_order' && part.state === 'input-available':
      return <Choice part={part} chat={chat} />;
    case part.type.startsWith('tool-'):
      return part.state === 'approval-requested' ? <Approval part={part} chat={chat} /> : <Call part={part} />;
    case part.type === 'data-input-request': // answered by the next message
      return part.data.message ? <p className="question">{part.data.message}</p> : null;
    case part.type === 'data-run':
      return <p className="outcome">{outcomes[part.data.reason] ?? `Ended: ${part.data.reason}`}</p>;
    default:
      return null;
  }
}

const outcomes = { natural_end: 'Completed', cancelled: 'Stopped', error: 'Failed' };

function Approval({ part, chat }) {
  const answer = (approved) => chat.addToolApprovalResponse({ id: part.approval.id, approved });
  return (
    <section className="card asks" aria-label={`Approval of ${part.type.slice(5)}`}>
      <p><strong>{part.approval.requestReason ?? 'Approve this call?'}</strong></p>
      <Arguments part={part} />
      <p className="buttons">
        <button className="main" onClick={() => answer(true)}>Approve</button>
        <button onClick={() => answer(false)}>Deny</button>
      </p>
    </section>
  );
}

function Choice({ part, chat }) {
  const choose = (order) => chat.addToolOutput({ tool: 'choose_order', toolCallId: part.toolCallId, output: { order } });
  return (
    <section className="card asks" aria-label="Choice of an order">
      <p><strong>Which order?</strong></p>
      <p className="buttons">
        {part.input.orders.map((order) => <button key={order} onClick={() => choose(order)}>{order}</button>)}
      </p>
    </section>
  );
}

const states = { 'approval-responded': 'answered', 'output-available': 'done', 'output-denied': 'denied', 'output-error': 'failed' };

function Call({ part }) {
  const result = part.output ?? part.errorText;
  return (
    <section className="card" aria-label={`Call of ${part.type.slice(5)}`}>
      <Arguments part={part} />
      <p className={`state ${part.state}`}>
        {states[part.state] ?? 'running'}{result !== undefined && <>: <code>{written(result)}</code></>}
      </p>
    </section>
  );
}

function Arguments({ part }) {
  return (
    <p>
      <code><strong>{part.type.slice(5)}</strong> {Object.entries(part.input ?? {}).map(([name, value]) => `${name}=${written(value)}`).join(' ')}</code>
    </p>
  );
}

const written = (value) => (typeof value === 'string' ? value : JSON.stringify(value));
