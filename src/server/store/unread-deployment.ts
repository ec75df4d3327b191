import type { DeploymentRecord } from '../../core/model/deployment.ts';
import { UnreadRecord } from './unread-record.ts';

/** All members of a record with `newest` from the hash of its spec on; `restart`, `orders` and what else is rare is not among them. */
const LAST_MEMBERS =
  /\},"specHash":"[0-9a-f]{64}"(?:,"imageDigest":"[^"\\]*")?(?:,"seenImages":\[[^[\]]*\])?,"version":\d+,"createdAt":"[^"\\]*","updatedAt":"[^"\\]*","newest":\{"change":"[^"\\]*","at":"[^"\\]*","by":"[^"\\]*"\}\}$/y;
const BEFORE_HASH = '},"specHash":"';
const HASH_LENGTH = 64;
/** Most of the last members take less. */
const LAST_BYTES = 768;
/** Every reference to a credential has it, of variables and of certificates. */
const REFERENCE = '"vault_path":';

/** A deployment that stands for its snapshot and its newest version, and names no credential: all that has to be known of it at a start. */
export class UnreadDeployment extends UnreadRecord<DeploymentRecord> {
  readonly #hashAt: number;

  /** `hashAt`: the byte of its text where the hash of its spec begins. */
  constructor(hashAt: number, ...args: ConstructorParameters<typeof UnreadRecord>) {
    super(...args);
    this.#hashAt = hashAt;
  }

  get specHash(): string {
    return this.part(this.#hashAt, this.#hashAt + HASH_LENGTH) ?? this.record.specHash;
  }
}

/** Where the first reference to a credential is from a byte on. */
export function referenceFrom(texts: Buffer, from: number): number {
  const at = texts.indexOf(REFERENCE, from, 'latin1');
  return at === -1 ? Infinity : at;
}

/** Of the record before, how long its last members are: those of the next one mostly are as long. */
let lastMembersBytes = 0;

/**
 * Where the hash of the spec of such a record begins, in bytes; undefined: it has to be read. What is compared reaches to the end of the text, with as many
 * brackets opened as closed but one: so these are members of the record itself. A quote within a text is escaped, so that no text is taken for a member. A
 * byte of a character that is not ASCII is neither.
 */
export function hashIn(texts: Buffer, from: number, to: number): number | undefined {
  const expected = to - lastMembersBytes;
  if (expected > from && lastMembersBytes > 0 && isHashAt(0, texts.toString('latin1', expected, to)))
    return expected - from + BEFORE_HASH.length;
  const first = Math.max(from, to - LAST_BYTES);
  const found = hashInLast(texts.toString('latin1', first, to));
  if (found !== undefined) {
    const at = first + found;
    lastMembersBytes = to - at + BEFORE_HASH.length;
    return at - from;
  }
  return first === from ? undefined : hashInLast(texts.toString('latin1', from, to));
}

function isHashAt(at: number, text: string): boolean {
  LAST_MEMBERS.lastIndex = at;
  return LAST_MEMBERS.test(text);
}

function hashInLast(text: string): number | undefined {
  const at = text.lastIndexOf(BEFORE_HASH);
  return at >= 0 && isHashAt(at, text) ? at + BEFORE_HASH.length : undefined;
}

/** The same of a text by itself, which may name a credential. */
export function hashInText(text: string): number | undefined {
  if (text.includes(REFERENCE)) return undefined;
  const at = hashInLast(text);
  return at === undefined ? undefined : Buffer.byteLength(text.slice(0, at));
}
