import { isRecord } from '../core/model/values.ts';
import { type Client, type Json, named } from './client.ts';
import { type BodyFor, unjudged } from '../sdk/index.ts';
import type { OptionValues } from './option-values.ts';
import { confirm } from './confirmation.ts';
import { Failure, Refused } from './failure.ts';
import { textOf } from './fields.ts';
import { actionLines, alterationLines, diffLines, placementLines, warningLines } from './plan-view.ts';
import type { Announcements, DeploymentWritten, PlacementPlan } from './records.ts';
import type { Session } from './session.ts';

/** One deployment on its way to the control plane. */
export interface Planned {
  readonly name: string;
  readonly body: Json;
  readonly action: 'create' | 'update' | 'unchanged';
  /** Of what is replaced; the write is refused when another one came first. */
  readonly revision?: number;
  readonly answer: DeploymentWritten;
  readonly removed: readonly string[];
  readonly alongside?: readonly string[];
  /** The plan that was shown to whoever applies it now. */
  readonly plan?: string;
}

/** Of the names that are applied together, those that the body refers to: the address of a request is short. */
export function alongsideQuery(
  { networks, access }: Json,
  alongside: readonly string[] = [],
): { readonly alongside?: string } {
  const listed = [networks, isRecord(access) ? access['from'] : undefined].flatMap((list): unknown[] =>
    Array.isArray(list) ? list : [],
  );
  const names = alongside.filter((name) => listed.includes(name));
  return names.length === 0 ? {} : { alongside: names.join(',') };
}

/** Runs every rule and the scheduler without storing anything. */
export async function planDeployment(
  client: Client,
  name: string,
  body: Json,
  alongside: readonly string[] = [],
): Promise<Planned> {
  const stored = await client.recordUnless(
    ['deployment_not_found'],
    'GET /api/v1/deployments/{name}',
    named(name),
  );
  const revision = stored?.revision;
  const answer = await send(client, { name, body, revision, alongside }, { dryRun: true });
  const removed = answer.removed ?? [];
  if (stored === undefined) return { name, body, action: 'create', answer, removed, alongside };
  const changed = (answer.plan?.diff ?? []).length > 0 || removed.length > 0 || carriesMaterial(body);
  return {
    name,
    body,
    action: changed ? 'update' : 'unchanged',
    ...(revision === undefined ? {} : { revision }),
    answer,
    removed,
    alongside,
  };
}

/** Material for the secrets store leaves no trace in the record, so equal records do not mean that there is nothing to do. */
function carriesMaterial(body: Json): boolean {
  const entries: readonly unknown[] = Array.isArray(body['secrets']) ? body['secrets'] : [];
  return entries.some((entry) => isRecord(entry) && ('values' in entry || 'generate' in entry));
}

function send(
  client: Client,
  {
    name,
    body,
    revision,
    alongside,
    plan,
  }: Pick<Planned, 'name' | 'body' | 'alongside' | 'plan'> & { readonly revision?: number | undefined },
  query: { readonly dryRun?: true } = {},
): Promise<DeploymentWritten> {
  const said = {
    query: { ...query, ...(plan !== undefined && { plan }), ...alongsideQuery(body, alongside) },
    body: unjudged<BodyFor<'POST /api/v1/deployments'>>(body),
  };
  return revision === undefined
    ? client.written('POST /api/v1/deployments', said)
    : client.written('PUT /api/v1/deployments/{name}', { ...named(name), ...said, ifMatch: revision });
}

/** What is shown of a plan, of a job's too. */
export interface ShownPlan extends Pick<Planned, 'name' | 'action' | 'removed'> {
  readonly answer: Announcements & { readonly plan?: PlacementPlan | undefined };
}

const MARKS = { create: '+', update: '~', unchanged: '=' } as const;

/** What will happen and why: the diff, the defaults with their reasons, the node with its reason. */
export function showPlan(session: Session, { name, action, answer, removed }: ShownPlan): void {
  const { terminal } = session;
  const style = terminal.errStyle;
  const line = (text: string): void => terminal.err(`${text}\n`);
  line(
    `${style.bold(`${MARKS[action]} ${name}`)} ${style.dim(`(${action === 'unchanged' ? 'unchanged' : `to ${action}`})`)}`,
  );
  const differences = answer.plan?.diff ?? [];
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
  if (action !== 'unchanged') {
    for (const text of actionLines(answer.plan ?? {}, style)) line(text);
    for (const text of placementLines(answer.plan ?? {}, style)) line(text);
  }
  if (removed.length > 0) line(`  ${style.red('takes away:')} ${removed.join(', ')}`);
  for (const text of warningLines(answer, style)) line(`  ${text}`);
}

/** Taking something away silently is how credentials get lost: the user has to confirm. */
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

export async function writeDeployment(
  session: Session,
  client: Client,
  planned: Omit<Planned, 'answer' | 'removed'>,
): Promise<DeploymentWritten> {
  const written = await unlessOvertaken(planned.name, () => send(client, planned));
  session.terminal.out(
    `deployment/${planned.name} ${planned.action === 'create' ? 'created' : 'updated'} (revision ${textOf(written.revision)})\n`,
  );
  return written;
}

const OVERTAKEN: ReadonlySet<string> = new Set([
  'revision_mismatch',
  'deployment_already_exists',
  'job_already_exists',
]);

/** The write of a plan that was looked at: somebody may have come first. */
export async function unlessOvertaken<T>(name: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    const code = error instanceof Refused ? error.rejection.code : undefined;
    if (code === undefined || !OVERTAKEN.has(code)) throw error;
    throw new Failure(
      `${name} was changed by somebody else while you looked at the plan; nothing was changed by you`,
      {
        advice: ['Run the command again to see the plan against what is stored now.', `code: ${code}`],
        cause: error,
      },
    );
  }
}
