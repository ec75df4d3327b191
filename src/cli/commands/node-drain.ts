import { type Client, named } from '../client.ts';
import { REMOTE_OPTIONS, type Subcommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { textOf } from '../fields.ts';
import type { DrainReport } from '../records.ts';
import type { Session } from '../session.ts';
import type { Style } from '../style.ts';
import { spanText } from '../table.ts';
import { timeoutOf } from '../waiting.ts';
import { watched } from '../watching.ts';

/** What is blocked may be so for a moment: another instance makes room, a copy catches up. */
const SETTLED_MS = 5_000;

function movableLines({ movable = [] }: DrainReport, style: Style): readonly string[] {
  return movable.map(({ deployment, to, how, why }) => {
    const first = how === 'start-first' ? '' : `, stops first: ${textOf(why)}`;
    return `  ${style.green('moves:')} ${textOf(deployment)} to ${textOf(to)}${first}`;
  });
}

/** Instances, and the primaries of volumes that nothing here mounts. */
function blockedLines({ blocked = [], volumes = [] }: DrainReport, style: Style): readonly string[] {
  return [
    ...blocked.map(({ deployment, why }) => ({ what: deployment, why })),
    ...unmounted({ blocked, volumes }),
  ].map(({ what, why }) => `  ${style.yellow('stays:')} ${textOf(what)}: ${textOf(why)}`);
}

/** Volumes that stay and that no instance names in its reason. */
function unmounted({ blocked = [], volumes = [] }: DrainReport) {
  return volumes.flatMap(({ volume, to, why }) => {
    const what = `volume ${textOf(volume)}`;
    const isNamed = blocked.some((one) => textOf(one.why).includes(`${what}:`));
    return to !== undefined || isNamed ? [] : [{ what, why }];
  });
}

function staying(report: DrainReport): number {
  return (report.blocked ?? []).length + unmounted(report).length;
}

function underWay({ movable = [], volumes = [], stopping = 0 }: DrainReport): number {
  return movable.length + volumes.filter(({ to }) => to !== undefined).length + stopping;
}

/** What a drain has not moved yet, whether or not it can. */
function leftText(report: DrainReport): string {
  const { movable = [], volumes = [], stopping = 0 } = report;
  const moving = volumes.flatMap(({ volume, to }) =>
    to === undefined ? [] : [`volume ${textOf(volume)} to ${textOf(to)}`],
  );
  const parts = [
    movable.length > 0 ? `${movable.length} to move` : '',
    ...moving,
    stopping > 0 ? `${stopping} stopping` : '',
    staying(report) > 0 ? `${staying(report)} cannot move` : '',
  ].filter((part) => part !== '');
  return parts.join(', ');
}

async function reportOf(client: Client, name: string): Promise<DrainReport> {
  return client.record('POST /api/v1/nodes/{name}/drain', { ...named(name), query: { dryRun: true } });
}

/** Until nothing is left on the node, or nothing but what cannot move. */
async function waitUntilEmpty(
  session: Session,
  client: Client,
  name: string,
  timeoutMs: number,
): Promise<ExitCode> {
  const deadline = performance.now() + timeoutMs;
  let settled = performance.now();
  return watched(
    session,
    name,
    async (step) => {
      const report = await reportOf(client, name);
      const text = leftText(report);
      if (text === '') {
        step.done('nothing is left on it');
        return EXIT.ok;
      }
      const now = performance.now();
      if (underWay(report) > 0) settled = now;
      if (report.draining !== true || now >= deadline || now - settled >= SETTLED_MS) {
        const why = now >= deadline ? ` after ${spanText(timeoutMs)}` : '';
        step.fail(report.draining === true ? `${text}${why}` : `the drain was ended: ${text}`);
        const { err, errStyle } = session.terminal;
        for (const line of [...movableLines(report, errStyle), ...blockedLines(report, errStyle)])
          err(`${line}\n`);
        err(`  ${session.next(`berth node uncordon ${name}`)}\n`);
        return EXIT.notHealthy;
      }
      return text;
    },
    'the drain',
  );
}

export const drainCommand: Subcommand = {
  name: 'drain',
  summary: 'Move everything off a node',
  description: [
    'Keeps new instances away from the node and moves those on it elsewhere, one healthy replacement at a time. Where the quota has no room for both, or it writes to a volume, the old one stops first. What cannot move is listed with the reason and keeps running.',
    'With --dry-run nothing is changed: it says what would move, where to and how, and what would stay. With --wait it ends when the node is empty. Both end with status 4 when anything is left.',
  ],
  parameters: [{ term: '<name>', description: 'The node.', names: 'nodes' }],
  options: [
    {
      flags: '--dry-run',
      description:
        'Say what would move and what would stay; change nothing. Ends with 0 when all can move, with 4 when something would stay.',
    },
    { flags: '--wait', description: 'End when nothing is left on the node.' },
    { flags: '--timeout <duration>', description: 'How long --wait waits.', default: '10m' },
    ...REMOTE_OPTIONS,
  ],
  examples: [
    { line: 'berth node drain berlin-1 --dry-run', what: 'what would move, and what would not?' },
    {
      line: 'berth node drain berlin-1 --wait',
      what: 'before maintenance; berth node uncordon ends it',
    },
  ],
  run: async (session, { parameters: [name = ''], options }) => {
    const { out, style } = session.terminal;
    const client = session.client(options);
    const timeoutMs = timeoutOf(options, '10m');
    const dryRun = options.flag('dryRun');
    const report = dryRun
      ? await reportOf(client, name)
      : await client.record('POST /api/v1/nodes/{name}/drain', named(name));
    const { movable = [] } = report;
    const does = dryRun ? 'would be drained' : 'is being drained';
    out(`node/${name} ${does}: ${movable.length} can move, ${staying(report)} cannot\n`);
    for (const line of [...movableLines(report, style), ...blockedLines(report, style)]) out(`${line}\n`);
    if (dryRun) return staying(report) > 0 ? EXIT.notHealthy : EXIT.ok;
    if (options.flag('wait')) return waitUntilEmpty(session, client, name, timeoutMs);
    session.terminal.err(`${session.next(`berth describe node ${name}`)}\n`);
    return EXIT.ok;
  },
};
