import { createReadStream, existsSync } from 'node:fs';
import { isOneOf } from '../../core/model/values.ts';
import { type Unpacked, unpacked } from './backup-contents.ts';
import { RecoveryError } from './failure.ts';
import { readHead } from './sealing.ts';

const HOLDS = ['store and keys', 'store', 'keys'] as const;

export interface OpenedBackup extends Unpacked {
  readonly holds: (typeof HOLDS)[number];
  readonly createdAt: string;
  readonly revision: number;
  close(): void;
}

/** Of a file of either sort. What it holds is checked while it is read. */
export async function openBackup(
  path: string,
  passphrase: string,
  signal: AbortSignal,
): Promise<OpenedBackup> {
  if (!existsSync(path)) throw new RecoveryError('usage', `there is no file ${path}`);
  const source = createReadStream(path, { signal });
  try {
    const { description, open } = await readHead(source);
    const { holds, createdAt, revision } = description;
    if (!isOneOf(HOLDS, holds) || typeof createdAt !== 'string' || typeof revision !== 'number')
      throw new RecoveryError('damaged', 'the backup is damaged: its header does not say what it holds');
    const contents = await unpacked(open(passphrase));
    return { ...contents, holds, createdAt, revision, close: () => source.destroy() };
  } catch (error) {
    source.destroy();
    throw error;
  }
}

export function requireStore({ holds }: OpenedBackup, path: string): void {
  if (holds === 'keys')
    throw new RecoveryError(
      'usage',
      `${path} holds keys alone; name the backup of the store, and this one by --keys-from`,
    );
}
