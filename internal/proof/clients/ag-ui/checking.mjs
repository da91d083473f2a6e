// Holds all that a server sends against the client's own schemas, and the client's warnings against it.
import { assert } from '../harness.mjs';

// checking makes a fetch's responses checked: each event must fit the schemas and hold nothing that they don't name.
export function checking(EventSchemas) {
  const faults = [];

  function check(event) {
    const read = EventSchemas.safeParse(event);
    if (!read.success) faults.push(`${JSON.stringify(event)}: ${read.error.message}`);
    if (JSON.stringify(event).includes(':null')) faults.push(`a null in ${JSON.stringify(event)}`);
  }

  function response(r, events) {
    if (!r.ok || !r.body) return r;
    const decoder = new TextDecoder();
    let rest = '';
    const spy = new TransformStream({
      transform(piece, out) {
        rest += decoder.decode(piece, { stream: true });
        for (let at; (at = rest.indexOf('\n\n')) >= 0; rest = rest.slice(at + 2)) {
          const line = rest.slice(0, at);
          if (!line.startsWith('data: ')) continue;
          const event = JSON.parse(line.slice(6));
          events?.push(event);
          check(event);
        }
        out.enqueue(piece);
      },
    });
    return new Response(r.body.pipeThrough(spy), { status: r.status, headers: r.headers });
  }

  // each fails a case, too, at a fault or at a warning of the client.
  function each(cases) {
    const warned = [];
    console.warn = (...words) => warned.push(words.join(' '));
    console.error = () => {};
    return Object.fromEntries(Object.entries(cases).map(([title, play]) => [title, Object.assign(async () => {
      faults.length = warned.length = 0;
      await play();
      assert.deepEqual(faults, []);
      assert.deepEqual(warned, []);
    }, { live: play.live })]));
  }

  return { response, each };
}
