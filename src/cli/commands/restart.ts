import { type Client, named } from '../client.ts';
import { type CommandBody, REMOTE_OPTIONS } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { usage } from '../failure.ts';
import { textOf } from '../fields.ts';
import type { Session } from '../session.ts';
import { spanText } from '../table.ts';
import { timeoutOf, waitUntilHealthy } from '../waiting.ts';
import { watched } from '../watching.ts';
import { WAIT_OPTIONS } from './apply.ts';
import { order } from './instance-orders.ts';
import { instanceIdIn } from '../instances.ts';

export const restart: CommandBody = {
  description: [
    'Replaces the instances of a deployment by others of the same spec: new containers, credentials resolved anew. By the rule of its updates, so that what serves goes on serving where more than one may run, and waits until all are healthy.',
    'Nothing of the deployment changes, and no version is added to its archive.',
    'berth restart instance ID makes the container of one instance anew in its place, at once and without waiting for another one; --instance replaces one without a gap.',
  ],
  parameters: [
    {
      term: '<name>',
      description: 'The deployment; or the word instance, and then which one.',
      names: 'deployments',
    },
    {
      term: '[instance]',
      description: 'After the word instance: its id, or the deployment and the end of it.',
      names: 'instances',
    },
  ],
  options: [
    {
      flags: '--instance <id>',
      description: 'This instance alone; berth get instances lists them.',
      names: 'instances',
    },
    ...WAIT_OPTIONS,
    ...REMOTE_OPTIONS,
  ],
  examples: [
    { line: 'berth restart web', what: 'every instance, one after the other' },
    { line: 'berth restart web --instance ins_01jd… --no-wait', what: 'one of them, without a gap' },
    { line: 'berth restart instance web-k3n9x2af', what: 'one of them, in its place' },
  ],
  run: async (session, { parameters: [name = '', one], options }) => {
    if (one !== undefined) {
      if (name !== 'instance')
        throw usage(`${one}: berth restart takes one deployment`, ['berth restart NAME']);
      return order(session, { options }, 'restart', one);
    }
    const timeoutMs = timeoutOf(options);
    const client = session.client(options);
    const instance = await instanceIdIn(client, name, options.text('instance'));
    const before = (await idsOf(client, name)).filter((id) => instance === undefined || id === instance);
    const ordered = await client.record('POST /api/v1/deployments/{name}/restart', {
      ...named(name),
      body: instance === undefined ? {} : { instance },
    });
    session.terminal.out(`deployment/${name} restarts ${before.length} of its instances\n`);
    if (!options.unlessDenied('wait')) return EXIT.ok;
    const replaced = await untilReplaced(session, client, name, before, timeoutMs);
    if (replaced !== EXIT.ok) return replaced;
    return waitUntilHealthy(session, client, { name, specHash: textOf(ordered.specHash) }, timeoutMs);
  },
};

async function idsOf(client: Client, name: string): Promise<readonly string[]> {
  const instances = await client.list('GET /api/v1/deployments/{name}/instances', named(name));
  return instances.map(({ id }) => textOf(id));
}

async function untilReplaced(
  session: Session,
  client: Client,
  name: string,
  before: readonly string[],
  timeoutMs: number,
): Promise<ExitCode> {
  const deadline = performance.now() + timeoutMs;
  return watched(session, `${name} restarts`, async (step) => {
    const there = await idsOf(client, name);
    const left = before.filter((id) => there.includes(id)).length;
    if (left === 0) {
      step.done(`${before.length} replaced`);
      return EXIT.ok;
    }
    if (performance.now() >= deadline) {
      step.fail(`${left} of ${before.length} are still there after ${spanText(timeoutMs)}; it goes on`);
      const next = `berth describe deployment ${name} · berth logs ${name} --previous`;
      session.terminal.err(`  ${session.next(next)}\n`);
      return EXIT.notHealthy;
    }
    return `${before.length - left} of ${before.length} replaced`;
  });
}
