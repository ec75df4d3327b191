import type { Commit, RowPack } from '../kv.ts';
import type { FaultKind, StoreFault } from './fault.ts';

/**
 * Messages between the main thread and the writer thread. Operations and answers travel as flat lists of strings and
 * numbers, many per message: copying one list costs far less than copying as many small objects. Answers come in the
 * order of the operations; what the main thread knows already (keys, values) is not sent back.
 */
export type FlatList = (string | number)[];

export interface WriterOptions {
  readonly dir: string;
  /** How much history is kept behind the newest revision: whichever bound is reached first. */
  readonly keepRevisions: number;
  readonly keepBytes: number;
  readonly ballastBytes: number;
  /** Whoever opens it wants all live records. */
  readonly readAhead: boolean;
  /** How much of them was taken in. */
  readonly taken: Int32Array;
}

export type ToWriter =
  /** `alone`: nothing else is asked for, so that there is nothing to wait for. */
  | { readonly kind: 'operations'; readonly wire: FlatList; readonly alone: boolean }
  /** The rest of the file is to be checked, too, beside what is written. */
  | { readonly kind: 'verify' }
  | { readonly kind: 'close' };

export type FromWriter =
  /** It can be read; its content is being checked. `readAhead`: live records follow as they are read for that. */
  | { readonly kind: 'opened'; readonly readAhead: boolean }
  /** Some of them; absent: those were all, or, unless `whole`, what came was not what is stored. */
  | { readonly kind: 'rows'; readonly pack?: RowPack; readonly whole: boolean }
  /** After `ready`: the history has been checked, too, because it was asked for or had to be read anyway. */
  | { readonly kind: 'verified' }
  | { readonly kind: 'ready'; readonly head: number; readonly problem: string | undefined }
  | { readonly kind: 'refused'; readonly fault: FaultKind; readonly message: string }
  | { readonly kind: 'answers'; readonly wire: FlatList; readonly transactions: number }
  | { readonly kind: 'problem'; readonly damaged: boolean; readonly problem: string | undefined }
  | { readonly kind: 'closed' };

export type WriterOperation =
  | ({ readonly kind: 'commit' } & Required<Omit<Commit, 'onDurable'>>)
  | { readonly kind: 'grant'; readonly ttlMs: number }
  | { readonly kind: 'keepAlive' | 'revoke'; readonly lease: number }
  | { readonly kind: 'compact'; readonly revision: number };

const opcodes = { commit: 0, grant: 1, keepAlive: 2, revoke: 3, compact: 4 } as const;

export function encodeCommit(wire: FlatList, { guards = [], puts = [], deletes = [] }: Commit): void {
  wire.push(opcodes.commit, guards.length, puts.length, deletes.length);
  for (const guard of guards) wire.push(guard.key, guard.modRevision);
  for (const put of puts) wire.push(put.key, put.value, put.lease ?? '');
  for (const key of deletes) wire.push(key);
}

export function encodeOperation(
  wire: FlatList,
  kind: Exclude<keyof typeof opcodes, 'commit'>,
  argument: number,
): void {
  wire.push(opcodes[kind], argument);
}

/** Reads a wire list item by item; the two sides are one program, so a wrong item is a defect and throws. */
export class WireReader {
  readonly #wire: FlatList;
  #at = 0;

  constructor(wire: FlatList) {
    this.#wire = wire;
  }

  get done(): boolean {
    return this.#at >= this.#wire.length;
  }

  text(): string {
    const item = this.#wire[this.#at++];
    if (typeof item !== 'string') throw new TypeError(`text expected at ${this.#at - 1}`);
    return item;
  }

  number(): number {
    const item = this.#wire[this.#at++];
    if (typeof item !== 'number') throw new TypeError(`number expected at ${this.#at - 1}`);
    return item;
  }
}

export function decodeOperation(wire: WireReader): WriterOperation {
  const opcode = wire.number();
  switch (opcode) {
    case opcodes.commit:
      return decodeCommit(wire);
    case opcodes.grant:
      return { kind: 'grant', ttlMs: wire.number() };
    case opcodes.keepAlive:
      return { kind: 'keepAlive', lease: wire.number() };
    case opcodes.revoke:
      return { kind: 'revoke', lease: wire.number() };
    case opcodes.compact:
      return { kind: 'compact', revision: wire.number() };
    default:
      throw new TypeError(`unknown operation ${opcode}`);
  }
}

function decodeCommit(wire: WireReader): WriterOperation {
  const [guardCount, putCount, deleteCount] = [wire.number(), wire.number(), wire.number()];
  const guards = [];
  for (let i = 0; i < guardCount; i++) guards.push({ key: wire.text(), modRevision: wire.number() });
  const puts = [];
  for (let i = 0; i < putCount; i++) {
    const [key, value, lease] = [wire.text(), wire.text(), wire.text()];
    puts.push(lease === '' ? { key, value } : { key, value, lease });
  }
  const deletes = [];
  for (let i = 0; i < deleteCount; i++) deletes.push(wire.text());
  return { kind: 'commit', guards, puts, deletes };
}

/** How an answer begins; what follows is said beside each. */
export const answers = {
  /** revision, a create revision per put, 1 or 0 per delete (whether the key was there). */
  applied: 0,
  /** count, indices of the failed guards. */
  conflict: 1,
  /** 1 when certainly not applied, message. */
  unavailable: 2,
  /** lease. */
  leaseGone: 3,
  /** a number: the granted lease, or whether a lease is alive. */
  number: 4,
  /** revision, count, keys that were deleted with a lease; the first answers a revoke, the second nothing. */
  revoked: 5,
  expired: 6,
  done: 7,
} as const;

export function pushUnavailable(wire: FlatList, { certainlyNotApplied, message }: StoreFault): void {
  wire.push(answers.unavailable, certainlyNotApplied ? 1 : 0, message);
}
