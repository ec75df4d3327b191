import { isRecord } from '../core/model/values.ts';
import { unjudged } from '../sdk/index.ts';
import { type Client, type Json, named } from './client.ts';
import { planDeployment, showPlan, unlessOvertaken, writeDeployment } from './deploying.ts';
import type { ExitCode } from './exit-code.ts';
import { Failure } from './failure.ts';
import { textOf } from './fields.ts';
import { changesJob, createJob, updateJob } from './job-writing.ts';
import { waitForRun } from './job-wait.ts';
import type { Manifest } from './manifests.ts';
import { alterationLines, warningLines } from './plan-view.ts';
import type { Session } from './session.ts';
import type { Announcements, Volume } from './records.ts';
import { waitUntilReady } from './volumes.ts';
import { waitUntilHealthy } from './waiting.ts';

/** One document on its way: nothing is stored before `write`. */
export interface AppliedPlan {
  readonly name: string;
  /** What the write would remove, which the user has to confirm. */
  readonly removed: readonly string[];
  show(): void;
  /** Answers how to wait until it is up; undefined: there is nothing to wait for. */
  write(): Promise<((timeoutMs: number) => Promise<ExitCode>) | undefined>;
}

/** `alongside`: the names of all documents that are applied together. */
type PlanDocument = (
  session: Session,
  client: Client,
  manifest: Manifest,
  alongside: readonly string[],
) => Promise<AppliedPlan>;

const deployment: PlanDocument = async (session, client, { name, body }, alongside) => {
  const plan = await planDeployment(client, name, body, alongside);
  return {
    name,
    removed: plan.removed,
    show: () => showPlan(session, plan),
    write: async () => {
      if (plan.action === 'unchanged') session.terminal.out(`deployment/${name} unchanged\n`);
      const stored = plan.action === 'unchanged' ? plan.answer : await writeDeployment(session, client, plan);
      const wanted = { name, specHash: textOf(stored.specHash) };
      return (timeoutMs) => waitUntilHealthy(session, client, wanted, timeoutMs);
    },
  };
};

type Wait = (timeoutMs: number) => Promise<ExitCode>;

interface OnceMade<T> {
  /** As it is printed: `network`. */
  readonly kind: string;
  /** Absent: it has to be created. */
  readonly stored: T | undefined;
  readonly make: (query: { readonly dryRun?: true }) => Promise<T & Announcements>;
  /** Beside the name of what was made. */
  readonly made?: (record: T) => string;
  readonly wait?: (record: T) => Wait | undefined;
}

/** What is made once and never changed by a file: what exists was found to be as described. */
async function planOnce<T extends object>(
  { terminal }: Session,
  name: string,
  { kind, stored, make, made, wait }: OnceMade<T>,
): Promise<AppliedPlan> {
  const planned: Announcements = stored === undefined ? await make({ dryRun: true }) : {};
  return {
    name,
    removed: [],
    show: () => {
      const style = terminal.errStyle;
      const [mark, words] = stored === undefined ? ['+', 'to create'] : ['=', 'unchanged'];
      terminal.err(`${style.bold(`${mark} ${kind} ${name}`)} ${style.dim(`(${words})`)}\n`);
      for (const line of alterationLines(planned, style)) terminal.err(`  ${line}\n`);
      for (const line of warningLines(planned, style)) terminal.err(`  ${line}\n`);
    },
    write: async () => {
      const record = stored ?? (await make({}));
      const what = stored === undefined ? `created${made?.(record) ?? ''}` : 'unchanged';
      terminal.out(`${kind}/${name} ${what}\n`);
      return wait?.(record);
    },
  };
}

const network: PlanDocument = async (session, client, { name, body: { kind: _kind, ...body } }) => {
  const stored = await client.recordUnless(['network_not_found'], 'GET /api/v1/networks/{name}', named(name));
  if (stored !== undefined) refuseChange(name, stored, body);
  return await planOnce(session, name, {
    kind: 'network',
    stored,
    make: (query) => client.written('POST /api/v1/networks', { query, body: unjudged(body) }),
  });
};

