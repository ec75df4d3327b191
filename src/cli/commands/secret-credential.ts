import { setTimeout as pause } from 'node:timers/promises';
import { unjudged } from '../../sdk/index.ts';
import { type Client, type Json, named } from '../client.ts';
import { OUTPUT_OPTION, REMOTE_OPTIONS, type Subcommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { Failure, Refused, usage } from '../failure.ts';
import { textOf } from '../fields.ts';
import { outputFormat, printRecord } from '../output.ts';
import { resourceOf } from '../resources/index.ts';
import { secretParams } from '../secret-path.ts';
import type { AnsweredBy } from '../answered.ts';
import type { Session } from '../session.ts';
import { waitUntilHealthy } from '../waiting.ts';

const POLL_MS = 300;
/** A container that was replaced is gone a moment after the new one is healthy. */
const ROLLOUT_MS = 15_000;

export interface RotationOrder {
  /** NAMESPACE/NAME */
  readonly path: string;
  readonly at: ReturnType<typeof secretParams>;
  readonly phase: string;
  readonly material: Json;
  /** Absent: not waited for. */
  readonly timeoutMs?: number;
}

type Hooked = Pick<AnsweredBy<'GET /api/v1/secrets/{namespace}/{name}'>, 'hooks'>;
type Rotated = AnsweredBy<'POST /api/v1/secrets/{namespace}/{name}/rotate'>;

function isBehind(error: unknown): boolean {
  return error instanceof Refused && error.rejection.code === 'rotation_rollout_incomplete';
}

/**
 * Asks for the phase until it is accepted: a phase with a hook is accepted once the hook has succeeded. To ask again is to
 * have a hook that failed run again, so only the first request of the command says so.
 */
async function askForPhase(session: Session, client: Client, rotation: RotationOrder): Promise<Rotated> {
  const { path, at, phase, material, timeoutMs = 0 } = rotation;
  const began = performance.now();
  const step = session.progress().step(path);
  let isFirst = true;
  for (;;) {
    try {
      const body = { phase, ...(isFirst ? { ...material, retryHook: true } : {}) };
      const answer = await client.record('POST /api/v1/secrets/{namespace}/{name}/rotate', {
        ...at,
        body: unjudged(body),
      });
      isFirst = false;
      if (textOf(answer.phase) === phase) {
        step.done(`${phase} accepted, version ${textOf(answer.version)} is in service`);
        return answer;
      }
      const hook = `${textOf(answer.hook?.state)}: hook ${textOf(answer.hook?.hook)} of job ${textOf(answer.hook?.job)}: ${textOf(answer.hook?.message)}`;
      if (performance.now() - began >= timeoutMs) {
        step.fail(`${phase} waits for its hook; ${hook}`);
        const advice = [session.next(`berth secret rotate ${path} --phase ${phase}`)];
        throw new Failure(`${phase} is not accepted yet`, { exitCode: EXIT.notHealthy, advice });
      }
      step.note(hook);
    } catch (error) {
      if (!isBehind(error) || performance.now() - began >= Math.min(timeoutMs, ROLLOUT_MS)) {
        step.fail(error instanceof Refused ? `${phase} is refused` : `${phase} was not accepted`);
        throw error;
      }
      step.note('Waiting: the rollout of the phase before is not complete');
    }
    await pause(POLL_MS, undefined, { signal: session.interrupted });
  }
}

/** One phase of a whole credential: its hooks, and the rollout at everybody who reads it. */
export async function rotateCredential(
  session: Session,
  client: Client,
  rotation: RotationOrder,
): Promise<ExitCode> {
  const { path, phase, timeoutMs } = rotation;
  const answer = await askForPhase(session, client, rotation);
  for (const warning of answer.warnings ?? []) session.terminal.err(`  ! ${textOf(warning.why)}\n`);
  let code: ExitCode = EXIT.ok;
  for (const consumer of timeoutMs === undefined ? [] : (answer.consumers ?? [])) {
    const name = textOf(consumer.deployment);
    const record = await client.record('GET /api/v1/deployments/{name}', named(name));
    const wanted = { name, specHash: textOf(record.specHash), alone: true };
    const waited = await waitUntilHealthy(session, client, wanted, timeoutMs ?? 0);
    if (waited !== EXIT.ok) code = waited;
  }
  if (code === EXIT.ok)
    session.terminal.err(
      phase === 'retire' || phase === 'abort'
        ? `the rotation is over: version ${textOf(answer.version)} alone is delivered\n`
        : `${session.next(`berth secret rotate ${path} --phase ${textOf(answer.next)}`)}\n`,
    );
  return code;
}

export const hooksCommand: Subcommand = {
  name: 'hooks',
  summary: 'Set the jobs that the rotation of a credential runs',
  description: [
    'A credential may name jobs of the tenant: apply makes the new values valid beside the old ones and runs before promote, once every container holds both; revoke takes the old ones away and runs before retire. Each job reads the credential by a secrets entry of its own, and its container receives the new values as NAME_key and the old ones as NAME_key_PREVIOUS.',
    'The hooks that are named replace those that are stored; without a flag they are shown. A hook may be run more than once for the same values, so it must be able to.',
  ],
  parameters: [{ term: '<path>', description: 'NAMESPACE/NAME, e.g. resources/db.', names: 'secrets' }],
  options: [
    { flags: '--apply <job>', description: 'The job that makes the new values valid.', names: 'jobs' },
    { flags: '--revoke <job>', description: 'The job that takes the old values away.', names: 'jobs' },
    { flags: '--none', description: 'No hooks any more.' },
    OUTPUT_OPTION,
    ...REMOTE_OPTIONS,
  ],
  examples: [
    {
      line: 'berth secret hooks resources/db --apply db-apply --revoke db-revoke',
      what: 'change the database along with the credential',
    },
  ],
  run: async (session, { parameters: [path = ''], options }) => {
    const format = outputFormat(options);
    const at = secretParams(path);
    const client = session.client(options);
    const [apply, revoke] = [options.text('apply'), options.text('revoke')];
    const isNone = options.flag('none');
    const isNamed = apply !== undefined || revoke !== undefined;
    if (isNone && isNamed) throw usage('--none stands alone');
    const body = { ...(apply !== undefined && { apply }), ...(revoke !== undefined && { revoke }) };
    const record: Hooked =
      isNone || isNamed
        ? await client.record('PUT /api/v1/secrets/{namespace}/{name}/hooks', { ...at, body })
        : await client.record('GET /api/v1/secrets/{namespace}/{name}', at);
    if (format === 'table') {
      const hooks = (['apply', 'revoke'] as const).flatMap((hook) => {
        const job = textOf(record.hooks?.[hook]);
        return job === '' ? [] : [`${hook} ${job}`];
      });
      session.terminal.out(
        `secret/${path}: ${hooks.length === 0 ? 'no hooks' : `hooks ${hooks.join(', ')}`}\n`,
      );
    } else await printRecord(session.terminal, resourceOf('secrets'), record, format, session.now());
    return EXIT.ok;
  },
};
