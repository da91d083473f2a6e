// Kills a server with SIGKILL at chosen moments, starts it again on the same data and port, and has a stock client reconnect the way that
// client does. What it shows must then be whole and there once, every call must have had its effect once, and every answer must count once.
//
// A client is given as an object, a page:
//
//	say(words)       sends a message, again if it was sent before; ends when the client is done with it or has lost its server
//	reconnect()      what the client does then; ends when it shows all that the server knows
//	questions()      the open ones that it shows, each {id, kind}
//	answer(q, yes)   answers an approval; ends like say
//	picks()          with the option picks: whether a call waits for a result of the client
//	pick(thing)      answers such a call; ends like say
//	text(), users()  the answer that it shows, and how many messages of the user; a client that shows no messages has no users
//	output           whether text is only what the run said last
//	live             whether it shows text before the end of its step
//	run()            the id of the run, by the API; undefined if there is none
//	reopened()       another page that is opened on the same conversation
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { api, assert, runCases, until } from './harness.mjs';

const story = 'Once upon a time a dormouse fell asleep in a teapot, and no process was running while it slept. Months later someone lifted the lid and said yes. It woke, looked around, went on exactly where it had stopped, and had tea.';

// Server is one that can be killed, with a gate that holds its tools.
class Server {
  data = mkdtempSync(join(tmpdir(), 'desk-'));
  port = 0;
  held = undefined; // the path that the gate holds, and what to call when a tool is there

  constructor(program) { this.program = program; }

  async open() {
    this.gate = createServer((request, answer) => {
      if (request.url !== this.held?.path) return answer.end();
      this.held.arrived();
      this.held = undefined; // what arrives is killed; it passes when it comes again
    });
    this.gate.listen(0, '127.0.0.1');
    await once(this.gate, 'listening');
    await this.start();
  }

  // holds waits for a tool to arrive at the gate.
  holds(path) { return new Promise((arrived) => { this.held = { path, arrived }; }); }

  async start() {
    const env = { ...process.env, DORMOUSE_TOKEN: '', DESK_GATE: `http://127.0.0.1:${this.gate.address().port}` };
    this.process = spawn(this.program, ['dev', '--addr', `127.0.0.1:${this.port}`, '--data', this.data, '--agents', '../agents', '--json'], { stdio: ['ignore', 'pipe', 'ignore'], env });
    const [line] = await Promise.race([once(this.process.stdout, 'data'), once(this.process, 'exit').then(() => assert.fail('the server does not start'))]);
    this.url = JSON.parse(line).url;
    this.port = new URL(this.url).port;
  }

  async kill() {
    const gone = once(this.process, 'exit');
    this.process.kill('SIGKILL');
    await gone;
  }

  async close() {
    await this.kill();
    this.gate.close();
    rmSync(this.data, { recursive: true });
  }

  // lines are those of a ledger with this number.
  lines(file, member, number) {
    const path = join(this.data, file);
    if (!existsSync(path)) return [];
    return readFileSync(path, 'utf8').split('\n').filter((line) => line && JSON.parse(line)[member] === number);
  }

  // effects is how often a call had its effect.
  effects(tool, number) {
    return tool === 'pay' ? this.lines('payments.jsonl', 'amount', number) : this.lines('shipments.jsonl', 'order', number);
  }
}

// seeded is a source of numbers below most, the same for the same seed (mulberry32).
function seeded(seed) {
  let state = seed;
  return (most) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % most;
  };
}

// Judge knows from the API what became of a run.
class Judge {
  constructor(server) { this.server = server; }

  call(...request) { return api(this.server.url)(...request); }

  async events(run) {
    const all = [];
    for (let after = ''; ;) {
      const { body } = await this.call(`/v1/runs/${run}/events?limit=200${after && `&after=${encodeURIComponent(after)}`}`);
      all.push(...body.items);
      if (body.items.length === 0) return all;
      after = body.next;
    }
  }

  // whole holds the journal and the page against what must have been said and decided.
  async whole(page, { text, decided }) {
    const run = await page.run();
    await until('the end', async () => (await this.call(`/v1/runs/${run}`)).body.status === 'done');
    const shown = [page.output ? text.split('|').at(-1) : text, page.users ? 1 : undefined];
    assert.deepEqual([page.text(), page.users?.()], shown);
    assert.deepEqual(page.questions(), []);
    const events = await this.events(run);
    assert.equal(events.filter((e) => e.type === 'message.received').length, 1);
    assert.equal(events.filter((e) => e.type === 'decision.recorded' && e.data.applied).length, decided);
    const other = await page.reopened();
    assert.deepEqual([other.text(), other.users?.()], shown);
  }
}

// runCrashes plays all cases with the pages of each kind that opens makes. The seed is that of the moments; DESK_SEED repeats one.
export async function runCrashes(name, program, opens, { rounds = 6, picks = false } = {}) {
  const seed = Number(process.env.DESK_SEED ?? Math.floor(Math.random() * 2 ** 31));
  console.log(`${name}: seed ${seed}`);
  process.on('unhandledRejection', () => {}); // of clients whose connection was cut; what they show is judged
  const server = new Server(program);
  await server.open();
  process.on('exit', () => server.process.kill('SIGKILL'));
  const cases = Object.entries(opens).map(([kind, open]) => crashCases(kind, server, open, seeded(seed), rounds, picks));
  await runCases(`${name}, killed`, Object.assign({}, ...cases), () => server.close());
}

