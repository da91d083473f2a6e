// The official client, started with the configuration of examples/mcp-client.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { assert } from '../../clients/harness.mjs';
import { examples } from './servers.mjs';

export function mcpCases({ dormouse }) {
  const { mcpServers } = JSON.parse(readFileSync(join(examples, 'mcp-client/.mcp.json'), 'utf8'));

  // connect uses what the file says, but for the port: this test's server has a free one.
  async function connect(options, answer) {
    const [{ type, url, headers }] = Object.values(mcpServers);
    assert.equal(type, 'http');
    assert.equal(new URL(url).host, '127.0.0.1:8420');
    const client = new Client({ name: 'test', version: '1.0.0' }, options);
    if (answer) client.setRequestHandler('elicitation/create', answer);
    await client.connect(new StreamableHTTPClientTransport(new URL(new URL(url).pathname, dormouse), { requestInit: { headers } }));
    return client;
  }

  const text = (result) => result.content.map((part) => part.text).join('\n');

  return {
    async 'the agent is a tool; a client that can ask its user gets the approval as a question'() {
      const asked = [];
      const client = await connect({ capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: 'auto' } }, ({ params }) => {
        asked.push(params.message);
        return { action: 'accept', content: { approved: true } };
      });
      assert.ok((await client.listTools()).tools.some((tool) => tool.name === 'shop-desk'));
      const result = await client.callTool({ name: 'shop-desk', arguments: { input: 'Please refund order A-17' } });
      assert.equal(text(result), 'Done. $120 for order A-17 is on its way to you.');
      assert.equal(asked.length, 1);
      await client.close();
    },
    async 'another client lists what waits, and decides'() {
      const client = await connect({});
      const waits = await client.callTool({ name: 'shop-desk', arguments: { input: 'Please refund order A-17' } });
      const { run_id } = waits._meta['dormouse.dev/run'];
      const listed = (await client.callTool({ name: 'list_approvals', arguments: {} })).structuredContent.items.find((item) => item.run_id === run_id);
      assert.deepEqual(listed.arguments, { order: 'A-17', amount: 120 });
      await client.callTool({ name: 'decide', arguments: { run_id, target: listed.suspension.id, action: 'resume', shown: listed.fingerprint ?? listed.suspension.fingerprint } });
      const done = (await client.callTool({ name: 'get_run', arguments: { run_id, wait: 20 } })).structuredContent;
      assert.equal(done.output, 'Done. $120 for order A-17 is on its way to you.');
      await client.close();
    },
  };
}
