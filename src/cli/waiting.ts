import { reasonOf } from '../core/model/reason.ts';
import { parseDuration } from '../core/model/quantity.ts';
import { type Client, named } from './client.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import { Failure } from './failure.ts';
import { textOf } from './fields.ts';
import { instanceParts } from './instance-parts.ts';
import { lastLogLines } from './log-source.ts';
import type { OptionValues } from './option-values.ts';
import { reasonLines } from './plan-view.ts';
import type { Deployment, Explanation, Instance, KeptFailure } from './records.ts';
import type { Session } from './session.ts';
import { Settling } from './settling.ts';
import { spanText } from './table.ts';
import { watched } from './watching.ts';
import { isLasting, isUnplaced, refusedNodes, refusingNodes } from './unplaced.ts';

const LAST_LINES = 10;
/** A rollout, or something that ends elsewhere, may make room a moment later. */
const UNPLACED_MS = 10_000;

export interface Wanted {
  readonly name: string;
  /** The spec that has to become healthy; another one in its place means that the control plane went back. */
  readonly specHash: string;
  /** What ran before has to be gone as well: it goes on for a moment, so that its connections end. */
  readonly alone?: boolean;
}

export type Judgement =
  | { readonly state: 'healthy'; readonly text: string }
  | { readonly state: 'waiting'; readonly text: string }
  /** The control plane has given it up, and may have put the version before back. */
  | { readonly state: 'failed'; readonly text: string }
  | { readonly state: 'reverted'; readonly text: string };

/**
 * The phase alone may be about the spec before: it is written a moment after the change. So the instances are checked,
 * which carry the hash of the spec they run.
 */
export function judge(record: Deployment, { specHash, alone = false }: Wanted): Judgement {
  const phase = textOf(record.status?.phase);
  const message = textOf(record.status?.message);
  const rollout = record.status?.rollout;
  if (textOf(record.specHash) !== specHash) {
    const failed = rollout?.failed;
    if (failed === undefined || textOf(failed.specHash) !== specHash)
      return { state: 'reverted', text: 'another change was written before this one was healthy' };
    return {
      state: 'failed',
      text: `version ${textOf(failed.version)} failed, and the version before is back: ${textOf(failed.message)}`,
    };
  }
  const desired = record.replicas ?? 0;
  const current = (record.status?.instances ?? []).filter(
    (instance) => textOf(instance.specHash) === specHash,
  );
  if (desired === 0) {
    return phase === 'Stopped' ? { state: 'healthy', text: 'stopped' } : { state: 'waiting', text: message };
  }
  const healthy = record.status?.healthy ?? 0;
  const judged = record.status?.desired === desired;
  if (phase === 'Running' && judged && healthy >= desired && current.length >= desired) {
    if (alone && record.status?.instances?.some(({ state }) => state === 'stopping') === true)
      return { state: 'waiting', text: 'Running: what ran before is stopping' };
    return { state: 'healthy', text: `${healthy} of ${desired} healthy on ${nodesText(current)}` };
  }
  if (rollout?.state === 'failed' && judged) return { state: 'failed', text: message };
  return { state: 'waiting', text: phase === 'Running' ? 'rolling out' : `${phase}: ${message}` };
}

function nodesText(instances: readonly { readonly nodeId?: string | undefined }[]): string {
  const nodes = [...new Set(instances.map((instance) => textOf(instance.nodeId)))];
  return nodes.length <= 3 ? nodes.join(', ') : `${nodes.length} nodes`;
}

/** Shows what is going on until the deployment is healthy; says why, with the last lines of its output, when it is not. */
export async function waitUntilHealthy(
  session: Session,
  client: Client,
  wanted: Wanted,
  timeoutMs: number,
): Promise<ExitCode> {
  const deadline = performance.now() + timeoutMs;
  let last = '';
  let placedUntil = performance.now();
  const settling = new Settling();
  return watched(session, wanted.name, async (step) => {
    const record = await client.record('GET /api/v1/deployments/{name}', named(wanted.name));
    const judgement = judge(record, wanted);
    const settled = settling.see(record, judgement.state === 'healthy', performance.now());
    if (judgement.state === 'waiting' || (judgement.state === 'healthy' && !settled))
      step.parts(instanceParts(record, wanted.specHash));
    if (judgement.state === 'healthy') {
      if (!settled) return 'Running: without a health check, looking whether it stays up';
      step.done(judgement.text);
      return EXIT.ok;
    }
    if (judgement.text !== last || !isUnplaced(record)) placedUntil = performance.now();
    last = judgement.text;
    if (performance.now() - placedUntil >= UNPLACED_MS) {
      const refusal = await refusedNodes(client, wanted.name);
      if (refusal !== undefined && isLasting(refusingNodes(refusal))) {
        step.fail('no node takes it; it is stored, and starts once one does');
        explainUnplaced(session, wanted.name, last, refusal);
        return EXIT.notHealthy;
      }
      placedUntil = performance.now();
    }
    const falls = settling.isOver(performance.now());
    if (judgement.state !== 'waiting' || falls || performance.now() >= deadline) {
      const late = falls ? 'it started, and does not stay up' : `not healthy within ${spanText(timeoutMs)}`;
      step.fail(judgement.state === 'waiting' ? late : VERDICTS[judgement.state]);
      await explainFailure(session, client, record, { text: last, specHash: wanted.specHash });
      return EXIT.notHealthy;
    }
    return last.replace(/^(\w+: )(.+)$/s, (_all, phase: string, why: string) => `${phase}${reasonOf(why)}`);
  });
}

