import { constants } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { DOMAIN } from './names.ts';

/**
 * Where containers look names up. They have this very file mounted and read it again when it was written, so it is written only
 * when it differs, and never emptied first: who reads it just then would ask nobody at all.
 */
export async function ensureResolvConf(path: string, resolver: string): Promise<void> {
  const text = `nameserver ${resolver}\nsearch ${DOMAIN}\noptions ndots:1 timeout:2 attempts:3\n`;
  if ((await readFile(path, 'utf8').catch(() => undefined)) === text) return;
  const file = await open(path, constants.O_WRONLY | constants.O_CREAT, 0o644);
  try {
    await file.write(text, 0);
    await file.truncate(Buffer.byteLength(text));
  } finally {
    await file.close();
  }
}
