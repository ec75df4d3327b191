import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { release, type } from 'node:os';
import { basename } from 'node:path';
import { gzipSync } from 'node:zlib';
import { formatBytes } from '../../core/model/quantity.ts';
import { errnoOf, messageOf, parsedRecord } from '../../core/model/values.ts';
import { Scrubber } from '../../core/rules/credentials/scrub.ts';
import type { Client } from '../client.ts';
import { type CommandBody, REMOTE_OPTIONS } from '../command.ts';
import { doctorLines } from '../doctor/lines.ts';
import { EXIT } from '../exit-code.ts';
import { Failure } from '../failure.ts';
import { textOf } from '../fields.ts';
import type { OptionValues } from '../option-values.ts';
import { spanOption } from '../own-log.ts';
import type { Session } from '../session.ts';
import { printable } from '../style.ts';
import { tarOf } from '../up/tar.ts';

const DEFAULT_SPAN = '1m';
const MAX_CONFIGURATION_BYTES = 1_048_576;

/** What goes into the archive, and what does not and why. */
interface Gathered {
  readonly files: Map<string, string>;
  readonly missing: string[];
  redactions: number;
}

export const debug: CommandBody = {
  description: [
    'Makes one archive for a bug report: versions, configuration without secrets, the last lines of the log, metrics over a minute, sizes of the store, states of agents and members, and what berth doctor finds from here. For platform administrators; one at a time; audited.',
    'Credentials are taken out before anything is written: those that the control plane knows, and whatever looks like one. Names of tenants, nodes and workloads stay in it: look through it before you send it.',
    'When the control plane does not answer, or with --local, it holds what can be had from here, and says what is missing.',
  ],
  options: [
    {
      flags: '--for <duration>',
      description: `How long metrics are sampled, at most 10m. Default: ${DEFAULT_SPAN}.`,
    },
    {
      flags: '--profile',
      description:
        'With a CPU profile (30 s at most) and the heap by class, without contents. The control plane stands still while its heap is read: about a second for each 100 MB.',
    },
    {
      flags: '--member <name>',
      description: 'Of several control planes on one store: the name of its machine, or its id.',
    },
    { flags: '--local', description: 'Ask no control plane.' },
    {
      flags: '--config <file>',
      description:
        'Configuration file of the control plane on this machine. Default: BERTH_CONFIG, or berth.yaml here.',
    },
    {
      flags: '--to <file>',
      description: 'The archive, which must not exist. Default: berth-debug-<time>.tar.gz.',
    },
    ...REMOTE_OPTIONS,
  ],
  examples: [
    { line: 'berth debug', what: 'everything, in a minute' },
    { line: 'berth debug --profile --for 30s', what: 'when it is slow' },
    { line: 'berth debug --local --config /etc/berth/berth.yaml', what: 'when it does not start' },
  ],
  run: async (session, { options }) => {
    const span = spanOption(options) ?? DEFAULT_SPAN;
    const stamp = new Date(session.now()).toISOString().replaceAll(/[:.]/g, '-');
    const to = options.text('to') ?? `berth-debug-${stamp}.tar.gz`;
    const gathered: Gathered = { files: new Map(), missing: [], redactions: 0 };
    const isLocal = options.flag('local');
    const reached = await writing(to, async () => {
      const answered = !isLocal && (await fromServer(session, options, span, gathered));
      if (isLocal) gathered.missing.push('server: not asked (--local)');
      await fromHere(session, options, gathered, answered);
      return [archive(basename(to).replace(/\.tar\.gz$|\.tgz$/, ''), gathered), answered];
    });
    const { terminal } = session;
    terminal.out(
      `${to}: ${gathered.files.size} files, ${formatBytes(statSync(to).size)}, ${gathered.redactions} redactions\n`,
    );
    for (const line of gathered.missing) terminal.err(`missing: ${line}\n`);
    return isLocal || reached ? EXIT.ok : EXIT.unreachable;
  },
};

