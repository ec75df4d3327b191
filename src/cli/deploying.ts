import { type Answer, type Client, deploymentPath, type Json } from './client.ts';
import type { OptionValues } from './option-values.ts';
import { confirm } from './confirmation.ts';
import { Failure, Refused } from './failure.ts';
import { listOf, mapOf, numberOf, textOf, textsOf } from './fields.ts';
import { alterationLines, diffLines, placementLines, warningLines } from './plan-view.ts';
import type { Session } from './session.ts';

/** One deployment on its way to the control plane. */
export interface Planned {
  readonly name: string;
  readonly body: Json;
  readonly action: 'create' | 'update' | 'unchanged';
  /** Of what is replaced; the write is refused when somebody else was quicker. */
  readonly revision?: number;
  readonly answer: Json;
  readonly removed: readonly string[];
}

/** Runs every rule and the scheduler without storing anything. */
export async function planDeployment(client: Client, name: string, body: Json): Promise<Planned> {
  const stored = await client.recordUnless(['deployment_not_found'], { path: deploymentPath(name) });
  const revision = numberOf(stored, 'revision');
  const answer = await client.record({ ...writeCall(name, body, revision), query: { dryRun: 'true' } });
  const removed = textsOf(answer, 'removed');
  if (stored === undefined) return { name, body, action: 'create', answer, removed };
  const changed = listOf(answer, 'plan.diff').length > 0 || removed.length > 0 || carriesMaterial(body);
  return {
    name,
    body,
    action: changed ? 'update' : 'unchanged',
    ...(revision === undefined ? {} : { revision }),
    answer,
    removed,
  };
}

/** Material for the secrets store leaves no trace in the record, so that equal records do not mean that nothing is to be done. */
function carriesMaterial(body: Json): boolean {
  return listOf(body, 'secrets').some((entry) => 'values' in entry || 'generate' in entry);
}

function writeCall(name: string, body: Json, revision: number | undefined) {
  return revision === undefined
    ? ({ method: 'POST', path: '/api/v1/deployments', body } as const)
    : ({ method: 'PUT', path: deploymentPath(name), body, ifMatch: revision } as const);
}

const MARKS = { create: '+', update: '~', unchanged: '=' } as const;

/** What will happen and why: the diff, the defaults with their reasons, the node with its reason. */
export function showPlan(session: Session, { name, action, answer, removed }: Planned): void {
  const { terminal } = session;
  const style = terminal.errStyle;
  const line = (text: string): void => terminal.err(`${text}\n`);
  line(
    `${style.bold(`${MARKS[action]} ${name}`)} ${style.dim(`(${action === 'unchanged' ? 'unchanged' : `to ${action}`})`)}`,
  );
  const differences = listOf(answer, 'plan.diff');
  for (const text of diffLines(differences, style)) line(text);
  const alterations = alterationLines(answer, style);
  if (alterations.length > 0 && action !== 'unchanged') {
    line(
      action === 'create'
        ? '  defaults and changes by the control plane:'
        : '  changed by the control plane:',
    );
    for (const text of alterations) line(`  ${text}`);
  }
  if (action !== 'unchanged') for (const text of placementLines(mapOf(answer, 'plan'), style)) line(text);
  if (removed.length > 0) line(`  ${style.red('takes away:')} ${removed.join(', ')}`);
  for (const text of warningLines(answer, style)) line(`  ${text}`);
}

/** Taking something away silently is how credentials get lost (lessons, row 16): somebody has to say yes. */
export async function confirmRemoval(
  session: Session,
  planned: readonly Pick<Planned, 'name' | 'removed'>[],
  options: OptionValues,
): Promise<void> {
  const losing = planned.filter(({ removed }) => removed.length > 0);
  if (losing.length === 0 || options.flag('allowRemoval')) return;
  const what = losing.map(({ name, removed }) => `${name} loses ${removed.join(', ')}`).join('; ');
  await confirm(session, {
    what,
    ask: `${what}. Go on?`,
    otherwise: 'nothing was changed',
    flag: '--allow-removal',
  });
}

export async function writeDeployment(session: Session, client: Client, planned: Planned): Promise<Json> {
  const answer: Answer = await client.call(writeCall(planned.name, planned.body, planned.revision));
  if (answer.ok) {
    const body = answer.body as Json;
    session.terminal.out(
      `deployment/${planned.name} ${planned.action === 'create' ? 'created' : 'updated'} (revision ${textOf(body, 'revision')})\n`,
    );
    return body;
  }
  if (['revision_mismatch', 'deployment_already_exists'].includes(answer.rejection.code)) {
    throw new Failure(
      `${planned.name} was changed by somebody else while you looked at the plan; nothing was changed by you`,
      {
        advice: [
          'Run the command again to see the plan against what is stored now.',
          `code: ${answer.rejection.code}`,
        ],
      },
    );
  }
  throw new Refused(answer.rejection, answer.status);
}
