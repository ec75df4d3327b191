import { named } from '../client.ts';
import { type CommandBody, REMOTE_OPTIONS } from '../command.ts';
import { EXIT } from '../exit-code.ts';
import { textOf } from '../fields.ts';
import { alterationLines, warningLines } from '../plan-view.ts';
import { PLAN_OPTIONS, planQuery, showChange } from '../planned-change.ts';
import { timeoutOf, waitUntilHealthy } from '../waiting.ts';
import { WAIT_OPTIONS } from './apply.ts';
import { wholeNumber } from './run.ts';

export const scale: CommandBody = {
  description: [
    'Sets the number of instances of a deployment, and waits until they are healthy. 0 stops it without deleting it.',
  ],
  parameters: [
    { term: '<name>', description: 'The deployment.', names: 'deployments' },
    { term: '<replicas>', description: 'How many instances.' },
  ],
  options: [...PLAN_OPTIONS, ...WAIT_OPTIONS, ...REMOTE_OPTIONS],
  examples: [
    { line: 'berth scale web 5', what: 'five instances' },
    { line: 'berth scale web 5 --dry-run', what: 'where the new ones would go; nothing is stored' },
    { line: 'berth scale web 0', what: 'stop it; its configuration stays' },
  ],
  run: async (session, { parameters: [name = '', text = ''], options }) => {
    const replicas = wholeNumber('replicas', text);
    const timeoutMs = timeoutOf(options);
    const client = session.client(options);
    const stored = await client.record('GET /api/v1/deployments/{name}', named(name));
    const before = stored.replicas ?? 0;
    const written = await client.record('PUT /api/v1/deployments/{name}', {
      ...named(name),
      query: planQuery(options),
      body: { replicas },
      ifMatch: stored.revision,
    });
    if (options.flag('dryRun')) return showChange(session, name, written, `berth scale ${name} ${replicas}`);
    // A scaling policy may allow less than was asked for.
    const after = written.replicas ?? replicas;
    session.terminal.out(`deployment/${name} scaled from ${before} to ${after}\n`);
    for (const line of alterationLines(written, session.terminal.errStyle)) session.terminal.err(`${line}\n`);
    for (const line of warningLines(written, session.terminal.errStyle)) session.terminal.err(`${line}\n`);
    if (!options.unlessDenied('wait')) return EXIT.ok;
    return waitUntilHealthy(
      session,
      client,
      { name: textOf(written.name), specHash: textOf(written.specHash) },
      timeoutMs,
    );
  },
};
