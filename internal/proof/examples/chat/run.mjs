// Starts the agent of examples/shop-desk and plays every client of it: node run.mjs PROGRAM BROWSER, with the dormouse command and
// Chromium; names of examples after them play these alone. With PICTURES=DIR, pictures of the pages are kept there.
import { serve } from './servers.mjs';
import { playCases } from '../../clients/harness.mjs';
import { a2aCases } from './a2a.mjs';
import { mcpCases } from './mcp.mjs';
import { openBrowser, pageCases } from './pages.mjs';

const [program, chromium, ...only] = process.argv.slice(2);
const servers = await serve(program);
const browser = await openBrowser(chromium);
const clients = {
  'mcp-client': mcpCases(servers),
  'a2a-client': a2aCases(servers),
  'chat-nextjs': pageCases(browser, servers, nextPage(servers)),
  'chat-copilotkit': pageCases(browser, servers, copilotPage(servers)),
};
let failed = 0;
try {
  for (const name of only.length ? only : Object.keys(clients)) {
    failed += await playCases(name, clients[name], 180_000); // the first view of a page waits until it is compiled
  }
} finally {
  await browser.close();
  servers.stop(failed > 0);
}
process.exit(failed ? 1 : 0);

function nextPage({ next, dormouse }) {
  return { name: 'chat-nextjs', url: next, box: (page) => page.getByLabel('Message'), chat: (page) => new URL(page.url()).pathname.split('/').at(-1), calls: (to) => to.startsWith(`${next}/api/chat`), never: dormouse };
}

function copilotPage({ copilot, dormouse }) {
  return { name: 'chat-copilotkit', url: copilot, box: (page) => page.getByRole('textbox'), chat: (page) => new URL(page.url()).searchParams.get('thread'), calls: (to) => to.startsWith(`${dormouse}/copilotkit/agent/`) };
}
