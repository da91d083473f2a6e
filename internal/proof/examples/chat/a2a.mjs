// The client of examples/a2a-client, as it is started at a terminal.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { assert } from '../../clients/harness.mjs';
import { examples } from './servers.mjs';

export function a2aCases({ dormouse }) {
  // converse answers the client's prompts, one after the other.
  async function converse(words, ...answers) {
    const client = spawn('npm', ['-s', 'start', '--', words], { cwd: join(examples, 'a2a-client'), env: { ...process.env, DORMOUSE_URL: dormouse }, stdio: ['pipe', 'pipe', 'inherit'] });
    client.stdin.end(answers.map((a) => `${a}\n`).join(''));
    let said = '';
    client.stdout.on('data', (text) => { said += text; });
    const code = await new Promise((done) => client.on('close', done));
    return { code, said };
  }

  return {
    async 'an approval'() {
      const { code, said } = await converse('Please refund order A-17', 'yes');
      assert.match(said, /issue_refund \{"amount":120,"order":"A-17"\}\nApprove\? .*\nDone\. \$120 for order A-17 is on its way to you\.\nTASK_STATE_COMPLETED/s);
      assert.equal(code, 0);
    },
    async 'a denial'() {
      const { said } = await converse('Please refund order A-17', 'what?', 'no');
      assert.match(said, /I'm sorry, this order was not refunded\./);
    },
    async 'a tool of the client'() {
      const { said } = await converse('I want a refund', 'B-02', '{"order":"B-02"}');
      assert.match(said, /choose_order \{"orders":\["A-17","B-02"\]\}.*Done\. \$40 for order B-02/s);
    },
    async 'no answer'() {
      const { code, said } = await converse('Please refund order A-17');
      assert.match(said, /the agent waits/);
      assert.equal(code, 1);
    },
  };
}
