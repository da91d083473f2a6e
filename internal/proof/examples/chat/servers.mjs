// The servers that the README files of the examples start, on free ports.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

export const examples = resolve(import.meta.dirname, '../../../../examples');

export async function serve(program) {
  const data = mkdtempSync(join(tmpdir(), 'examples-'));
  const started = [];
  const start = (name, command, args, options) => {
    const server = { name, said: '', process: spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options }) };
    for (const out of [server.process.stdout, server.process.stderr]) out.on('data', (text) => { server.said += text; });
    started.push(server);
    return server;
  };
  const stop = (show) => {
    for (const { name, said, process: server } of started) {
      if (show) console.log(`${name} said:\n${said.replace(/.*level=INFO.*\n/g, '')}`);
      server.kill();
    }
    rmSync(data, { recursive: true, force: true });
  };

  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => { stop(false); process.exit(1); });
  try {
    const [nextPort, copilotPort] = [await freePort(), await freePort()];
    const copilot = `http://localhost:${copilotPort}`;
    const agent = start('dormouse', program, ['dev', '--agents', join(examples, 'shop-desk'), ...originOfReadme(copilot), '--addr', '127.0.0.1:0', '--data', data, '--json'], { env: { ...process.env, DORMOUSE_TOKEN: '' } });
    await until(agent, () => /"url":"[^"]+"/.test(agent.said));
    const [, dormouse] = /"url":"([^"]+)"/.exec(agent.said);

    const env = { ...process.env, DORMOUSE_URL: dormouse, VITE_DORMOUSE_URL: dormouse, NEXT_TELEMETRY_DISABLED: '1' };
    const next = start('next', 'node_modules/.bin/next', ['dev', '--port', nextPort], { cwd: join(examples, 'chat-nextjs'), env });
    const vite = start('vite', 'node_modules/.bin/vite', ['--port', copilotPort, '--strictPort'], { cwd: join(examples, 'chat-copilotkit'), env });
    await until(next, async () => (await fetch(`http://127.0.0.1:${nextPort}/icon.svg`).catch(() => ({}))).ok);
    await until(vite, () => /ready in/.test(vite.said));
    return { dormouse, next: `http://localhost:${nextPort}`, copilot, stop };
  } catch (e) {
    stop(true);
    throw e;
  }
}

// originOfReadme is the flag with which the README has pages of another origin allowed, for the port of this test.
function originOfReadme(origin) {
  const [, flag, named] = /(--cors-origin) (\S+)/.exec(readFileSync(join(examples, 'chat-copilotkit/README.md'), 'utf8'));
  const { scripts } = JSON.parse(readFileSync(join(examples, 'chat-copilotkit/package.json'), 'utf8'));
  if (!scripts.dev.includes(`--port ${new URL(named).port} `)) throw new Error(`the README allows ${named}, but the page is served by ${scripts.dev}`);
  return [flag, origin];
}

async function until(server, holds) {
  for (const end = Date.now() + 120_000; !await holds();) {
    if (Date.now() > end || server.process.exitCode !== null) throw new Error(`${server.name} does not start`);
    await new Promise((next) => setTimeout(next, 20));
  }
}

function freePort() {
  return new Promise((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(String(port)));
    });
  });
}
