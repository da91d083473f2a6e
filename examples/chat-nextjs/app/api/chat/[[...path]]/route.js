import { dormouse } from '../../../../lib/dormouse';

// Passes on the requests of useChat: /api/chat is a message or an answer, /api/chat/ID/stream shows the answer under way, and
// /api/chat/ID/stop cancels the run. In an application with users, check here that the chat is one of the caller's.
async function forward(request, { params }) {
  const { path = [] } = await params;
  try {
    const answer = await dormouse(path.map((part) => `/${encodeURIComponent(part)}`).join(''), {
      method: request.method,
      body: request.method === 'POST' ? await request.text() : undefined,
      signal: request.signal,
    });
    const headers = { 'Content-Type': answer.headers.get('Content-Type') ?? 'text/plain', 'Cache-Control': 'no-cache, no-transform' };
    return new Response(answer.body, { status: answer.status, headers });
  } catch {
    return new Response('The agent cannot be reached. Is dormouse running?', { status: 502 });
  }
}

export { forward as GET, forward as POST };
