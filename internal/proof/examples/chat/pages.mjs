// What a person does in the chat pages, in Chromium. The pages differ in their framework alone.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { api, assert, until } from '../../clients/harness.mjs';

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

export function openBrowser(executablePath) {
  const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync',
    '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost'];
  return chromium.launch({ executablePath, args });
}

export function pageCases(browser, { dormouse }, { name, url, box, chat, calls, never }) {
  const call = api(dormouse);
  const policy = /^You can return anything.*the answer waits for you\.$/;

  // visit opens a new conversation. What goes wrong in the page fails the case.
  async function visit(play, options = {}) {
    const context = await browser.newContext({ viewport: { width: 820, height: 760 }, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(120_000);
    const wrong = [], sent = [], began = Date.now();
    page.on('pageerror', (e) => wrong.push(e.message));
    page.on('console', (m) => { if (m.type() === 'error') wrong.push(m.text()); });
    page.on('request', (r) => {
      if (calls(r.url())) sent.push(`${r.method()} ${new URL(r.url()).pathname}`);
      if (never && r.url().startsWith(never)) wrong.push(`the page called ${r.url()}`);
    });
    try {
      await ready(page, page.goto(url));
      await play(page, sent);
      assert.deepEqual(wrong, []);
    } catch (e) {
      await picture(page, `failed-${began}`);
      e.message += `\nsent: ${sent.join(', ')}\nshown: ${await page.locator('main').innerText().catch(String)}`;
      throw e;
    } finally {
      await context.close();
    }
  }

  // ready waits until the page has asked for what is under way. It can do nothing earlier: CopilotKit leaves a message in its box.
  const ready = (page, opened) => Promise.all([page.waitForResponse((r) => /\/(stream|connect)$/.test(r.url())), opened]);

  async function say(page, words) {
    await box(page).fill(words);
    await page.keyboard.press('Enter');
  }

  const picture = async (page, of) => process.env.PICTURES && page.screenshot({ path: join(process.env.PICTURES, `${name}-${of}.png`) });
  const approve = (page) => page.getByRole('button', { name: 'Approve' });
  const shown = async (page, text) => { await page.getByText(text).first().waitFor(); assert.equal(await page.getByText(text).count(), 1, `${text} is shown more than once`); };
  const run = async (page) => (await call(`/v1/runs/${(await call(`/v1/threads?key=${chat(page)}`)).body.run_id}`)).body;
  const refunds = async (page) => (await call(`/v1/runs/${(await run(page)).id}/calls`)).body.items.filter((c) => c.tool_name === 'issue_refund' && c.outcome === 'succeeded').length;

  async function accessible(page) {
    await page.addScriptTag({ path: axe });
    const { violations } = await page.evaluate(() => globalThis.axe.run('main', { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] }));
    assert.deepEqual(violations.map((v) => [v.id, v.nodes.map((n) => n.html)]), []);
  }

  return {
    'a text appears while it is written': () => visit(async (page) => {
      await picture(page, 'empty');
      await accessible(page);
      await say(page, 'What is your return policy?');
      await page.getByText('You can return anything').waitFor();
      assert.equal(await page.getByText(policy).count(), 0);
      await shown(page, policy);
    }),
    'a page that is reloaded while a text is written shows all of it': () => visit(async (page) => {
      await say(page, 'What is your return policy?');
      await page.getByText('You can return anything').waitFor();
      await ready(page, page.reload());
      await page.getByText('You can return anything').waitFor();
      await shown(page, policy);
      await shown(page, 'What is your return policy?');
    }),
    'a refund waits for approval, and is approved with the keyboard': () => visit(async (page, sent) => {
      await say(page, 'Please refund order A-17');
      await approve(page).waitFor();
      await page.getByText('amount=120').first().waitFor();
      await picture(page, 'approval');
      await accessible(page);
      const before = sent.length;
      await approve(page).focus();
      await page.keyboard.press('Enter');
      await shown(page, 'Done. $120 for order A-17 is on its way to you.');
      assert.equal(await approve(page).count(), 0);
      assert.equal(sent.length - before, 1, sent.join());
      assert.equal(await refunds(page), 1);
      await picture(page, 'approved');
      await accessible(page);
    }),
    'a question is still there after a reload, and is denied': () => visit(async (page) => {
      await say(page, 'Please refund order A-17');
      await approve(page).waitFor();
      await ready(page, page.reload());
      await page.getByRole('button', { name: 'Deny' }).click();
      await shown(page, "I'm sorry, this order was not refunded.");
      assert.equal(await refunds(page), 0);
      await picture(page, 'denied');
    }),
    'a question that was answered elsewhere shows what became of it': () => visit(async (page) => {
      await say(page, 'Please refund order A-17');
      await approve(page).waitFor();
      const [asked] = (await run(page)).pending;
      assert.equal((await call(`/v1/suspensions/${asked.suspension.id}`, { action: 'cancel', reason: 'no' })).status, 202);
      await approve(page).click();
      await shown(page, "I'm sorry, this order was not refunded.");
      assert.equal(await refunds(page), 0);
    }),
    'the page runs the tool that lets the user choose': () => visit(async (page) => {
      await say(page, 'I want a refund');
      await page.getByRole('button', { name: 'B-02' }).waitFor();
      await picture(page, 'choice');
      await ready(page, page.reload());
      await page.getByRole('button', { name: 'B-02' }).click();
      await shown(page, 'Done. $40 for order B-02 is on its way to you.');
      assert.equal(await refunds(page), 1);
      await ready(page, page.reload());
      await shown(page, 'Done. $40 for order B-02 is on its way to you.');
      await picture(page, 'chosen');
    }),
    'a run is stopped': () => visit(async (page) => {
      await say(page, 'What is your return policy?');
      await page.getByText('You can return anything').waitFor();
      await page.getByRole('button', { name: /stop/i }).click();
      await until('the end', async () => (await run(page)).status === 'done');
      assert.equal((await run(page)).reason, 'cancelled');
      await picture(page, 'stopped');
    }),
    'a narrow window and dark colors': () => visit(async (page) => {
      await say(page, 'Please refund order A-17');
      await approve(page).waitFor();
      await picture(page, 'phone');
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the page is wider than the window');
      await accessible(page);
    }, { viewport: { width: 390, height: 844 }, colorScheme: 'dark' }),
  };
}
