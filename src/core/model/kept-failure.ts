import type { DeploymentId, InstanceId, NodeName } from './ids.ts';

/** Of the end of what an instance printed. */
export const FAILURE_LINES = 200;
export const FAILURE_BYTES = 32 * 1024;
const KEPT_OF_INSTANCE = 2;
const KEPT_OF_DEPLOYMENT = 10;
export const KEPT_OF_TENANT = 128;
export const KEPT_DAYS = 7;

/** One failure of one instance, as lists show it. */
export interface KeptFailure {
  /** Of the run that failed: the same failure, told twice, is kept once. */
  readonly key: string;
  readonly instance: InstanceId;
  readonly nodeId: NodeName;
  readonly specHash: string;
  readonly canary?: boolean;
  /** On the server's clock. */
  readonly at: string;
  /** Stable, as in an observation. */
  readonly reason: string;
  readonly message: string;
  readonly exitCode?: number;
  readonly ranMs?: number;
  /** How many are kept. */
  readonly lines: number;
}

/** The newest ones of a deployment, oldest first; what was printed is in `failure-logs`. */
export interface KeptFailures {
  /** Another deployment of the name has its own. */
  readonly deploymentId: DeploymentId;
  readonly kept: readonly KeptFailure[];
}

export interface PrintedLine {
  /** On the node's clock. */
  readonly at?: string;
  readonly text: string;
}

/** Without values that the container was given. */
export interface FailureLog {
  readonly lines: readonly PrintedLine[];
  /** Lines before these that were not kept. */
  readonly dropped?: number;
  /** What the last health check printed. */
  readonly health?: string;
}

/** With one more: of an instance and of a deployment the newest stay. */
export function withFailure(
  before: readonly KeptFailure[],
  failure: KeptFailure,
): { readonly kept: readonly KeptFailure[]; readonly gone: readonly KeptFailure[] } {
  const all = [...before, failure];
  const ofInstance = all.filter(({ instance }) => instance === failure.instance);
  const tooMany = new Set(ofInstance.slice(0, -KEPT_OF_INSTANCE));
  const kept = all.filter((one) => !tooMany.has(one)).slice(-KEPT_OF_DEPLOYMENT);
  return { kept, gone: all.filter((one) => !kept.includes(one)) };
}

/** What programs of any language call their last word. */
const TELLING = ['fatal', 'panic', 'emerg', 'error', 'exception', 'failed', 'cannot', 'denied'];
const LOOKED_AT = 50;
const LONGEST_CAUSE = 200;

/** The line that most likely says why: the last one that speaks of a failure, else the last one. */
export function tellingLine(lines: readonly PrintedLine[]): string | undefined {
  const printed = lines
    .slice(-LOOKED_AT)
    .map(({ text }) => text.trim())
    .filter((text) => text !== '');
  const found =
    printed.findLast((text) => {
      const lower = text.toLowerCase();
      return TELLING.some((word) => lower.includes(word));
    }) ?? printed.at(-1);
  if (found === undefined) return undefined;
  return found.length <= LONGEST_CAUSE ? found : `${found.slice(0, LONGEST_CAUSE)}…`;
}

/** Of the time of a line, and of what JSON puts around it. */
const AROUND_BYTES = 60;

/** The newest lines that fit; the first that is too long by itself is cut. */
export function boundedLines(lines: readonly PrintedLine[]): FailureLog {
  const kept: PrintedLine[] = [];
  let left = FAILURE_BYTES;
  for (const { at, text } of lines.slice(-FAILURE_LINES).toReversed()) {
    if (left <= 0) break;
    const cut = cutTo(text, left);
    kept.push({ ...(at !== undefined && { at: at.slice(0, 40) }), text: cut });
    left -= byteLength(cut) + AROUND_BYTES;
  }
  const dropped = lines.length - kept.length;
  return { lines: kept.toReversed(), ...(dropped > 0 && { dropped }) };
}

/** A character of another script takes up to three bytes for each of its units. */
function cutTo(text: string, bytes: number): string {
  if (text.length <= bytes / 3) return text;
  const actual = byteLength(text);
  return actual <= bytes ? text : `${text.slice(0, actual === text.length ? bytes : bytes / 3)}…`;
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
