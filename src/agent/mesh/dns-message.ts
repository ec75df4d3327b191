/**
 * The part of DNS that answers addresses and ports: one question, without compression, and answers that point at its name.
 * Containers write the questions, so nothing is read beyond it; what we do not answer ourselves is passed on as it came.
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

export const TYPE = { A: 1, SRV: 33, OPT: 41 } as const;
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
const NAME_OF_QUESTION = Buffer.from([0xc0, HEADER_BYTES]);

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

type Octets = readonly [number, number, number, number];

/** Where a port of a service is: the name of an instance, and its address beside it. */
export interface DnsPlace {
  readonly target: string;
  readonly port: number;
  readonly address: Octets;
}

export interface DnsAnswer {
  readonly rcode: number;
  readonly addresses?: readonly Octets[];
  readonly places?: readonly DnsPlace[];
  readonly ttlS: number;
}

/** `most`: by UDP, what fits; longer ones are cut, and the asker comes again by TCP. */
export function writeAnswer(
  data: Buffer,
  question: DnsQuestion,
  { rcode, addresses = [], places = [], ttlS }: DnsAnswer,
  most: number,
): Buffer {
  const asked = data.subarray(HEADER_BYTES, question.end);
  const answers = [
    ...addresses.map((address) => record(NAME_OF_QUESTION, TYPE.A, ttlS, Buffer.from(address))),
    ...places.map(({ port, target }) => record(NAME_OF_QUESTION, TYPE.SRV, ttlS, srvData(port, target))),
  ];
  const targets = new Map(places.map(({ target, address }) => [target, address]));
  const beside = [...targets].map(([target, address]) =>
    record(nameBytes(target), TYPE.A, ttlS, Buffer.from(address)),
  );
  const size = (records: readonly Buffer[]): number => records.reduce((sum, { length }) => sum + length, 0);
  const fits = HEADER_BYTES + asked.length + size(answers) <= most;
  const fitsBeside = fits && HEADER_BYTES + asked.length + size(answers) + size(beside) <= most;
  const flags =
    QR_RESPONSE |
    AUTHORITATIVE |
    RECURSION_AVAILABLE |
    (question.recursion ? RECURSION_DESIRED : 0) |
    (fits ? 0 : TRUNCATED) |
    rcode;
  const head = Buffer.alloc(HEADER_BYTES);
  head.writeUInt16BE(question.id, 0);
  head.writeUInt16BE(flags, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(fits ? answers.length : 0, 6);
  head.writeUInt16BE(fitsBeside ? beside.length : 0, 10);
  return Buffer.concat([head, asked, ...(fits ? answers : []), ...(fitsBeside ? beside : [])]);
}

function record(name: Buffer, type: number, ttlS: number, data: Buffer): Buffer {
  const middle = Buffer.alloc(10);
  middle.writeUInt16BE(type, 0);
  middle.writeUInt16BE(CLASS_IN, 2);
  middle.writeUInt32BE(ttlS, 4);
  middle.writeUInt16BE(data.length, 8);
  return Buffer.concat([name, middle, data]);
}

/** All of one priority and weight. */
function srvData(port: number, target: string): Buffer {
  const head = Buffer.alloc(6);
  head.writeUInt16BE(1, 2);
  head.writeUInt16BE(port, 4);
  return Buffer.concat([head, nameBytes(target)]);
}

function nameBytes(name: string): Buffer {
  const labels = name
    .split('.')
    .flatMap((label) => [Buffer.from([label.length]), Buffer.from(label, 'latin1')]);
  return Buffer.concat([...labels, Buffer.from([0])]);
}
