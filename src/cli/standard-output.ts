import { fstatSync, writeFileSync } from 'node:fs';
import { errnoOf, messageOf } from '../core/model/values.ts';
import { Failure } from './failure.ts';

/** Node takes a part of a write for the whole: the rest of a file on a disk that fills up would be lost in silence. */
function writeToTheEnd(stdout: NodeJS.WriteStream & { readonly fd: 1 }): void {
  if (!fstatSync(stdout.fd).isFile()) return;
  stdout._write = (bytes: Uint8Array, _encoding, done) => {
    try {
      writeFileSync(stdout.fd, bytes);
    } catch (error) {
      done(error instanceof Error ? error : new Error(messageOf(error)));
      return;
    }
    done();
  };
}

/** Standard output that is lost (a full disk) fails the command: what was printed may have been shown for the only time. */
export class StandardOutput {
  readonly #stdout: NodeJS.WriteStream & { readonly fd: 1 };
  readonly #onLost: (failure: Failure) => void;
  #isLost = false;

  constructor(stdout: NodeJS.WriteStream & { readonly fd: 1 }, onLost: (failure: Failure) => void) {
    this.#stdout = stdout;
    this.#onLost = onLost;
    writeToTheEnd(stdout);
    stdout.on('error', (error) => {
      // `berth get … | head` closes the pipe: that is no error.
      if (errnoOf(error) === 'EPIPE') process.exit(0);
      this.#lose(error);
    });
  }

  /** When everything has left the process; false when it could not. */
  async end(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#stdout.write('', (error) => {
      if (error && errnoOf(error) !== 'EPIPE') this.#lose(error);
      resolve();
    });
    await promise;
    return !this.#isLost;
  }

  #lose(error: Error): void {
    // Once it has failed, every write fails.
    if (this.#isLost) return;
    this.#isLost = true;
    this.#onLost(
      new Failure(`standard output: ${messageOf(error)}`, {
        advice: ['What was printed is not all there; what the command has changed stays changed.'],
        cause: error,
      }),
    );
  }
}
