import { messageOf } from '../../core/model/values.ts';
import { FolderError } from '../../shared/folders.ts';
import { ConfigError } from '../config-values.ts';
import { StoreFormatError } from '../store/record-codec.ts';

/** What a script can branch on; printed by `berth server --help`. */
export const STATUS = {
  failed: 1,
  usage: 2,
  wrongPassphrase: 10,
  truncated: 11,
  damaged: 12,
  newerFormat: 13,
  notABackup: 14,
  notEmpty: 15,
  differs: 16,
  interrupted: 130,
} as const;

export const STATUS_MEANINGS: readonly (readonly [number, string])[] = [
  [0, 'done'],
  [STATUS.failed, 'failed; the message says why'],
  [STATUS.usage, 'wrong usage, or the configuration cannot be used'],
  [STATUS.wrongPassphrase, 'the passphrase is not that of the backup'],
  [STATUS.truncated, 'the backup is cut off'],
  [STATUS.damaged, 'the backup is damaged'],
  [STATUS.newerFormat, 'the backup, or the store, has a format that this release does not read'],
  [STATUS.notABackup, 'the file is no backup of a control plane'],
  [STATUS.notEmpty, 'there is something where the restore would write; nothing was changed'],
  [STATUS.differs, 'what was written is not what was read'],
  [STATUS.interrupted, 'interrupted with Ctrl-C; nothing is left behind'],
];

function statusOf(error: unknown): number {
  if (error instanceof RecoveryError) return error.status;
  if (error instanceof StoreFormatError) return STATUS.newerFormat;
  return error instanceof ConfigError || error instanceof FolderError ? STATUS.usage : STATUS.failed;
}

/** How the program ends on an error, and what it says. */
export function failureOf(error: unknown): { readonly status: number; readonly message: string } {
  return { status: statusOf(error), message: messageOf(error) };
}

/** Something an operator can act on: one sentence, and the status that the program ends with. */
export class RecoveryError extends Error {
  override readonly name = 'RecoveryError';
  readonly status: number;

  constructor(status: keyof typeof STATUS, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = STATUS[status];
  }
}
