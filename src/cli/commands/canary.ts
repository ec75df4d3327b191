import { unjudged } from '../../sdk/index.ts';
import { type Client, type Json, named } from '../client.ts';
import {
  type CommandBody,
  OUTPUT_OPTION,
  type Parameter,
  REMOTE_OPTIONS,
  type Subcommand,
} from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { usage } from '../failure.ts';
import { textOf } from '../fields.ts';
import { readManifests } from '../manifests.ts';
import { outputFormat, printWhole } from '../output.ts';
import { warningLines } from '../plan-view.ts';
import type { Canary } from '../records.ts';
import type { Session } from '../session.ts';
import { timeoutOf, waitUntilHealthy } from '../waiting.ts';
import { watched } from '../watching.ts';
import { WAIT_OPTIONS } from './apply.ts';
import { wholeNumber } from './run.ts';

const NAME: Parameter = { term: '<name>', description: 'The deployment.', names: 'deployments' };
const READ = 'GET /api/v1/deployments/{name}/canary';

export function canaryText(
  canary: Pick<Canary, 'image' | 'replicas'> & {
    readonly status?: Pick<NonNullable<Canary['status']>, 'healthy' | 'message'> | undefined;
  },
): string {
  const counts = `${textOf(canary.status?.healthy)} of ${textOf(canary.replicas)} healthy`;
  const message = textOf(canary.status?.message);
  return `${textOf(canary.image)}, ${message.startsWith(counts) ? message : `${counts}; ${message}`}`;
}

/** Why the last one ended, from its event: the canary itself is gone by then. */
async function lastAbort(client: Client, name: string): Promise<string> {
  const events = await client.list('GET /api/v1/events', {
    query: { subject: `Deployment/${name}`, kind: 'deployment.canary_aborted' },
  });
  return textOf(events.at(-1)?.message);
}

async function waitForCanary(
  session: Session,
  client: Client,
  name: string,
  timeoutMs: number,
): Promise<ExitCode> {
  const deadline = performance.now() + timeoutMs;
  return watched(session, `canary of ${name}`, async (step) => {
    const canary = await client.recordUnless(['canary_not_found'], READ, named(name));
    if (canary === undefined) {
      step.fail((await lastAbort(client, name)) || 'it was promoted or aborted');
      return EXIT.notHealthy;
    }
    const text = canaryText(canary);
    if ((canary.status?.healthy ?? 0) >= (canary.replicas ?? 1)) {
      step.done(text);
      session.terminal.err(`${session.next(`berth canary promote ${name} · berth canary abort ${name}`)}\n`);
      return EXIT.ok;
    }
    if (performance.now() >= deadline) {
      step.fail(text);
      return EXIT.notHealthy;
    }
    return text;
  });
}

async function changesOf(
  session: Session,
  image: string | undefined,
  file: string | undefined,
): Promise<Json> {
  if ((image === undefined) === (file === undefined))
    throw usage('a canary takes --image or --filename, one of the two', ['berth canary start web --image …']);
  if (image !== undefined) return { image };
  const [manifest, ...others] = await readManifests([file ?? ''], () => session.terminal.readInput(), [
    'Deployment',
  ]);
  if (manifest === undefined || others.length > 0) throw usage(`${file}: expected one deployment`);
  return { spec: manifest.body };
}

