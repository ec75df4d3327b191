import { isUtf8 } from 'node:buffer';
import { readFileSync, statSync } from 'node:fs';
import { messageOf } from '../core/model/values.ts';
import { type Failure, usage } from './failure.ts';

const MAX_FILE_BYTES = 16 * 2 ** 20;
/** What decoding puts in place of bytes that are not UTF-8. */
const REPLACEMENT = '\uFFFD';

function notUtf8(place: string): Failure {
  return usage(`${place} is not UTF-8 text; nothing was sent`, [
    'Text in another encoding: iconv -f ISO-8859-1 -t UTF-8 FILE, with the encoding it has',
    'What is no text: as base64, for a program that decodes it',
  ]);
}

/** What a control plane is to store. Decoded as usual, other bytes would be replaced without a word. */
export function inputText(bytes: Buffer, source: string): string {
  const text = bytes.toString('utf8');
  if (isUtf8(bytes)) return text;
  const again = Buffer.from(text);
  const before = bytes.subarray(
    0,
    bytes.findIndex((byte, at) => byte !== again[at]),
  );
  throw notUtf8(`${source}: line ${before.toString('latin1').split('\n').length}`);
}

/** Of a file that a flag names. */
export function inputFile(path: string, flag: string): string {
  let bytes: Buffer;
  try {
    if (statSync(path).size > MAX_FILE_BYTES) throw new Error(`larger than ${MAX_FILE_BYTES / 2 ** 20} MiB`);
    bytes = readFileSync(path);
  } catch (error) {
    throw usage(`${flag} ${path}: ${messageOf(error)}`);
  }
  return inputText(bytes, `${flag} ${path}`);
}

/** Of words and answers, which Node decodes: none that is meant holds that character. */
export function requireDecoded(text: string, source: string): string {
  if (text.includes(REPLACEMENT)) throw notUtf8(source);
  return text;
}
