import { type Client, type Json, segment } from './client.ts';
import { planDeployment, showPlan, writeDeployment } from './deploying.ts';
import type { ExitCode } from './exit-code.ts';
import { Failure } from './failure.ts';
import { textOf } from './fields.ts';
import type { Manifest } from './manifests.ts';
import { alterationLines } from './plan-view.ts';
import type { Session } from './session.ts';
import { waitUntilHealthy } from './waiting.ts';

/** One document on its way: nothing is stored before `write`. */
export interface AppliedPlan {
  readonly name: string;
  /** What the write would take away, for which somebody has to say yes. */
  readonly removed: readonly string[];
  show(): void;
  /** Answers how to wait until it is up; undefined: there is nothing to wait for. */
  write(): Promise<((timeoutMs: number) => Promise<ExitCode>) | undefined>;
}

type PlanDocument = (session: Session, client: Client, manifest: Manifest) => Promise<AppliedPlan>;

const deployment: PlanDocument = async (session, client, { name, body }) => {
  const plan = await planDeployment(client, name, body);
  return {
    name,
    removed: plan.removed,
    show: () => showPlan(session, plan),
    write: async () => {
      if (plan.action === 'unchanged') session.terminal.out(`deployment/${name} unchanged\n`);
      const stored = plan.action === 'unchanged' ? plan.answer : await writeDeployment(session, client, plan);
      const wanted = { name, specHash: textOf(stored, 'specHash') };
      return (timeoutMs) => waitUntilHealthy(session, client, wanted, timeoutMs);
    },
  };
};

/** A network is made once and never changed: what exists must be as described. */
const network: PlanDocument = async (session, client, { name, body: { kind: _kind, ...body } }) => {
  const path = '/api/v1/networks';
  const stored = await client.recordUnless(['network_not_found'], { path: `${path}/${segment(name)}` });
  if (stored !== undefined) refuseChange(name, stored, body);
  const { terminal } = session;
  const planned = stored ?? (await client.record({ method: 'POST', path, body, query: { dryRun: 'true' } }));
  return {
    name,
    removed: [],
    show: () => {
      const style = terminal.errStyle;
      const [mark, words] = stored === undefined ? ['+', 'to create'] : ['=', 'unchanged'];
      terminal.err(`${style.bold(`${mark} network ${name}`)} ${style.dim(`(${words})`)}\n`);
      for (const line of alterationLines(planned, style)) terminal.err(`  ${line}\n`);
    },
    write: async () => {
      if (stored === undefined) await client.need({ method: 'POST', path, body });
      terminal.out(`network/${name} ${stored === undefined ? 'created' : 'unchanged'}\n`);
      return undefined;
    },
  };
};

function refuseChange(name: string, stored: Json, body: Json): void {
  const text = (value: unknown): string => JSON.stringify(value) ?? 'nothing';
  const differs = Object.keys(body).filter((key) => text(body[key]) !== text(stored[key]));
  if (differs.length === 0) return;
  throw new Failure(
    `network ${name} exists and differs in ${differs.join(', ')}; a network is not changed once it is made`,
    { advice: [`berth network delete ${name}, then apply again; or another name`] },
  );
}

/** What `apply` takes, by kind. A new kind is one entry. */
export const APPLIED_KINDS: Readonly<Record<string, PlanDocument>> = {
  Deployment: deployment,
  Network: network,
};