/** A job keeps its runs when it is changed; the change holds from the next run on. */
const job: PlanDocument = async (session, client, { name, body }, alongside) => {
  const sent = { name, body, alongside };
  const stored = await client.recordUnless(['job_not_found'], 'GET /api/v1/jobs/{name}', named(name));
  const answer = stored && (await updateJob(client, sent, stored, { dryRun: true }));
  if (stored === undefined || answer === undefined || !changesJob(sent, answer)) {
    const runsNow = stored === undefined && textOf(body['schedule']) === '';
    return await planOnce(session, name, {
      kind: 'job',
      stored,
      make: (query) => createJob(client, sent, query),
      wait: () =>
        runsNow ? (timeoutMs) => waitForRun(session, client, name, undefined, timeoutMs) : undefined,
    });
  }
  const removed = answer.removed ?? [];
  return {
    name,
    removed,
    show: () => showPlan(session, { name: `job ${name}`, action: 'update', answer, removed }),
    write: async () => {
      await unlessOvertaken(name, () => updateJob(client, sent, stored));
      session.terminal.out(`job/${name} updated\n`);
      return undefined;
    },
  };
};

/** What a document leaves out was filled in by the control plane: only what it says is compared. */
function isAsDescribed(said: unknown, stored: unknown): boolean {
  if (said === null) return stored === undefined;
  if (typeof said !== 'object') return said === stored;
  if (Array.isArray(said))
    return (
      Array.isArray(stored) &&
      said.length === stored.length &&
      said.every((value, at) => isAsDescribed(value, stored[at]))
    );
  if (!isRecord(stored)) return false;
  return Object.entries(said).every(([key, value]) => isAsDescribed(value, stored[key]));
}

function refuseChange(name: string, stored: Json, body: Json): void {
  const text = (value: unknown): string => JSON.stringify(value) ?? 'nothing';
  const differs = Object.keys(body).filter((key) => text(body[key]) !== text(stored[key]));
  if (differs.length === 0) return;
  throw new Failure(
    `network ${name} exists and differs in ${differs.join(', ')}; a network is not changed once it is made`,
    { advice: [`berth network delete ${name}, then apply again; or another name`] },
  );
}

/** A volume keeps its class, its type and its size; where its primary is now is not the file's to say. */
const volume: PlanDocument = async (session, client, { name, body: { kind: _kind, ...body } }) => {
  const stored = (await client.list('GET /api/v1/dvm/volumes')).find((one) => one.name === name);
  if (stored !== undefined) refuseVolumeChange(name, stored, body);
  return await planOnce<Volume>(session, name, {
    kind: 'volume',
    stored,
    make: (query) => client.written('POST /api/v1/dvm/volumes', { query, body: unjudged(body) }),
    made: (record) => ` (${textOf(record.id)})`,
    wait: (record) => (timeoutMs) => waitUntilReady(session, client, record, timeoutMs),
  });
};

function refuseVolumeChange(name: string, stored: Volume, { nodeId: _node, ...body }: Json): void {
  const sizeBytes = stored.wantedSizeBytes ?? stored.sizeBytes;
  const now: Json = { ...stored, replicas: stored.wantedReplicas, sizeBytes };
  const differs = Object.keys(body).filter((key) => !isAsDescribed(body[key], now[key]));
  if (differs.length === 0) return;
  throw new Failure(
    `volume ${name} exists and differs in ${differs.join(', ')}; a volume is not changed by a file`,
    {
      advice: [
        `berth volume add-replica ${name} NODE · berth volume remove-replica ${name} NODE   change its copies`,
        'berth recommendation list                                       says when another size would be better',
      ],
    },
  );
}

/** What `apply` takes, by kind. A new kind is one entry. */
export const APPLIED_KINDS: Readonly<Record<string, PlanDocument>> = {
  Deployment: deployment,
  Network: network,
  Job: job,
  Volume: volume,
};
