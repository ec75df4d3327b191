import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  randomBytes,
  scrypt,
  timingSafeEqual,
} from 'node:crypto';
import { isIntegerWithin, parsedRecord } from '../../core/model/values.ts';
import { RecoveryError } from './failure.ts';

/**
 * A file that is sealed by a passphrase, written and read as a stream:
 *
 *   berth-server-backup⏎                    what it is
 *   {"formatVersion":1,…}⏎                  the header: everything a reader needs to know before it has the passphrase
 *   <HMAC-SHA256 of the header>⏎            by a key of the passphrase: whether that is the right one
 *   <SHA-256 of these two lines>⏎           finds damage of them, which would look like a wrong passphrase
 *   frames                                  length (4 bytes, the highest bit: it is the last), AES-256-GCM of at most 64 KiB, its tag
 *
 * Keys are made by scrypt from the passphrase and a salt of the file's own, so the number of a frame serves as its nonce. Number, last and
 * header are authenticated with each frame: one that is missing, moved, repeated or of another file is not opened.
 */
const MAGIC = 'berth-server-backup\n';
const FORMAT_VERSION = 1;
const FRAME_BYTES = 64 * 1024;
const TAG_BYTES = 16;
const LENGTH_BYTES = 4;
const LAST = 0x8000_0000;
const NONCE_BYTES = 12;
const KEY_BYTES = 32;
const SALT_BYTES = 16;
/** The four lines before the frames. */
const MOST_HEAD_BYTES = 16 * 1024;
/** A file says how much work its key is: not more than this is done for one. */
const MOST_COST = 2 ** 20;

/** 128 MiB and a third of a second for each try. */
const SCRYPT_COST = 2 ** 17;
const BLOCK_SIZE = 8;

/** What the header says beside how the file is sealed. */
type Description = Readonly<Record<string, string | number | boolean>>;

interface Keys {
  readonly seal: Buffer;
  readonly check: Buffer;
}

function keysFrom(passphrase: string, salt: Buffer, cost: number): Promise<Keys> {
  const options = { N: cost, r: BLOCK_SIZE, p: 1, maxmem: 2 * 128 * BLOCK_SIZE * cost };
  return new Promise((resolve, reject) => {
    scrypt(passphrase.normalize('NFC'), salt, 2 * KEY_BYTES, options, (error, made) => {
      if (error === null) resolve({ seal: made.subarray(0, KEY_BYTES), check: made.subarray(KEY_BYTES) });
      else reject(error);
    });
  });
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: Buffer, text: string): string => createHmac('sha256', key).update(text).digest('hex');

function nonceOf(number: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES);
  nonce.writeUInt8(isLast ? 1 : 0, 0);
  nonce.writeBigUInt64BE(BigInt(number), NONCE_BYTES - 8);
  return nonce;
}

function frame(keys: Keys, header: string, number: number, plain: Buffer, isLast: boolean): Buffer {
  const cipher = createCipheriv('aes-256-gcm', keys.seal, nonceOf(number, isLast));
  cipher.setAAD(Buffer.from(header));
  const sealed = Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE((sealed.length | (isLast ? LAST : 0)) >>> 0);
  return Buffer.concat([length, sealed]);
}

/** The whole file, head first. */
export async function* seal(
  source: AsyncIterable<Buffer>,
  passphrase: string,
  description: Description,
  cost = SCRYPT_COST,
): AsyncGenerator<Buffer> {
  const salt = randomBytes(SALT_BYTES);
  const keys = await keysFrom(passphrase, salt, cost);
  const header = JSON.stringify({
    formatVersion: FORMAT_VERSION,
    ...description,
    kdf: 'scrypt',
    cost,
    salt: salt.toString('base64'),
    cipher: 'aes-256-gcm',
  });
  const check = hmac(keys.check, header);
  yield Buffer.from(`${MAGIC}${header}\n${check}\n${sha256(`${header}\n${check}`)}\n`);
  let number = 0;
  let waiting: Buffer = Buffer.alloc(0);
  for await (const chunk of source) {
    waiting = waiting.length === 0 ? chunk : Buffer.concat([waiting, chunk]);
    // The last frame is not known to be the last while there may be more.
    while (waiting.length > FRAME_BYTES) {
      yield frame(keys, header, number, waiting.subarray(0, FRAME_BYTES), false);
      waiting = waiting.subarray(FRAME_BYTES);
      number += 1;
    }
  }
  yield frame(keys, header, number, waiting, true);
}

const truncated = (): RecoveryError =>
  new RecoveryError(
    'truncated',
    'the backup is cut off: its end is missing. Take another one, and look at where this one was copied.',
  );
