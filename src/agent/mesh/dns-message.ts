/**
 * The part of DNS that answers addresses: one question, without compression, and answers that point at its name. Containers write the
 * questions, so nothing is read beyond it; what we do not answer ourselves is passed on as it came.
 */
export interface DnsQuestion {
  readonly id: number;
  readonly name: string;
  readonly type: number;
  readonly recursion: boolean;
  /** Where the question ends. */
  readonly end: number;
  /** The longest answer that the asker takes by UDP. */
  readonly size: number;
}

export const TYPE = { A: 1, SOA: 6, OPT: 41 } as const;
export const RCODE = { none: 0, serverFailure: 2, nameError: 3 } as const;

const HEADER_BYTES = 12;
const CLASS_IN = 1;
const QR_RESPONSE = 0x8000;
const OPCODE = 0x7800;
const AUTHORITATIVE = 0x0400;
const TRUNCATED = 0x0200;
const RECURSION_DESIRED = 0x0100;
const RECURSION_AVAILABLE = 0x0080;
const MAX_LABEL = 63;
const MAX_NAME = 253;
const MIN_SIZE = 512;
const MAX_SIZE = 4096;
const NAME_OF_QUESTION = 0xc00c;

/** Undefined: it is no question that could be answered. */
export function readQuestion(data: Buffer): DnsQuestion | undefined {
  if (data.length < HEADER_BYTES) return undefined;
  const flags = data.readUInt16BE(2);
  if ((flags & (QR_RESPONSE | OPCODE)) !== 0 || data.readUInt16BE(4) !== 1) return undefined;
  const labels: string[] = [];
  let at = HEADER_BYTES;
  let length = 0;
  for (;;) {
    const size = data[at];
    if (size === undefined || size > MAX_LABEL) return undefined;
    at += 1;
    if (size === 0) break;
    length += size + 1;
    if (length > MAX_NAME + 1 || at + size > data.length) return undefined;
    labels.push(data.toString('latin1', at, at + size));
    at += size;
  }
  if (at + 4 > data.length || data.readUInt16BE(at + 2) !== CLASS_IN) return undefined;
  const end = at + 4;
  return {
    id: data.readUInt16BE(0),
    name: labels.join('.'),
    type: data.readUInt16BE(at),
    recursion: (flags & RECURSION_DESIRED) !== 0,
    end,
    size: offeredSize(data, end),
  };
}

/** EDNS: a record of its own after the question says how much fits. */
function offeredSize(data: Buffer, end: number): number {
  const isEdns =
    data.readUInt16BE(10) > 0 &&
    end + 5 <= data.length &&
    data[end] === 0 &&
    data.readUInt16BE(end + 1) === TYPE.OPT;
  return isEdns ? Math.min(MAX_SIZE, Math.max(MIN_SIZE, data.readUInt16BE(end + 3))) : MIN_SIZE;
}

export interface DnsAnswer {
  readonly rcode: number;
  readonly addresses: readonly (readonly [number, number, number, number])[];
  readonly ttlS: number;
}

/** `most`: by UDP, what fits; longer ones are cut, and the asker comes again by TCP. */
export function writeAnswer(
  data: Buffer,
  question: DnsQuestion,
  { rcode, addresses, ttlS }: DnsAnswer,
  most: number,
): Buffer {
  const head = Buffer.alloc(HEADER_BYTES);
  const asked = data.subarray(HEADER_BYTES, question.end);
  const records = addresses.map((address) => addressRecord(address, ttlS));
  const whole = HEADER_BYTES + asked.length + records.length * RECORD_BYTES;
  const kept = whole <= most ? records : [];
  const flags =
    QR_RESPONSE |
    AUTHORITATIVE |
    RECURSION_AVAILABLE |
    (question.recursion ? RECURSION_DESIRED : 0) |
    (whole <= most ? 0 : TRUNCATED) |
    rcode;
  head.writeUInt16BE(question.id, 0);
  head.writeUInt16BE(flags, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(kept.length, 6);
  return Buffer.concat([head, asked, ...kept]);
}

const RECORD_BYTES = 16;

function addressRecord(address: readonly [number, number, number, number], ttlS: number): Buffer {
  const record = Buffer.alloc(RECORD_BYTES);
  record.writeUInt16BE(NAME_OF_QUESTION, 0);
  record.writeUInt16BE(TYPE.A, 2);
  record.writeUInt16BE(CLASS_IN, 4);
  record.writeUInt32BE(ttlS, 6);
  record.writeUInt16BE(4, 10);
  record.set(address, 12);
  return record;
}
