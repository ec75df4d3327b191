import { statSync } from 'node:fs';

/**
 * What this process was started from. An upgrade replaces the files of a process that runs, and what is loaded later (threads, libraries that
 * few control planes need) would be that of another release, or gone.
 */
export class OwnFiles {
  readonly #program: string;
  readonly #began: string;

  constructor(program: string) {
    this.#program = program;
    this.#began = mark(program);
  }

  get replaced(): boolean {
    return mark(this.#program) !== this.#began;
  }

  /** Throws rather than to mix two releases. */
  require(what: string): void {
    if (this.replaced)
      throw new Error(
        `${what} cannot be loaded: the files of this release were replaced while it runs (an upgrade?). Restart the control plane.`,
      );
  }

  /** For what is loaded when it is first needed. What is loaded stays, whatever becomes of the files. */
  loader<T>(what: string, load: () => Promise<T>): () => Promise<T> {
    let loaded: { readonly value: T } | undefined;
    return async () => {
      if (loaded === undefined) this.require(what);
      loaded ??= { value: await load() };
      return loaded.value;
    };
  }
}

/** npm writes every file of a package anew. */
function mark(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? 'gone' : `${found.ino} ${found.mtimeMs} ${found.size}`;
}

export const ownFiles = new OwnFiles(process.argv[1] ?? '.');
