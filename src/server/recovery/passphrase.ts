import { readFileSync, statSync } from 'node:fs';
import { messageOf } from '../../core/model/values.ts';
import { RecoveryError } from './failure.ts';

const LEAST_CHARACTERS = 12;
const INTERRUPT = '\u0003';
const DELETE = /[\u0008\u007f]/;

function fromFile(path: string): string {
  let text: string;
  try {
    if ((statSync(path).mode & 0o077) !== 0)
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

/** From the file, or typed at the terminal: a command line can be read by everybody on the machine, so it is not taken from there. */
export async function readPassphrase(file: string | undefined, use: 'seal' | 'open'): Promise<string> {
  if (file === undefined && !process.stdin.isTTY)
    throw new RecoveryError(
      'usage',
      'a passphrase is needed: --passphrase-file FILE, or a terminal to type it at',
    );
  const passphrase = file === undefined ? await typed('Passphrase of the backup: ') : fromFile(file);
  if (use === 'open') return passphrase;
  if (passphrase.length < LEAST_CHARACTERS)
    throw new RecoveryError('usage', `the passphrase has fewer than ${LEAST_CHARACTERS} characters`);
  if (file === undefined && (await typed('Once more: ')) !== passphrase)
    throw new RecoveryError('usage', 'the two passphrases differ');
  return passphrase;
}
