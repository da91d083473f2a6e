// The AI SDK, whose server is killed. A page with the default transport resumes the stream, and reads the messages if nothing streams any
// more. One with the transport that counts chunks does nothing: that one goes on by itself, with a fetch that tries again while the server
// is away. Version 5 has no approvals: its page answers them at the address of the question, and resumes. It adds what is resumed to what it
// showed when its fetch failed, so that its page is loaded again.
import { randomUUID } from 'node:crypto';
import { api, assert, until } from '../harness.mjs';
import { runCrashes } from '../crashes.mjs';

export async function crash({ ai, Chat, WorkflowChatTransport, sdk, program }) {
  const headers = { 'X-AI-SDK-Version': String(sdk) };

  const plain = (base, fetch) => new ai.DefaultChatTransport({ api: base, headers, fetch });
  const counting = (base, fetch) => new WorkflowChatTransport({
    api: `${base}/workflow`,
    fetch: async (to, options) => {
      for (;;) {
        try {
          return await fetch(to, options);
        } catch {
          await new Promise((next) => { setTimeout(next, 10); });
        }
      }
    },
    prepareSendMessagesRequest: ({ id, messages }) => ({ body: { id, messages }, headers }),
  });

  const opens = (transport) => async function open(url, id = randomUUID(), messages = []) {
    const base = `${url}/ai-sdk/desk`;
    let shows = false; // whether what the page shows came to it whole
    const watched = async (to, options) => {
      const r = await fetch(to, options);
      shows = r.status === 200;
      return r;
    };
    const load = (shown) => new Chat({
      id,
      messages: shown,
      transport: transport(base, watched),
      sendAutomaticallyWhen: (state) => (ai.lastAssistantMessageIsCompleteWithApprovalResponses?.(state) ?? false) || ai.lastAssistantMessageIsCompleteWithToolCalls(state),
      onError: () => {},
    });
    let chat = load(messages);
    const last = () => (chat.lastMessage?.role === 'assistant' ? chat.lastMessage : undefined);
    const said = (m) => m?.parts.filter((p) => p.type === 'text').map((p) => p.text).join('|') ?? '';
    const rests = async () => {
      let quiet = 0;
      await until('rest', () => (quiet = chat.status === 'ready' || chat.status === 'error' ? quiet + 1 : 0) > 3);
    };
    const stored = async () => {
      const r = await fetch(`${base}/${id}/messages`, { headers });
      return r.ok ? r.json() : [];
    };
    return {
      async say(words) {
        await chat.sendMessage(chat.messages.length > 0 ? undefined : { text: words });
        await rests();
      },
      async reconnect() {
        if (sdk < 6) chat = load(await stored());
        if (transport === plain) await chat.resumeStream();
        await rests();
        assert.equal(chat.error, undefined);
        const messages = await stored();
        if (shows) assert.equal(said(last()), said(messages.at(-1)));
        shows = false;
        if (messages.length > 0) chat.messages = messages;
      },
      questions() {
        const open = new Map(); // by call: of its questions, the last
        for (const p of last()?.parts ?? []) {
          if (p.type === 'data-input-request') open.set(p.data.toolCallId, { id: p.data.suspension, kind: p.data.kind });
          if (p.state === 'approval-requested') open.set(p.toolCallId, { id: p.approval.id, kind: 'approval' });
        }
        for (const p of last()?.parts ?? []) if (p.state?.startsWith('output-') && !p.preliminary) open.delete(p.toolCallId);
        return [...open.values()];
      },
      async answer(q, approved) {
        if (sdk >= 6) await chat.addToolApprovalResponse({ id: q.id, approved });
        else if (await api(url)(`/v1/suspensions/${q.id}`, { action: approved ? 'resume' : 'cancel' }).catch(() => {})) await chat.resumeStream();
        await rests();
      },
      picks: () => last()?.parts.some((p) => p.type === 'tool-pick' && p.state === 'input-available') ?? false,
      async pick(picked) {
        const { toolCallId } = last().parts.find((p) => p.type === 'tool-pick');
        await chat.addToolOutput({ tool: 'pick', toolCallId, output: { picked } });
        await rests();
      },
      text: () => said(last()),
      users: () => chat.messages.filter((m) => m.role === 'user').length,
      run: async () => (await api(url)(`/v1/threads?key=${id}`)).body.run_id,
      live: transport === plain,
      async reopened() { return open(url, id, await stored()); },
    };
  };

  await runCrashes(`ai ${sdk}`, program, WorkflowChatTransport ? { '': opens(plain), 'counting chunks, ': opens(counting) } : { '': opens(plain) }, { picks: true });
}
