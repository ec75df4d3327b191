import { randomBytes, randomUUID } from 'node:crypto';
import { ID_PREFIXES, type IdKind, type NewId, newId, type TenantId, tenantId } from '../core/model/ids.ts';
import { type Clock, wallMs } from './clock.ts';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_CHARACTERS = 10;
const RANDOM_CHARACTERS = 8;
const COUNTER_CHARACTERS = 8;
/** Of them, those that change from one id to the next: the others are written out once for 1,024 ids. */
const LAST_CHARACTERS = 2;
const LAST_VALUES = 32 ** LAST_CHARACTERS;
/** Five bytes for the stem, four for the counter; asking the system for so few costs as much as for a few hundred draws. */
const DRAW_BYTES = 9;
const POOL_BYTES = 256 * DRAW_BYTES;

export interface Ids {
  next<K extends IdKind>(kind: K): NewId<K>;
  tenant(): TenantId;
  /** Unique, cheap, not sortable: one per request. */
  request(): string;
}

/** Those of one process, which has to go on after what other processes, or itself before a restart, have made. */
export interface ProcessIds extends Ids {
  /** Sorts before every id of the kind that the clock would give now. */
  lowest(kind: IdKind): string;
  /** What is made from now on sorts after this one, whatever the clock says. */
  follow(id: string): void;
}

function encode(value: number, characters: number): string {
  let text = '';
  let rest = value;
  for (let index = 0; index < characters; index += 1) {
    text = ALPHABET.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

const LAST_TEXTS = Array.from({ length: LAST_VALUES }, (_, value) => encode(value, LAST_CHARACTERS));

/** Sorts before every id of the kind that was made at that time or later. */
export function lowestAt(kind: IdKind, ms: number): string {
  return `${ID_PREFIXES[kind]}_${encode(ms, TIME_CHARACTERS)}`;
}

/** The millisecond that an id begins with. */
function timeOf(id: string): number {
  const from = id.indexOf('_') + 1;
  const characters = id.slice(from, from + TIME_CHARACTERS);
  return [...characters].reduce((value, character) => value * 32 + ALPHABET.indexOf(character), 0);
}

/**
 * Typed ids that sort by the time they were made: the millisecond, 40 random bits drawn for it, and a counter that starts
 * at random. Within one millisecond, and when the clock steps back, only the counter moves, so that ids of one process
 * are strictly increasing. Those of tokens end in the name of the cell, where there is one.
 */
export function createIds(clock: Clock, cell = ''): ProcessIds {
  let lastMs = 0;
  let lowestMs = 0;
  let stem = '';
  let counter = 0;
  /** The stem and all but the last characters of the counter. */
  let begin = '';
  let pool = randomBytes(POOL_BYTES);
  let drawn = 0;
  let requests = 0;
  const process = randomBytes(6).toString('hex');
  return {
    next(kind) {
      const now = Math.max(wallMs(clock), lowestMs);
      const isNew = now > lastMs;
      if (isNew) {
        lastMs = now;
        if (drawn === pool.length) {
          pool = randomBytes(POOL_BYTES);
          drawn = 0;
        }
        stem = encode(now, TIME_CHARACTERS) + encode(pool.readUIntBE(drawn, 5), RANDOM_CHARACTERS);
        counter = pool.readUInt32BE(drawn + 5);
        drawn += DRAW_BYTES;
      } else {
        counter += 1;
      }
      const last = counter % LAST_VALUES;
      if (isNew || last === 0)
        begin = stem + encode((counter - last) / LAST_VALUES, COUNTER_CHARACTERS - LAST_CHARACTERS);
      const end = kind === 'token' || kind === 'join' ? cell : '';
      return newId(kind, `${begin}${LAST_TEXTS[last]}${end}`);
    },
    lowest: (kind) => lowestAt(kind, wallMs(clock)),
    follow: (id) => {
      // The next millisecond, with bits of its own: several processes may follow the same id.
      lowestMs = Math.max(lowestMs, timeOf(id) + 1);
    },
    tenant: () => tenantId(randomUUID()),
    request: () => {
      requests += 1;
      return `req_${process}${requests.toString(36)}`;
    },
  };
}
