import { randomBytes, randomUUID } from 'node:crypto';
import { ID_PREFIXES, type IdKind, type TenantId } from '../core/model/ids.ts';
import type { Clock } from './clock.ts';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_CHARACTERS = 10;
const RANDOM_CHARACTERS = 16;

export interface Ids {
  next(kind: IdKind): string;
  tenant(): TenantId;
  /** Unique, cheap, not sortable: one per request. */
  request(): string;
}

function encode(value: bigint, characters: number): string {
  let text = '';
  let rest = value;
  for (let index = 0; index < characters; index += 1) {
    text = ALPHABET.charAt(Number(rest & 31n)) + text;
    rest >>= 5n;
  }
  return text;
}

/**
 * Typed ids that sort by the time they were made. Within one millisecond, and when the clock steps back, the random
 * part is counted up, so that ids of one process are strictly increasing.
 */
export function createIds(clock: Clock): Ids {
  let lastMs = 0n;
  let random = 0n;
  let requests = 0;
  const process = randomBytes(6).toString('hex');
  return {
    next(kind) {
      const now = BigInt(clock.now().getTime());
      if (now > lastMs) {
        lastMs = now;
        random = BigInt(`0x${randomBytes(9).toString('hex')}`);
      } else {
        random += 1n;
      }
      return `${ID_PREFIXES[kind]}_${encode(lastMs, TIME_CHARACTERS)}${encode(random, RANDOM_CHARACTERS)}`;
    },
    tenant: () => randomUUID() as TenantId,
    request: () => {
      requests += 1;
      return `req_${process}${requests.toString(36)}`;
    },
  };
}