function explainUnplaced(
  { terminal, next }: Session,
  name: string,
  text: string,
  { nodes = [], total = 0 }: Explanation,
): void {
  terminal.err(`  ${text}\n`);
  for (const line of nodes.flatMap((node) => reasonLines(node, terminal.errStyle))) terminal.err(`${line}\n`);
  if (total > nodes.length) terminal.err(`  and ${total - nodes.length} more nodes\n`);
  terminal.err(`  ${next(nodes.length === 0 ? 'berth node token' : `berth explain ${name}`)}\n`);
}

const VERDICTS = { failed: 'the rollout failed', reverted: 'another change came before' } as const;

async function explainFailure(
  session: Session,
  client: Client,
  record: Deployment,
  { text, specHash }: { readonly text: string; readonly specHash: string },
): Promise<void> {
  const { terminal } = session;
  const style = terminal.errStyle;
  const name = textOf(record.name);
  const refusing = isUnplaced(record) ? await refusedNodes(client, name) : undefined;
  if (refusing !== undefined) {
    explainUnplaced(session, name, text, refusing);
    return;
  }
  terminal.err(`  ${text}\n`);
  const instances = await client.attempt('GET /api/v1/deployments/{name}/instances', named(name));
  const all = instances.ok ? instances.body : [];
  // A canary is no part of the rollout, whatever becomes of it.
  const observed = all.filter((instance) => instance.canary !== true);
  const troubled = observed.filter(
    (instance) => textOf(instance.specHash) === specHash && isTroubled(instance),
  );
  for (const instance of troubled) terminal.err(`  ${troubleText(instance)}\n`);
  const kept = await keptFailures(client, name, specHash);
  const gone = kept.filter(({ instance }) => !troubled.some(({ id }) => id === instance));
  for (const failure of gone.slice(0, NAMED)) terminal.err(`  ${failureText(failure)}\n`);
  const [first] = kept;
  // Without a container there is no output, only a message about that, which the reason has said better.
  const one = textOf(first?.instance) || troubled.find(({ containerId }) => textOf(containerId) !== '')?.id;
  const lines =
    one === undefined
      ? []
      : await lastLogLines(client, name, {
          tail: LAST_LINES,
          instance: one,
          ...(first !== undefined && { previous: true }),
        });
  if (lines.length > 0) terminal.err(`  the last output of ${one}:\n`);
  for (const line of lines) terminal.err(`  ${style.dim('│')} ${line.text}\n`);
  const isChange = observed.some((instance) => textOf(instance.specHash) !== textOf(record.specHash));
  const undo = isChange && textOf(record.specHash) === specHash ? ` · berth rollout undo ${name}` : '';
  const advice =
    first !== undefined
      ? `berth logs ${name} --previous${undo}`
      : troubled.length === 0
        ? `berth explain ${name}`
        : `berth describe deployment ${name}${undo}`;
  terminal.err(`  ${session.next(advice)}\n`);
}

const NAMED = 3;

/** Newest first; of a control plane that keeps none, none. */
async function keptFailures(client: Client, name: string, specHash: string): Promise<readonly KeptFailure[]> {
  const answer = await client.attempt('GET /api/v1/deployments/{name}/failures', named(name));
  const kept = answer.ok ? answer.body : [];
  return kept.filter((failure) => textOf(failure.specHash) === specHash && failure.canary !== true);
}

export function failureText({ instance, nodeId, message }: KeptFailure): string {
  return `${textOf(instance)} on ${textOf(nodeId)}: ${textOf(message)}`;
}

function isTroubled(instance: Instance): boolean {
  const health = textOf(instance.health);
  return !(textOf(instance.state) === 'running' && (health === '' || health === 'healthy'));
}

/** What the node's agent last said of an instance that is not as it should be. */
function troubleText(instance: Instance): string {
  const health = textOf(instance.health);
  const text = [textOf(instance.state), health, textOf(instance.reason), textOf(instance.message)];
  const said = [...new Set(text)].filter((word) => word !== '').join(', ');
  return `${textOf(instance.id)} on ${textOf(instance.nodeId)}: ${said}`;
}

/** Of `--timeout`. */
export function timeoutOf(options: OptionValues, fallback = '5m'): number {
  const text = options.text('timeout') ?? fallback;
  const ms = parseDuration(text);
  if (ms === undefined || ms <= 0)
    throw new Failure(`--timeout ${text}: expected a duration such as 30s or 5m`, { exitCode: EXIT.usage });
  return ms;
}
