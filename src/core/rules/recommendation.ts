import { nearest } from '../schema/nearest.ts';
import type { Alteration } from '../model/announcement.ts';
import {
  type Recommendation,
  RECOMMENDATION_ACTIONS,
  RECOMMENDATION_PRIORITIES,
  RECOMMENDATION_TYPES,
  type RecommendationAction,
} from '../model/recommendation.ts';
import { isIntegerWithin, isRecord } from '../model/values.ts';
import { LEAST_RESIZED_BYTES, type VolumeRecord } from '../model/volume.ts';
import { received, redacted } from '../rejections/redaction.ts';
import { isRejection, reject } from '../rejections/reject.ts';
import type { Rejection } from '../rejections/rejection.ts';
import { MAX_COPIES, readVolumeSize } from './volume-record.ts';

export function filterRejection(query: {
  readonly priority?: string | undefined;
  readonly type?: string | undefined;
}): Rejection | undefined {
  const { priority, type } = query;
  if (priority !== undefined && !RECOMMENDATION_PRIORITIES.some((one) => one === priority)) {
    return reject('dvm_recommendation_unknown_priority', {
      field: 'priority',
      received: received(priority),
      why: 'No recommendation has this priority, and an empty answer would read as if all were well.',
    });
  }
  if (type !== undefined && !RECOMMENDATION_TYPES.some((one) => one === type)) {
    return reject('dvm_recommendation_unknown_type', {
      field: 'type',
      received: received(type),
      why: 'No recommendation has this type, and an empty answer would read as if all were well.',
    });
  }
  return undefined;
}

/** The action, with the parameters of the request in place of the recommended ones. */
export interface AppliedChange {
  readonly action: RecommendationAction;
  readonly target: number;
  /** What was recommended and not sent. */
  readonly alterations: readonly Alteration[];
}

const TARGETS = { set_replicas: 'target_replicas', resize: 'target_size_bytes' } as const;
const PARAMETERS = ['action', 'target_replicas', 'target_size_bytes'];

function bad(name: string, value: unknown, expected: string, why: string): Rejection {
  return reject('dvm_recommendation_bad_parameter', {
    field: name === '' ? 'parameters' : `parameters.${name}`,
    received: received(value),
    expected,
    why,
  });
}

/** Absent parameters are the recommended ones, which is announced. */
export function appliedChange(
  { parameters: recommended }: Recommendation,
  sent: unknown,
): AppliedChange | Rejection {
  if (sent !== undefined && !isRecord(sent)) return bad('', sent, 'an object', 'Parameters are named.');
  const parameters: Readonly<Record<string, unknown>> = { ...recommended, ...sent };
  const { action } = parameters;
  const known = RECOMMENDATION_ACTIONS.find((one) => one === action);
  if (known === undefined) {
    return reject('dvm_recommendation_unknown_action', {
      field: 'parameters.action',
      received: received(action),
      why: 'There is no such action.',
    });
  }
  if (known !== recommended.action)
    return bad('action', action, recommended.action ?? 'none', 'The recommendation is for another action.');
  const wanted = TARGETS[known];
  for (const key of Object.keys(parameters)) {
    if (key === 'action' || key === wanted) continue;
    const isKnown = PARAMETERS.includes(key);
    const near = isKnown ? undefined : nearest(key, PARAMETERS);
    const hint = near === undefined ? '.' : `; did you mean ${near}?`;
    // What an unknown parameter holds is not known either, so it is never echoed.
    const shown = isKnown ? parameters[key] : redacted(parameters[key]);
    return bad(key, shown, wanted, `The action ${known} takes ${wanted} and no ${key}${hint}`);
  }
  const target = parameters[wanted];
  if (!isIntegerWithin(target, 1, Number.MAX_SAFE_INTEGER))
    return bad(
      wanted,
      target,
      `an integer from 1 to ${Number.MAX_SAFE_INTEGER}`,
      typeof target === 'number'
        ? `${wanted} is no whole number, or outside the range.`
        : `${wanted} is a plain number, without a unit.`,
    );
  const absent = ['action', wanted].filter((name) => sent === undefined || !Object.hasOwn(sent, name));
  const alterations = absent.map((name) => ({
    field: `parameters.${name}`,
    from: '(absent)',
    to: received(parameters[name]),
    why: 'as recommended',
  }));
  return { action: known, target, alterations };
}

/** What the agent of the primary measured for this request. */
export interface FreshMeasurement {
  readonly sizeBytes: number;
  readonly usedBytes: number;
  readonly shrinkable: boolean;
}

export interface ApplyFacts {
  readonly record: VolumeRecord;
  /** Of a resize; a text says why there is none. */
  readonly measured?: FreshMeasurement | string;
  readonly enrolledNodes: number;
}

function sizeRejection(target: number, { record, measured }: ApplyFacts): Rejection | undefined {
  const size = readVolumeSize(record.class, target);
  if (isRejection(size)) return invalidSpec(target, size.expected, size.why);
  if (measured === undefined || typeof measured === 'string') {
    return reject('dvm_recommendation_stale_measurement', {
      field: 'parameters.target_size_bytes',
      received: received(target),
      expected: 'a volume whose primary answers',
      why: `What the volume holds now cannot be measured: ${measured ?? 'it has no primary.'}`,
    });
  }
  const { sizeBytes, usedBytes, shrinkable } = measured;
  if (target < usedBytes) {
    return reject('dvm_recommendation_stale_measurement', {
      field: 'parameters.target_size_bytes',
      received: received(target),
      expected: `at least ${usedBytes}`,
      why: `The volume holds ${usedBytes} bytes now.`,
    });
  }
  if (target >= sizeBytes) return undefined;
  if (!shrinkable) {
    const why = 'The file system of the volume cannot be made smaller while it is in use.';
    return bad('target_size_bytes', target, `at least ${sizeBytes}`, why);
  }
  if (target >= LEAST_RESIZED_BYTES) return undefined;
  const expected = `at least ${LEAST_RESIZED_BYTES}`;
  return invalidSpec(target, expected, 'A volume cannot be made smaller than 256 MiB while it is in use.');
}

function invalidSpec(target: number, expected: string, why: string): Rejection {
  return reject('dvm_recommendation_apply_invalid_spec', {
    field: 'spec',
    received: received(target),
    expected,
    why,
  });
}

/** The changed volume must be one that could be written, and hold what it holds. */
export function changeRejection({ action, target }: AppliedChange, facts: ApplyFacts): Rejection | undefined {
  const { enrolledNodes } = facts;
  if (action === 'set_replicas') {
    if (target > MAX_COPIES)
      return invalidSpec(target, `at most ${MAX_COPIES} copies`, 'No volume has so many copies.');
    if (target < enrolledNodes) return undefined;
    return reject('dvm_recommendation_insufficient_nodes', {
      field: 'parameters.target_replicas',
      received: received(target),
      expected: `at most ${Math.max(0, enrolledNodes - 1)}`,
      why: `${target} copies need ${target + 1} enrolled nodes, there are ${enrolledNodes}.`,
    });
  }
  return sizeRejection(target, facts);
}
