// The unmodified MCP clients: the one of revision 2026-07-28, and the older SDK. answer is asked in place of the user; a client without one
// can't ask.
import * as modern from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const named = { name: 'test', version: '1.0.0' };
const at = (url) => new URL(`${url}/mcp`);

export async function connectModern(url, answer, options = { versionNegotiation: { mode: 'auto' } }) {
  const client = new modern.Client(named, { capabilities: answer ? { elicitation: { form: {} } } : {}, ...options });
  if (answer) client.setRequestHandler('elicitation/create', (r) => answer(r.params));
  await client.connect(new modern.StreamableHTTPClientTransport(at(url)));
  return client;
}

export async function connectOld(url, answer) {
  const client = new OldClient(named, { capabilities: answer ? { elicitation: {} } : {} });
  if (answer) client.setRequestHandler(ElicitRequestSchema, (r) => answer(r.params));
  await client.connect(new OldTransport(at(url)));
  return client;
}

export const text = (result) => result.content.map((part) => part.text).join('\n');

// outputOf is what the run of a result said last; empty if it isn't over.
export const outputOf = (result) => (result && !result.structuredContent?.pending?.length ? text(result) : '');
