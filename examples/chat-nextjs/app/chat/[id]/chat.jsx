'use client';

import { useEffect, useRef, useState } from 'react';
import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls } from 'ai';
import { Part } from './part';

const suggestions = ['Please refund order A-17', 'I want a refund', 'What is your return policy?'];

// Dormouse knows the conversation and reads the last message only, so no other is sent.
const transport = new DefaultChatTransport({
  prepareSendMessagesRequest: ({ id, messages, trigger, messageId }) => ({ body: { id, messages: messages.slice(-1), trigger, messageId } }),
});

export function Chat({ id, agent, messages: stored }) {
  const [text, setText] = useState('');
  const chat = useChat({
    id,
    messages: stored,
    transport,
    resume: true, // shows the rest of an answer that is under way when the page is opened
    // Answers are sent when the last open question has one.
    sendAutomaticallyWhen: (state) => lastAssistantMessageIsCompleteWithApprovalResponses(state) || lastAssistantMessageIsCompleteWithToolCalls(state),
  });
  const { messages, status, error } = chat;
  const busy = status === 'submitted' || status === 'streaming';
  const last = messages.at(-1);
  const asks = last?.parts.some((part) => part.state === 'approval-requested' || (part.type === 'tool-choose_order' && part.state === 'input-available'));

  const log = useRef(null);
  useEffect(() => { log.current.scrollTop = log.current.scrollHeight; }, [messages]);

  function send(words) {
    if (!words.trim()) return;
    setText('');
    chat.sendMessage({ text: words });
  }

  return (
    <main>
      <h1>{agent}</h1>
      <section ref={log} className="log" role="log" aria-label="Conversation" aria-busy={busy} tabIndex={0}>
        {messages.length === 0 && <p className="hint">Ask for a refund, or about our return policy.</p>}
        {messages.map((message) => (
          <article key={message.id} className={message.role} aria-label={message.role === 'user' ? 'You' : agent}>
            {message.parts.map((part, i) => <Part key={i} part={part} chat={chat} />)}
          </article>
        ))}
        {status === 'submitted' && <p className="hint">One moment …</p>}
        {error && <p className="error" role="alert">{error.message} <button onClick={() => location.reload()}>Reload</button></p>}
      </section>
      {messages.length === 0 && (
        <p className="suggestions">
          {suggestions.map((words) => <button key={words} onClick={() => send(words)}>{words}</button>)}
        </p>
      )}
      <form onSubmit={(event) => { event.preventDefault(); send(text); }}>
        <label htmlFor="message">Message</label>
        <input id="message" value={text} onChange={(event) => setText(event.target.value)} autoComplete="off" disabled={asks} placeholder={asks ? 'Answer the question above first' : 'Please refund order A-17'} />
        {busy
          ? <button type="button" onClick={() => fetch(`/api/chat/${encodeURIComponent(id)}/stop`, { method: 'POST' })}>Stop</button>
          : <button className="main" disabled={asks || !text.trim()}>Send</button>}
      </form>
    </main>
  );
}