const start: Subcommand = {
  name: 'start',
  summary: 'Run a changed version beside the stable one',
  description: [
    'Starts a few instances of a changed version. They get a share of the traffic by the same name; the stable instances are not touched. The canary is aborted by itself when one of its instances becomes unhealthy.',
  ],
  parameters: [NAME],
  options: [
    { flags: '--image <reference>', description: 'The same configuration with this image.' },
    {
      flags: '-f, --filename <path>',
      description: 'A file with the fields that differ, as for berth apply, or - for standard input.',
    },
    { flags: '--replicas <count>', description: 'Instances of the canary.', default: '1' },
    {
      flags: '--weight <percent>',
      description: 'How much of new connections it gets, from 0 to 100; unless told, its share of instances.',
    },
    ...WAIT_OPTIONS,
    ...REMOTE_OPTIONS,
  ],
  examples: [
    {
      line: 'berth canary start web --image registry.example.com/shop/web:1.5.0',
      what: 'one instance of 1.5.0',
    },
  ],
  run: async (session, { parameters: [name = ''], options }) => {
    const timeoutMs = timeoutOf(options);
    const changes = await changesOf(session, options.text('image'), options.text('filename'));
    const replicas = wholeNumber('--replicas', options.text('replicas') ?? '1');
    const percent = options.text('weight');
    const weight = percent === undefined ? undefined : wholeNumber('--weight', percent);
    const client = session.client(options);
    const made = await client.record('POST /api/v1/deployments/{name}/canary', {
      ...named(name),
      body: unjudged({ ...changes, replicas, ...(weight !== undefined && { weight }) }),
    });
    session.terminal.out(`canary of deployment/${name} started: ${textOf(made.image)}\n`);
    const removed = made.removed ?? [];
    if (removed.length > 0) session.terminal.err(`it lacks what the stable one has: ${removed.join(', ')}\n`);
    for (const line of warningLines(made, session.terminal.errStyle)) session.terminal.err(`${line}\n`);
    return options.unlessDenied('wait') ? waitForCanary(session, client, name, timeoutMs) : EXIT.ok;
  },
};

const status: Subcommand = {
  name: 'status',
  summary: 'Show the canary of a deployment',
  description: [
    'Shows the running canary. Without one it ends with 1, and says why the last one was aborted.',
  ],
  parameters: [NAME],
  options: [OUTPUT_OPTION, ...REMOTE_OPTIONS],
  examples: [{ line: 'berth canary status web', what: 'is it healthy?' }],
  run: async (session, { parameters: [name = ''], options }) => {
    const format = outputFormat(options);
    const client = session.client(options);
    const canary = await client.recordUnless(['canary_not_found'], READ, named(name));
    if (canary === undefined) {
      const last = await lastAbort(client, name);
      session.terminal.err(`${name} has no canary${last === '' ? '' : `; ${last}`}\n`);
      return EXIT.refused;
    }
    if (!(await printWhole(session.terminal, format, canary)))
      session.terminal.out(`${name}: ${canaryText(canary)}\n`);
    return EXIT.ok;
  },
};

const promote: Subcommand = {
  name: 'promote',
  summary: 'Roll the canary out to the whole deployment',
  description: [
    'Makes the configuration of the canary that of the deployment, as a new version, and waits until every instance is healthy. The instances of the canary stay.',
  ],
  parameters: [NAME],
  options: [...WAIT_OPTIONS, ...REMOTE_OPTIONS],
  examples: [{ line: 'berth canary promote web', what: 'all instances get the new version' }],
  run: async (session, { parameters: [name = ''], options }) => {
    const timeoutMs = timeoutOf(options);
    const client = session.client(options);
    const written = await client.record('POST /api/v1/deployments/{name}/canary/promote', named(name));
    session.terminal.out(`canary of deployment/${name} promoted\n`);
    for (const line of warningLines(written, session.terminal.errStyle)) session.terminal.err(`${line}\n`);
    if (!options.unlessDenied('wait')) return EXIT.ok;
    const wanted = { name: textOf(written.name), specHash: textOf(written.specHash) };
    return waitUntilHealthy(session, client, wanted, timeoutMs);
  },
};

const abort: Subcommand = {
  name: 'abort',
  summary: 'Stop the canary',
  description: ['Stops the instances of the canary. The stable ones are not touched.'],
  parameters: [NAME],
  options: REMOTE_OPTIONS,
  examples: [{ line: 'berth canary abort web', what: 'back to the stable version alone' }],
  run: async (session, { parameters: [name = ''], options }) => {
    const ended = await session
      .client(options)
      .record('POST /api/v1/deployments/{name}/canary/abort', named(name));
    session.terminal.out(`canary of deployment/${name} aborted: ${textOf(ended.image)}\n`);
    return EXIT.ok;
  },
};

export const canary: CommandBody = {
  description: [
    'A canary runs a changed version of a deployment beside the stable one, with a share of its traffic, until you promote or abort it. It is aborted by itself when it becomes unhealthy.',
  ],
  examples: [
    { line: 'berth canary start web --image registry.example.com/shop/web:1.5.0', what: 'try 1.5.0' },
    { line: 'berth canary promote web', what: 'roll it out' },
  ],
  subcommands: [start, status, promote, abort],
};