const damaged = (what: string): RecoveryError =>
  new RecoveryError('damaged', `the backup is damaged: ${what}. Take another one.`);

/** Bytes of a source in pieces of the length that is asked for. */
class Bytes {
  readonly #source: AsyncIterator<Buffer>;
  #waiting: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Fewer at the end of the source. */
  async take(length: number): Promise<Buffer> {
    await this.#fill(length);
    const taken = this.#waiting.subarray(0, length);
    this.#waiting = this.#waiting.subarray(taken.length);
    return taken;
  }

  /** Without its end; undefined: the source ends before it, or there is none within the limit. */
  async line(most: number): Promise<string | undefined> {
    for (let length = 256; ; length = Math.min(most, length * 4)) {
      await this.#fill(length);
      const end = this.#waiting.indexOf(10);
      if (end !== -1) return (await this.take(end + 1)).subarray(0, end).toString('utf8');
      if (this.#waiting.length < length || length === most) return undefined;
    }
  }

  async #fill(length: number): Promise<void> {
    while (this.#waiting.length < length) {
      const { done, value } = await this.#source.next();
      if (done === true) return;
      this.#waiting = this.#waiting.length === 0 ? value : Buffer.concat([this.#waiting, value]);
    }
  }
}

interface Head {
  readonly description: Readonly<Record<string, unknown>>;
  /** What the file holds; checked on the way, to the end of the file. */
  open(passphrase: string): AsyncGenerator<Buffer>;
}

/** Reads what can be known without the passphrase. */
export async function readHead(source: AsyncIterable<Buffer>): Promise<Head> {
  const bytes = new Bytes(source);
  const magic = (await bytes.take(MAGIC.length)).toString('latin1');
  if (magic !== MAGIC) {
    if (magic !== '' && MAGIC.startsWith(magic)) throw truncated();
    throw new RecoveryError('notABackup', 'the file is not a backup made by berth server backup');
  }
  const header = await bytes.line(MOST_HEAD_BYTES);
  const check = await bytes.line(MOST_HEAD_BYTES);
  const sum = await bytes.line(MOST_HEAD_BYTES);
  if (header === undefined || check === undefined || sum === undefined) throw truncated();
  if (sha256(`${header}\n${check}`) !== sum) throw damaged('its header fails its checksum');
  const description = parsedRecord(header);
  const { formatVersion, cost, salt } = description;
  if (formatVersion !== FORMAT_VERSION)
    throw new RecoveryError(
      'newerFormat',
      `the backup has format ${String(formatVersion)} and was made by Berth ${String(description['berth'])}; this release reads format ${FORMAT_VERSION}. Restore it with that release, or a newer one.`,
    );
  if (!isIntegerWithin(cost, 2, MOST_COST) || typeof salt !== 'string')
    throw damaged('its header does not say how it is sealed');
  return {
    description,
    async *open(passphrase) {
      const keys = await keysFrom(passphrase, Buffer.from(salt, 'base64'), cost);
      const made = Buffer.from(hmac(keys.check, header));
      const said = Buffer.from(check);
      if (made.length !== said.length || !timingSafeEqual(made, said))
        throw new RecoveryError('wrongPassphrase', 'the passphrase is not the one of this backup');
      yield* openFrames(bytes, keys, header);
    },
  };
}

async function* openFrames(bytes: Bytes, keys: Keys, header: string): AsyncGenerator<Buffer> {
  for (let number = 0; ; number += 1) {
    const length = await bytes.take(LENGTH_BYTES);
    if (length.length < LENGTH_BYTES) throw truncated();
    const said = length.readUInt32BE();
    const isLast = said >= LAST;
    const size = isLast ? said - LAST : said;
    if (size < TAG_BYTES || size > FRAME_BYTES + TAG_BYTES) throw damaged(`frame ${number} has no length`);
    const sealed = await bytes.take(size);
    if (sealed.length < size) throw truncated();
    const decipher = createDecipheriv('aes-256-gcm', keys.seal, nonceOf(number, isLast));
    decipher.setAAD(Buffer.from(header));
    decipher.setAuthTag(sealed.subarray(size - TAG_BYTES));
    let plain: Buffer;
    try {
      plain = Buffer.concat([decipher.update(sealed.subarray(0, size - TAG_BYTES)), decipher.final()]);
    } catch (cause) {
      throw damagedFrame(number, cause);
    }
    yield plain;
    if (!isLast) continue;
    if ((await bytes.take(1)).length > 0) throw damaged('bytes follow its end');
    return;
  }
}

function damagedFrame(number: number, cause: unknown): RecoveryError {
  return new RecoveryError(
    'damaged',
    `the backup is damaged: frame ${number} is not what was written, or not in its place. Take another one.`,
    { cause },
  );
}