/** False: it did not answer, or not to the end. A refusal ends the command. */
async function fromServer(
  session: Session,
  options: OptionValues,
  span: string,
  gathered: Gathered,
): Promise<boolean> {
  const { terminal } = session;
  try {
    const client: Client = session.client(options);
    terminal.err(`sampling ${client.target.server} for ${span}\n`);
    const query = {
      for: span,
      profile: options.flag('profile') || undefined,
      member: options.text('member'),
    };
    for await (const { event, data } of client.frames('GET /api/v1/system/debug', { query })) {
      const entry = parsedRecord(data);
      const name = `server/${pathIn(textOf(entry['name']))}`;
      if (event === 'file')
        gathered.files.set(name, (gathered.files.get(name) ?? '') + textOf(entry['text']));
      else if (event === 'missing') gathered.missing.push(`${name}: ${printable(textOf(entry['why']))}`);
      else if (event === 'end') {
        gathered.redactions += Number(entry['redactions']);
        if (entry['unread'] !== undefined)
          gathered.missing.push(
            `known values: ${printable(textOf(entry['unread']))}; found by their form alone`,
          );
        return true;
      }
    }
    gathered.missing.push('server: the answer broke off; what had come is in the archive');
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    gathered.missing.push(`server: ${error.message}`);
  }
  return false;
}

/** Whatever a server says, the archive has nothing outside its folder. */
function pathIn(name: string): string {
  return name
    .split('/')
    .map((part) => part.replaceAll(/[^\w.:-]/g, '_'))
    .filter((part) => !/^\.*$/.test(part))
    .join('/')
    .slice(0, 60);
}

async function fromHere(
  session: Session,
  options: OptionValues,
  gathered: Gathered,
  reached: boolean,
): Promise<void> {
  const secrets = Object.entries(session.environment).flatMap(([name, value = '']) =>
    /token|secret|pass|key/i.test(name) ? [value] : [],
  );
  const scrubber = new Scrubber(secrets);
  const add = (name: string, text: string): void => {
    const scrubbed = scrubber.scrub(text);
    gathered.redactions += scrubbed.redactions;
    gathered.files.set(`local/${name}`, scrubbed.text);
  };
  const versions = {
    berth: session.version,
    node: process.versions.node,
    kernel: `${type()} ${release()}`,
    arch: process.arch,
  };
  add('versions.json', `${JSON.stringify(versions, null, 1)}\n`);
  if (options.flag('local')) gathered.missing.push('doctor: not run (--local)');
  else add('doctor.txt', await doctorLines(session, options));
  const named = options.text('config') ?? session.environment['BERTH_CONFIG'];
  const file = named ?? 'berth.yaml';
  if (named === undefined && (reached || !existsSync(file))) {
    if (!reached) gathered.missing.push('configuration: no berth.yaml here; --config names it');
    return;
  }
  try {
    if (statSync(file).size > MAX_CONFIGURATION_BYTES) throw new Error('it is larger than 1 MiB');
    add('configuration.yaml', readFileSync(file, 'utf8'));
  } catch (error) {
    gathered.missing.push(`configuration: ${file}: ${messageOf(error)}`);
  }
}

function archive(folder: string, { files, missing, redactions }: Gathered): Buffer {
  const summary = { redactions, missing, files: [...files.keys()] };
  const entries = [...files, ['report.json', `${JSON.stringify(summary, null, 1)}\n`] as const].map(
    ([name, text]) => ({ path: `${folder.slice(0, 30)}/${name}`, mode: 0o600, content: Buffer.from(text) }),
  );
  return gzipSync(tarOf(entries));
}

function unwritable(to: string, error: unknown): Failure {
  return new Failure(errnoOf(error) === 'EEXIST' ? `${to} exists already` : `${to}: ${messageOf(error)}`, {
    advice: ['--to names another file'],
    cause: error,
  });
}

/** The file is made before what goes into it, which takes a minute, and is gone when that fails. */
async function writing<T>(to: string, make: () => Promise<readonly [Buffer, T]>): Promise<T> {
  const handle = await open(to, 'wx', 0o600).catch((error: unknown) => {
    throw unwritable(to, error);
  });
  try {
    const [content, result] = await make();
    await handle.writeFile(content).catch((error: unknown) => {
      throw unwritable(to, error);
    });
    return result;
  } catch (error) {
    rmSync(to, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
}
