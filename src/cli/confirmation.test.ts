import { describe, expect, it } from 'vitest';
import { answeringAs } from '../../test/support/harness/answering-as.ts';
import { typeCommand } from '../../test/support/harness/typed-command.ts';

/** What a command did, and how often the control plane was asked for anything. */
async function typed(words: readonly string[]) {
  const asked: string[] = [];
  let outcome = {};
  await answeringAs(
    (to, { method = '' }) => {
      asked.push(method);
      to.setHeader('content-type', 'application/json').end('{"replicas": 2}');
    },
    async (url) => {
      outcome = await typeCommand(words, { BERTH_CLI_SERVER: url, BERTH_CLI_TOKEN: 'some-token' });
    },
  );
  return { ...outcome, asked };
}

describe('without a terminal', () => {
  it.each([
    ['token revoke bootstrap', 'revoking token/bootstrap needs a yes; nothing was revoked'],
    ['scaling delete web', 'deleting the scaling policy of deployment/web needs a yes; nothing was deleted'],
    ['ingress revoke a.example', 'revoking the certificate of a.example needs a yes; nothing was revoked'],
  ])('%s asks nobody, and does nothing', async (line, message) => {
    expect(await typed(line.split(' '))).toEqual({
      status: 2,
      out: '',
      err: `berth: ${message}\n  Say that it is meant: --yes\n`,
      asked: [],
    });
  });

  it.each(['token revoke bootstrap', 'scaling delete web'])('%s --yes does it', async (line) => {
    const done = await typed([...line.split(' '), '--yes']);
    expect(done).toMatchObject({ status: 0, asked: expect.arrayContaining(['DELETE']) });
  });
});
