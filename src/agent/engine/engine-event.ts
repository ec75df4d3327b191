import type { EngineEvent, EngineEventKind } from './engine.ts';
import { optional } from '../../core/model/values.ts';
import { fields, nonEmpty, number, text, texts } from './fields.ts';

/** Docker's names and Podman's. What is not listed (exec, attach, Podman's `init` and `cleanup` …) is left out. */
const KINDS: ReadonlyMap<string | undefined, EngineEventKind> = new Map([
  ['create', 'create'],
  ['start', 'start'],
  ['die', 'die'],
  ['died', 'die'],
  ['oom', 'oom'],
  ['health_status', 'health_status'],
  ['pause', 'pause'],
  ['unpause', 'unpause'],
  ['restart', 'restart'],
  ['destroy', 'destroy'],
  ['remove', 'destroy'],
]);

/** Attributes that are the engine's own; all others are the container's labels. */
const ATTRIBUTES: ReadonlySet<string> = new Set([
  'name',
  'image',
  'exitCode',
  'containerExitCode',
  'execDuration',
  'signal',
  'podId',
  'health_status',
]);

/** From a line of `GET /events`; undefined where it is of no interest. */
export function engineEvent(value: unknown): EngineEvent | undefined {
  const top = fields(value);
  if (top['Type'] !== 'container') return undefined;
  const actor = fields(top['Actor']);
  const attributes = texts(actor['Attributes']);
  const [action, detail] = (text(top['Action']) ?? '').split(': ', 2);
  const kind = KINDS.get(action);
  const containerId = nonEmpty(actor['ID']);
  if (kind === undefined || containerId === undefined) return undefined;
  const exit = attributes['exitCode'] ?? attributes['containerExitCode'];
  return {
    kind,
    containerId,
    name: attributes['name'] ?? '',
    labels: Object.fromEntries(Object.entries(attributes).filter(([key]) => !ATTRIBUTES.has(key))),
    atMs: (number(top['timeNano']) ?? 0) / 1e6 || (number(top['time']) ?? 0) * 1000,
    ...optional('exitCode', kind === 'die' && exit !== undefined ? Number(exit) : undefined),
    ...optional(
      'health',
      kind === 'health_status'
        ? health(detail ?? attributes['health_status'] ?? top['HealthStatus'])
        : undefined,
    ),
  };
}

function health(value: unknown): EngineEvent['health'] {
  return value === 'starting' || value === 'healthy' || value === 'unhealthy' ? value : undefined;
}
