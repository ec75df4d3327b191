import type { usageHistory } from '../../../core/contract/answers/usage-history.ts';
import { parseDuration } from '../../../core/model/quantity.ts';
import type { HistoryParts, HistoryQuestion, PeerAnswer } from '../../../core/protocol/peer-messages.ts';
import { USAGE_HISTORY } from '../../../core/operations/usage-history.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { type Answer, exactly } from '../../../core/schema/shape.ts';
import { COARSE, FINE } from '../../history/columns.ts';
import type { History } from '../../history/history.ts';
import { figuresOf, type Window, windowOf } from '../../history/window.ts';
import { findDeployment } from '../../reads/deployment.ts';
import { nodeNotFound } from '../../reads/node.ts';
import { idOf } from '../../store/record-ids.ts';
import { deploymentNotFound } from '../../writes/deployments/deployment-write.ts';
import { invalidParameter } from '../paging.ts';
import { type Route, serve } from '../route.ts';

type Part = PeerAnswer<'history'>;

export interface Histories {
  readonly own: Pick<History, 'part'>;
  /** What the other control planes of the store know. */
  readonly others: (question: HistoryQuestion) => Promise<HistoryParts>;
  readonly now: () => Date;
}

const DEFAULT_SINCE_MS = FINE.stepMs * FINE.length;
const LEAST_MS = 60_000;
const MOST_MS = COARSE.stepMs * COARSE.length;
/** Not a number cannot be said in JSON. */
const UNKNOWN = -1;

const asHistory = exactly<Answer<typeof usageHistory>>();

/** For another control plane. */
export function answerHistory(
  history: History,
  { tenantId, of, name, stepMs, from, to }: HistoryQuestion,
): Part {
  const level = stepMs === FINE.stepMs ? FINE : COARSE;
  // No more than is kept, whatever is asked for.
  const first = Math.max(from, to - level.length);
  const columns = history.part(tenantId, of, name, { level, from: first, to, every: 1 }) ?? [];
  return { columns: columns.map((column) => column.map((one) => (Number.isNaN(one) ? UNKNOWN : one))) };
}

function known({ columns }: Part): number[][] {
  return columns.map((column) => column.map((one) => (one < 0 ? Number.NaN : one)));
}

function spanOf(
  query: { readonly since?: string; readonly step?: string },
  nowMs: number,
): Window | Rejection {
  const read = (name: 'since' | 'step'): number | undefined | Rejection => {
    const value = query[name];
    if (value === undefined) return undefined;
    const ms = parseDuration(value);
    if (ms !== undefined && ms >= (name === 'since' ? LEAST_MS : 1) && ms <= MOST_MS) return ms;
    return invalidParameter(
      name,
      value,
      name === 'since' ? 'a duration from 1m to 24h, such as 6h' : 'a duration up to 24h, such as 5m',
    );
  };
  const [since, step] = [read('since'), read('step')];
  if (isRejection(since)) return since;
  return isRejection(step) ? step : windowOf(nowMs, since ?? DEFAULT_SINCE_MS, step);
}

function rounded(digits: number) {
  const scale = 10 ** digits;
  return (value: number | null): number | null => (value === null ? null : Math.round(value * scale) / scale);
}

async function answered(
  { own, others, now }: Histories,
  { tenantId, of, name }: Pick<HistoryQuestion, 'tenantId' | 'of' | 'name'>,
  query: { readonly since?: string; readonly step?: string },
) {
  const window = spanOf(query, now().getTime());
  if (isRejection(window)) return window;
  const { level, from, to, every } = window;
  // No more than is kept; a step of the answer may begin before that.
  const asked = Math.max(from, to - level.length);
  const question: HistoryQuestion = { tenantId, of, name, stepMs: level.stepMs, from: asked, to };
  const { parts, isPartial } = await others(question);
  const here = own.part(tenantId, of, name, window);
  const lead = Array.from({ length: asked - from }, () => Number.NaN);
  const elsewhere = parts
    .map(known)
    .filter(({ length }) => length > 0)
    .map((columns) => columns.map((column) => [...lead, ...column]));
  const all = [...(here === undefined ? [] : [here]), ...elsewhere];
  const { running, wanted, ...figures } = figuresOf(window, all);
  const [cores, whole, tenths] = [rounded(4), rounded(0), rounded(1)];
  return {
    status: 200 as const,
    body: asHistory({
      name,
      start: new Date(from * level.stepMs).toISOString(),
      stepSeconds: (every * level.stepMs) / 1000,
      recorded: all.length > 0,
      ...(isPartial && { partial: true }),
      cpuCores: figures.cpuCores.map(cores),
      cpuCoresMax: figures.cpuCoresMax.map(cores),
      memoryBytes: figures.memoryBytes.map(whole),
      memoryBytesMax: figures.memoryBytesMax.map(whole),
      receivedBytesPerSecond: figures.receivedBytesPerSecond.map(whole),
      sentBytesPerSecond: figures.sentBytesPerSecond.map(whole),
      measured: figures.measured.map(tenths),
      ...(of === 'deployments' && { running, wanted }),
      failures: figures.failures,
    }),
  };
}

export function usageHistoryRoutes(histories: Histories): Route[] {
  return [
    serve(USAGE_HISTORY.ofDeployment, ({ store, params, query }) => {
      const { stored, field } = findDeployment(store, params.name);
      if (stored === undefined) return deploymentNotFound(field, params.name);
      const { name } = stored.record.spec;
      return answered(histories, { tenantId: store.tenantId, of: 'deployments', name }, query);
    }),
    serve(USAGE_HISTORY.ofNode, ({ store, params, query }) => {
      const { name } = params;
      if (store.get('nodes', idOf('nodes', name)) === undefined) return nodeNotFound(name);
      return answered(histories, { tenantId: store.tenantId, of: 'nodes', name }, query);
    }),
  ];
}
