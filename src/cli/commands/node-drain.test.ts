import { describe, expect, it } from 'vitest';
import { answeringAs } from '../../../test/support/harness/answering-as.ts';
import { type CommandOutcome, typeCommand } from '../../../test/support/harness/typed-command.ts';

/** The command at a control plane that answers so. */
async function planned(report: object): Promise<CommandOutcome> {
  let outcome: CommandOutcome | undefined;
  await answeringAs(
    (to) => to.setHeader('content-type', 'application/json').end(JSON.stringify(report)),
    async (url) => {
      const environment = { BERTH_CLI_SERVER: url, BERTH_CLI_TOKEN: 'some-token' };
      outcome = await typeCommand(['node', 'drain', 'n1', '--dry-run'], environment);
    },
  );
  return outcome ?? { status: -1, out: '', err: '' };
}

const MOVABLE = { deployment: 'web', to: 'n2', how: 'start-first' };
const BLOCKED = { deployment: 'db', why: 'no other node' };
const copied = (to?: string) => ({
  volume: 'data',
  ...(to === undefined ? { why: 'no live copy' } : { to }),
});

describe('berth node drain --dry-run ends', () => {
  it.each([
    ['0 where nothing is on it', { movable: [], blocked: [], volumes: [] }, 0],
    ['0 where all of it would move', { movable: [MOVABLE], blocked: [], volumes: [] }, 0],
    ['0 where a volume would', { movable: [], blocked: [], volumes: [copied('n2')] }, 0],
    ['4 where something would stay', { movable: [MOVABLE], blocked: [BLOCKED], volumes: [] }, 4],
    ['4 where a volume would', { movable: [], blocked: [], volumes: [copied()] }, 4],
  ])('with %s', async (_what, report, status) => {
    expect(await planned(report)).toMatchObject({ status, err: '' });
  });

  it('as its page says', async () => {
    const page = (await typeCommand(['node', 'drain', '--help'], {})).out.replaceAll(/\s+/g, ' ');
    expect(page).toContain('Ends with 0 when all can move, with 4 when something would stay.');
    expect(page).toContain('5 of a plan of records (--dry-run, diff)');
  });
});
