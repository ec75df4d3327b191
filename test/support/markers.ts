import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { gunzipSync } from 'node:zlib';

/** A text that occurs nowhere by chance, planted where a secret goes in. */
export interface Marker {
  readonly name: string;
  readonly text: string;
}

export interface Hit {
  readonly marker: string;
  readonly encoding: string;
  readonly place: string;
}

export function marker(name: string): Marker {
  return { name, text: `Zm${randomBytes(24).toString('base64url').replaceAll(/[-_]/g, 'x')}` };
}

/** Whatever stands before it moves a text within base64 by 0, 1 or 2 bytes; only the characters that are its own are sought. */
function base64Cores(bytes: Buffer): string[] {
  return [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    return text.slice(offset === 0 ? 0 : offset + 1, -1);
  });
}

const escaped = (text: string, unit: (code: number) => string): string =>
  [...text].map((char) => unit(char.charCodeAt(0))).join('');
const hex = (code: number, width: number): string => code.toString(16).padStart(width, '0');

/** Every form in which a secret may leak. */
export function encodings(text: string | Buffer): readonly (readonly [string, Buffer])[] {
  const bytes = Buffer.from(text);
  const plain = typeof text === 'string' ? text : undefined;
  const forms: (readonly [string, string | Buffer])[] = [
    ['raw', bytes],
    ['hex', bytes.toString('hex')],
    ['HEX', bytes.toString('hex').toUpperCase()],
    ...base64Cores(bytes).flatMap((core, offset) => [
      [`base64 at ${offset}`, core] as const,
      [`base64url at ${offset}`, core.replaceAll('+', '-').replaceAll('/', '_')] as const,
    ]),
  ];
  if (plain !== undefined) {
    forms.push(
      ['percent', escaped(plain, (code) => `%${hex(code, 2)}`)],
      ['PERCENT', escaped(plain, (code) => `%${hex(code, 2).toUpperCase()}`)],
      ['JSON escapes', escaped(plain, (code) => `\\u${hex(code, 4)}`)],
      ['UTF-16LE', Buffer.from(plain, 'utf16le')],
    );
  }
  return forms.map(([name, form]) => [name, Buffer.from(form)] as const);
}

interface Sought {
  readonly marker: string;
  readonly forms: readonly (readonly [string, Buffer])[];
}

function unpacked(bytes: Buffer): Buffer | undefined {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return undefined;
  try {
    return gunzipSync(bytes);
  } catch {
    return undefined;
  }
}

/** Looks for markers in every encoding. What it cannot see it cannot miss silently: a control marker must be found too. */
export class MarkerScanner {
  readonly #sought: Sought[] = [];

  /** `bytes` when the secret is no text, e.g. a key. */
  add(name: string, secret: string | Buffer): void {
    this.#sought.push({ marker: name, forms: encodings(secret) });
  }

  get size(): number {
    return this.#sought.length;
  }

  scan(place: string, content: string | Buffer): Hit[] {
    const bytes = Buffer.from(content);
    const inner = unpacked(bytes);
    const hits = this.#sought.flatMap(({ marker: name, forms }) =>
      forms
        .filter(([, form]) => bytes.includes(form))
        .map(([encoding]) => ({ marker: name, encoding, place })),
    );
    return inner === undefined ? hits : [...hits, ...this.scan(`${place} (unpacked)`, inner)];
  }

  scanFolder(
    folder: string,
    except: (path: string) => boolean,
  ): { readonly hits: Hit[]; readonly files: number } {
    const hits: Hit[] = [];
    let files = 0;
    for (const name of readdirSync(folder, { recursive: true }) as string[]) {
      const path = join(folder, name);
      if (!statSync(path).isFile() || except(relative(folder, path))) continue;
      files += 1;
      hits.push(...this.scan(name, readFileSync(path)));
    }
    return { hits, files };
  }
}
