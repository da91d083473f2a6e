// Runs cases one after the other against a server, one line for each, and sets the exit code. close is called when all have ended.
import assert from 'node:assert/strict';

export { assert };

export async function runCases(name, cases, close) {
  const failed = await playCases(name, cases);
  await close?.();
  process.exit(failed ? 1 : 0);
}

// playCases returns how many failed.
export async function playCases(name, cases, limit = 30_000) {
  let failed = 0, passedOver = 0;
  for (const [title, play] of Object.entries(cases)) {
    if (play.live && process.argv[3] === 'committed') {
      passedOver++;
      console.log(`--    ${name}: ${title}: not run: text arrives in whole steps here`);
      continue;
    }
    try {
      await withLimit(play(), limit);
      console.log(`ok    ${name}: ${title}`);
    } catch (e) {
      failed++;
      console.log(`FAIL  ${name}: ${title}\n${e.stack ?? e}`);
    }
  }
  console.log(`${name}: ${Object.keys(cases).length - failed - passedOver} passed, ${failed} failed`);
  return failed;
}

// live is a case that needs text to arrive while the model writes it. With the argument "committed", where it arrives in whole
// steps, such a case is not run.
export const live = (play) => Object.assign(play, { live: true });

function withLimit(promise, ms) {
  let timer;
  const limit = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`not over after ${ms} ms`)), ms); });
  return Promise.race([promise, limit]).finally(() => clearTimeout(timer));
}

// until polls a condition that a client reaches on its own, such as a status that it shows.
export async function until(what, holds) {
  for (;;) {
    if (await holds()) return;
    await new Promise((next) => setTimeout(next, 5));
  }
}

export const api = (url) => async (path, body, method) => {
  const r = await fetch(url + path, { method: method ?? (body ? 'POST' : 'GET'), headers: { 'content-type': 'application/json', accept: 'application/json' }, body: body && JSON.stringify(body) });
  const text = await r.text();
  return { status: r.status, body: text && JSON.parse(text) };
};
