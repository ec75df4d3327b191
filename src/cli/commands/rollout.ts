import { canonicalJson } from '../../core/model/canonical.ts';
import { named } from '../client.ts';
import { type CommandBody, OUTPUT_OPTION, REMOTE_OPTIONS } from '../command.ts';
import { EXIT } from '../exit-code.ts';
import { Failure, usage } from '../failure.ts';
import { textOf } from '../fields.ts';
import type { Archive } from '../records.ts';
import { warningLines } from '../plan-view.ts';
import { PLAN_OPTIONS, planQuery, showChange } from '../planned-change.ts';
import { listVersions, versions } from '../versions.ts';
import { timeoutOf, waitUntilHealthy } from '../waiting.ts';
import { TIMEOUT_OPTION, WAIT_OPTIONS } from './apply.ts';
import { wholeNumber } from './run.ts';

const NAME = { term: '<name>', description: 'The deployment.', names: 'deployments' } as const;

/** The version before the newest one that has another configuration; what is deleted cannot be gone back to. */
export function previousVersion(found: readonly Archive[]): number | undefined {
  const newest = found.at(-1);
  const current = canonicalJson(newest?.spec ?? {});
  const earlier = found.filter(
    (entry) => textOf(entry.change) !== 'deleted' && canonicalJson(entry.spec ?? {}) !== current,
  );
  return earlier.at(-1)?.version;
}

export const rollout: CommandBody = {
  description: [
    'A change of a deployment rolls out instance by instance: new ones become healthy before old ones stop. These commands watch that, list the versions that are kept, and go back to one of them.',
  ],
  examples: [
    { line: 'berth rollout status web', what: 'wait until the last change is healthy' },
    { line: 'berth rollout undo web', what: 'go back to the version before' },
  ],
  subcommands: [
    {
      name: 'status',
      summary: 'Wait until the current version is healthy',
      description: [
        'Shows progress until every instance of the current version is healthy. Ends with 4, and says why, when that does not happen in time.',
      ],
      parameters: [NAME],
      options: [TIMEOUT_OPTION, ...REMOTE_OPTIONS],
      examples: [
        { line: 'berth rollout status web --timeout 2m', what: 'in a pipeline, after apply --no-wait' },
      ],
      run: async (session, { parameters: [name = ''], options }) => {
        const timeoutMs = timeoutOf(options);
        const client = session.client(options);
        const record = await client.record('GET /api/v1/deployments/{name}', named(name));
        return waitUntilHealthy(
          session,
          client,
          { name: textOf(record.name), specHash: textOf(record.specHash) },
          timeoutMs,
        );
      },
    },
    {
      name: 'history',
      summary: 'List the versions that are kept',
      description: [
        'Lists every kept version of the configuration, oldest first, with who changed it. berth archive diff compares two of them.',
      ],
      parameters: [NAME],
      options: [OUTPUT_OPTION, ...REMOTE_OPTIONS],
      examples: [{ line: 'berth rollout history web', what: 'every version of web' }],
      run: listVersions,
    },
    {
      name: 'undo',
      summary: 'Go back to an earlier version',
      description: [
        'Makes an earlier version the current one and waits until it is healthy. That is a new version with the old configuration: nothing is lost from the history.',
      ],
      parameters: [NAME],
      options: [
        {
          flags: '--to <version>',
          description: 'Version to go back to. Default: the last one with another configuration.',
        },
        ...PLAN_OPTIONS,
        ...WAIT_OPTIONS,
        ...REMOTE_OPTIONS,
      ],
      examples: [
        { line: 'berth rollout undo web', what: 'back to the version before' },
        { line: 'berth rollout undo web --dry-run', what: 'what that would change; nothing is stored' },
        { line: 'berth rollout undo web --to 3', what: 'back to version 3' },
      ],
      run: async (session, { parameters: [name = ''], options }) => {
        const timeoutMs = timeoutOf(options);
        const client = session.client(options);
        const wanted = options.text('to');
        const found = await versions(client, name);
        const version = wanted === undefined ? previousVersion(found) : wholeNumber('--to', wanted);
        if (version === undefined)
          throw new Failure(`${name} has no earlier version with another configuration`, {
            advice: [`berth rollout history ${name}`],
          });
        if (!found.some((entry) => entry.version === version)) {
          throw usage(`version ${version} of ${name} is not kept`, [`berth rollout history ${name}`]);
        }
        const written = await client.record('POST /api/v1/deployments/{name}/rollback', {
          ...named(name),
          query: planQuery(options),
          body: { version },
        });
        if (options.flag('dryRun'))
          return showChange(session, name, written, `berth rollout undo ${name} --to ${version}`);
        session.terminal.out(`deployment/${name} rolled back to version ${version}\n`);
        const removed = written.removed ?? [];
        if (removed.length > 0) session.terminal.err(`it took away: ${removed.join(', ')}\n`);
        for (const line of warningLines(written, session.terminal.errStyle))
          session.terminal.err(`${line}\n`);
        if (!options.unlessDenied('wait')) return EXIT.ok;
        return waitUntilHealthy(session, client, { name, specHash: textOf(written.specHash) }, timeoutMs);
      },
    },
  ],
};
