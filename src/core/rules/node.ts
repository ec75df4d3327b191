import { charactersIn } from '../model/characters.ts';
import { isCountry } from '../model/countries.ts';
import { NODE_LABELS } from '../model/labels.ts';
import type { NodeCapacity } from '../model/node.ts';
import type { Region } from '../model/region.ts';
import { received } from '../rejections/redaction.ts';
import { reject } from '../rejections/reject.ts';
import type { Rejection } from '../rejections/rejection.ts';
import { countryRule, labelsRule } from './placement.ts';

const NODE_NAME = /^[a-z0-9][a-z0-9.-]{0,62}$/;
const PLATFORM = /^[a-z0-9]{1,32}\/[a-z0-9]{1,32}(?:\/[a-z0-9]{1,32})?$/;
const MAX_LABELS = 64;
const MAX_CORES = 100_000;
const MAX_TEXT = 128;

export function nodeNameRule(name: string | undefined): Rejection | undefined {
  if (name !== undefined && NODE_NAME.test(name)) return undefined;
  return reject('node_name_invalid', {
    field: 'nodeName',
    received: received(name),
    why: 'A node is named by lowercase letters, digits, dots and hyphens; its name is its id.',
  });
}

function invalid(field: string, value: unknown, expected: string, why: string): Rejection {
  return reject('node_invalid', { field, received: received(value), expected, why });
}

/** One label of a node; the two residency labels are the only ones of the platform's domain that a node may carry. */
export function nodeLabelRule(
  key: string,
  value: string,
  regions: readonly Region[],
  field = 'labels',
): Rejection | undefined {
  if (key === NODE_LABELS.country) return countryRule(`${field}.${key}`, value);
  if (key === NODE_LABELS.region) {
    if (regions.some(({ name }) => name === value)) return undefined;
    return reject('residency_region_undeclared', {
      field: `${field}.${key}`,
      received: received(value),
      expected: `one of: ${regions.map(({ name }) => name).join(', ')}`,
      why: 'The control plane declares no region of this name.',
    });
  }
  return labelsRule({ [key]: value }, field);
}

export function nodeLabelsRule(
  labels: Readonly<Record<string, string>>,
  regions: readonly Region[],
): Rejection | undefined {
  const entries = Object.entries(labels);
  if (entries.length > MAX_LABELS) {
    return reject('labels_invalid', {
      field: 'labels',
      received: `(${entries.length} labels)`,
      expected: `at most ${MAX_LABELS} labels`,
      why: `A node carries at most ${MAX_LABELS} labels.`,
    });
  }
  for (const [key, value] of entries) {
    const rejection = nodeLabelRule(key, value, regions);
    if (rejection) return rejection;
  }
  return undefined;
}

/** Countries are folded to upper case, as in deployments; the caller announces it. What is none stays as it was sent, for its refusal. */
export function foldCountry(labels: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const country = labels[NODE_LABELS.country];
  const folded = country?.length === 2 ? country.toUpperCase() : '';
  return isCountry(folded) ? { ...labels, [NODE_LABELS.country]: folded } : labels;
}

/** What an agent says of its machine, before it is known to be complete. */
export interface NodeDescriptionDraft {
  readonly capacity?:
    | { readonly cpu?: number | undefined; readonly memoryBytes?: number | undefined }
    | undefined;
  readonly platform?: string | undefined;
  readonly engine?: { readonly kind?: string | undefined; readonly version?: string | undefined } | undefined;
  readonly agentVersion?: string | undefined;
}

export interface NodeDescription {
  readonly capacity: NodeCapacity;
  readonly platform: string;
  readonly engine: { readonly kind: string; readonly version: string };
  readonly agentVersion: string;
}

function isShortText(text: string | undefined): boolean {
  return text !== undefined && text !== '' && charactersIn(text) <= MAX_TEXT && !/\p{Cc}/u.test(text);
}

export function nodeDescription(draft: NodeDescriptionDraft): NodeDescription | Rejection {
  const { cpu = 0, memoryBytes = 0 } = draft.capacity ?? {};
  const { kind = '', version = '' } = draft.engine ?? {};
  const { platform = '', agentVersion = '' } = draft;
  if (!(cpu > 0 && cpu <= MAX_CORES)) {
    return invalid(
      'capacity.cpu',
      draft.capacity?.cpu,
      `cores, above 0 and at most ${MAX_CORES}`,
      'The capacity is counted in cores.',
    );
  }
  if (!(Number.isSafeInteger(memoryBytes) && memoryBytes > 0)) {
    return invalid(
      'capacity.memoryBytes',
      draft.capacity?.memoryBytes,
      'a whole number of bytes, 1 or more',
      'The capacity is counted in bytes.',
    );
  }
  if (!PLATFORM.test(platform)) {
    return invalid(
      'platform',
      draft.platform,
      'os/architecture, e.g. linux/amd64',
      'The platform decides which images can run.',
    );
  }
  const texts = {
    'engine.kind': draft.engine?.kind,
    'engine.version': draft.engine?.version,
    agentVersion: draft.agentVersion,
  };
  for (const [field, text] of Object.entries(texts)) {
    if (!isShortText(text))
      return invalid(
        field,
        text,
        `1 to ${MAX_TEXT} characters`,
        `${field} is empty, too long or not printable.`,
      );
  }
  return { capacity: { cpu, memoryBytes }, platform, engine: { kind, version }, agentVersion };
}
