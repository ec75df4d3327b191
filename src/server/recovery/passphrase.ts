import { readFileSync, realpathSync, statSync } from 'node:fs';
import { sep } from 'node:path';
import { messageOf } from '../../core/model/values.ts';
import { RecoveryError } from './failure.ts';

const LEAST_CHARACTERS = 12;
const INTERRUPT = '\u0003';
const DELETE = /[\u0008\u007f]/;

const OTHERS = 0o077;
/** What of it is not the reading of a group. */
const BEYOND_GROUP_READ = 0o037;

/** The group is root's, or systemd's: a credential of a service is 0440, and its folder can be entered by the service alone. */
function isOurs(path: string, credentials: string | undefined): boolean {
  const { mode, gid } = statSync(path);
  if ((mode & OTHERS) === 0) return true;
  if ((mode & BEYOND_GROUP_READ) !== 0) return false;
  if (gid === 0) return true;
  return credentials !== undefined && realpathSync(path).startsWith(`${realpathSync(credentials)}${sep}`);
}

function fromFile(path: string, credentials: string | undefined): string {
  let text: string;
  try {
    if (!isOurs(path, credentials))
      throw new RecoveryError('usage', `${path} can be read by others; run: chmod 600 ${path}`);
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof RecoveryError) throw error;
    throw new RecoveryError('usage', `the passphrase cannot be read: ${messageOf(error)}`, { cause: error });
  }
  return text.replace(/\r?\n$/, '');
}

/** Nothing of it is shown. */
function typed(question: string): Promise<string> {
  const { stdin, stderr } = process;
  stderr.write(question);
  stdin.setRawMode(true).setEncoding('utf8').resume();
  return new Promise((resolve, reject) => {
    let text = '';
    const settle = (done: () => void): void => {
      stdin.off('data', onData).setRawMode(false).pause();
      stderr.write('\n');
      done();
    };
    const onData = (typedText: string): void => {
      for (const character of typedText) {
        if (character === INTERRUPT)
          return settle(() => reject(new RecoveryError('interrupted', 'interrupted')));
        if (character === '\r' || character === '\n') return settle(() => resolve(text));
        text = DELETE.test(character) ? text.slice(0, -1) : text + character;
      }
    };
    stdin.on('data', onData);
  });
}

/**
 * From the file, or typed at the terminal: a command line can be read by everybody on the machine, so it is not taken from there. `credentials` is the
 * folder in which systemd gives a service its credentials ($CREDENTIALS_DIRECTORY).
 */
export async function readPassphrase(
  file: string | undefined,
  use: 'seal' | 'open',
  credentials: string | undefined,
): Promise<string> {
  if (file === undefined && !process.stdin.isTTY)
    throw new RecoveryError(
      'usage',
      'a passphrase is needed: --passphrase-file FILE, or a terminal to type it at',
    );
  const passphrase =
    file === undefined ? await typed('Passphrase of the backup: ') : fromFile(file, credentials);
  if (use === 'open') return passphrase;
  if (passphrase.length < LEAST_CHARACTERS)
    throw new RecoveryError('usage', `the passphrase has fewer than ${LEAST_CHARACTERS} characters`);
  if (file === undefined && (await typed('Once more: ')) !== passphrase)
    throw new RecoveryError('usage', 'the two passphrases differ');
  return passphrase;
}