let numbers = 0;

function crashCases(kind, server, open, random, rounds, picks) {
  const judge = new Judge(server);

  // cut plays an act while the server is killed once moment has come, and lets the page reconnect.
  const cut = async (act, moment, page) => {
    const acted = act();
    await moment;
    await server.kill();
    await Promise.all([acted, server.start()]);
    await page.reconnect();
  };
  const after = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

  // midText waits until the page shows more than so many characters, or until the run works.
  const midText = async (page, size) => {
    await until('the text', async () => (page.live ? page.text().length > size : await page.run()));
    if (!page.live) await after(random(200));
  };
  // holds counts the effects of a call.
  const holds = (tool, number, times) => {
    const lines = server.effects(tool, number);
    assert.equal(lines.length, times, `${tool} ${number}: ${lines.join(' ')}`);
  };
  // heard makes sure that the server has the message, as a user does who sees that it wasn't sent.
  const heard = async (page, words) => { while (!await page.run()) { await page.say(words); await page.reconnect(); } };
  const resting = async (page) => {
    await until('rest', async () => ['waiting', 'done'].includes((await judge.call(`/v1/runs/${await page.run()}`)).body.status));
    await page.reconnect();
  };
  // settled answers whether a payment was made, as a person does who has looked.
  const settled = async (page, amount) => {
    const paid = server.effects('pay', amount).length > 0;
    for (const q of page.questions().filter((q) => q.kind === 'unknown_outcome')) {
      const sent = await judge.call(`/v1/suspensions/${q.id}`, paid ? { result: { paid: amount, to: 'Ann' } } : { action: 'resume' });
      assert.equal(sent.status, 202);
      await until('the answer', async () => !(await judge.call(`/v1/runs/${await page.run()}`)).body.pending.some((p) => p.suspension.id === q.id));
      await resting(page);
    }
  };

  const cases = {
    async [`${kind}in the middle of a text`]() {
      for (let cuts = 0; cuts < 3;) {
        const page = await open(server.url);
        const done = page.say('tell a story');
        await midText(page, random(150));
        const seen = page.text();
        await cut(() => done, undefined, page);
        if (seen === story) continue; // the machine was busy, and the text over
        cuts++;
        await resting(page);
        await judge.whole(page, { text: story, decided: 0 });
      }
    },
    async [`${kind}in a tool, before its effect and after it`]() {
      for (const stage of ['before', 'after']) {
        const order = ++numbers;
        const page = await open(server.url);
        await cut(() => page.say(`ship ${order}`), server.holds(`/ship/${stage}/${order}`), page);
        await resting(page);
        await judge.whole(page, { text: `Let me ship it.|Order ${order} is on its way.`, decided: 0 });
        holds('ship', order, 1);
      }
    },
    async [`${kind}in a tool that must not run twice, before its effect and after it`]() {
      for (const stage of ['before', 'after']) {
        const amount = 100 + ++numbers;
        const page = await open(server.url);
        await page.say(`pay ${amount}`);
        const [q] = page.questions();
        await cut(() => page.answer(q, true), server.holds(`/pay/${stage}/${amount}`), page);
        await resting(page);
        assert.deepEqual(page.questions().map((one) => one.kind), ['unknown_outcome']);
        holds('pay', amount, stage === 'after' ? 1 : 0);
        await settled(page, amount);
        await judge.whole(page, { text: `Let me pay.|Paid ${amount}.`, decided: 2 });
        holds('pay', amount, 1);
      }
    },
    async [`${kind}0 to 50 ms after each answer, ${rounds} times`]() {
      for (let round = 0; round < rounds; round++) {
        const pays = round % 2 === 1, yes = random(4) > 0;
        const number = ++numbers + (pays ? 100 : 1000);
        const words = `${pays ? 'pay' : 'ship'} ${number}`;
        const delays = [random(51), random(51)];
        const page = await open(server.url);
        try {
          await cut(() => page.say(words), after(delays[0]), page);
          await heard(page, words);
          await resting(page);
          let [q] = page.questions();
          assert.equal(q?.kind, 'approval');
          await cut(() => page.answer(q, yes), after(delays[1]), page);
          await resting(page);
          for (; (q = page.questions().find((one) => one.kind === 'approval')); await resting(page)) await page.answer(q, yes);
          const unknown = page.questions().length;
          await settled(page, number);
          const said = pays ? ['Let me pay.', `Paid ${number}.`, 'I did not pay.'] : ['Let me ship it.', `Order ${number} is on its way.`, 'I did not ship it.'];
          await judge.whole(page, { text: `${said[0]}|${said[yes ? 1 : 2]}`, decided: 1 + unknown });
          holds(pays ? 'pay' : 'ship', number, yes ? 1 : 0);
        } catch (e) {
          e.message = `${words}, killed ${delays[0]} ms after it and ${delays[1]} ms after the answer ${yes}: ${e.message}`;
          throw e;
        }
      }
    },
  };
  const picking = {
    async [`${kind}0 to 50 ms after the result of the client's tool, 2 times`]() {
      for (let round = 0; round < 2; round++) {
        const page = await open(server.url);
        await page.say('pick');
        await cut(() => page.pick('red'), after(random(51)), page);
        await resting(page);
        for (; page.picks(); await resting(page)) await page.pick('red');
        await judge.whole(page, { text: 'Please pick.|You picked red.', decided: 1 });
      }
    },
  };
  return { ...cases, ...(picks ? picking : {}) };
}
