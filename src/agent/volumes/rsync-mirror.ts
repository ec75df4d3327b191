import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fields, nonEmpty, number } from '../engine/fields.ts';
import { writeWhole } from '../whole-file.ts';
import { ProgramError, run } from './program.ts';
import { RSYNC, TREE_TIMEOUT_MS, writeParts } from './rsync-parts.ts';
import { type Copy, type CopyName, isSameCopy } from './volume-engine.ts';

/** A frozen file system holds up everybody who writes: not for longer than this. */
const FROZEN_MS = 20_000;
/** Exit code of rsync: some files vanished before they could be transferred. */
const VANISHED = 24;

interface State {
  readonly current: Copy;
  /** What the parts on disk lead from; absent: only a whole copy can be sent. */
  readonly previous?: Copy;
}

/**
 * The primary's own copy of the last moment, beside the volume, in folders of the node: what has changed since is found by
 * comparing with it, and written down as parts that bring another tree from the same moment to the same next one.
 */
export class Mirror {
  readonly #folder: string;
  readonly #tree: string;
  readonly #frozen: string;
  readonly #file: string;
  #state: State | undefined;
  #loaded = false;

  constructor(folder: string, mountPoint: string) {
    this.#folder = folder;
    this.#tree = join(folder, 'tree');
    this.#frozen = mountPoint;
    this.#file = join(folder, 'state.json');
  }

  async list(): Promise<readonly Copy[]> {
    const state = await this.#read();
    if (state === undefined) return [];
    return state.previous === undefined ? [state.current] : [state.previous, state.current];
  }

  async take(data: string, name: CopyName, last: CopyName | undefined): Promise<Copy | undefined> {
    const before = await this.#read();
    const known = before?.current;
    if (known !== undefined && isSameCopy(known, last) && !(await this.#differs(data))) return undefined;
    // From here to the end the tree is no known moment.
    await rm(this.#file, { force: true });
    this.#state = undefined;
    await mkdir(this.#tree, { recursive: true, mode: 0o700 });
    await this.#pass(data, this.#part(0), TREE_TIMEOUT_MS).catch((error: unknown) => {
      // Files that go while they are looked at are found gone by the second pass.
      if (!(error instanceof ProgramError) || error.exitCode !== VANISHED) throw error;
    });
    await run('fsfreeze', ['--freeze', this.#frozen]);
    try {
      await this.#pass(data, this.#part(1), FROZEN_MS);
    } finally {
      await run('fsfreeze', ['--unfreeze', this.#frozen]);
    }
    const copy: Copy = { ...name, takenAt: new Date().toISOString() };
    const state: State = { current: copy, ...(known === undefined ? {} : { previous: known }) };
    await writeWhole(this.#file, `${JSON.stringify(state)}\n`);
    this.#state = state;
    return copy;
  }

  async send(
    copy: CopyName,
    parent: CopyName | undefined,
  ): Promise<{ readonly stream: Readable; readonly stop: () => void }> {
    const state = await this.#read();
    if (!isSameCopy(copy, state?.current)) throw new Error('only the newest copy can be sent');
    const parts = parent === undefined ? [await this.#whole()] : [this.#part(0), this.#part(1)];
    if (parent !== undefined && !isSameCopy(parent, state?.previous))
      throw new Error('the parent is not kept');
    const stream = Readable.from(writeParts(parts), { objectMode: false });
    return { stream, stop: () => void stream.destroy() };
  }

  async drop(copy: CopyName): Promise<void> {
    const state = await this.#read();
    if (state === undefined) return;
    if (isSameCopy(copy, state.current)) await this.clear();
    else if (isSameCopy(copy, state.previous)) this.#state = { current: state.current };
  }

  async clear(): Promise<void> {
    this.#state = undefined;
    this.#loaded = true;
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #pass(data: string, part: string, timeoutMs: number): Promise<void> {
    await rm(part, { force: true });
    await run('rsync', [...RSYNC, `--write-batch=${part}`, `${data}/`, `${this.#tree}/`], timeoutMs);
  }

  async #differs(data: string): Promise<boolean> {
    const args = [...RSYNC, '--dry-run', '--itemize-changes', `${data}/`, `${this.#tree}/`];
    return (await run('rsync', args, TREE_TIMEOUT_MS)) !== '';
  }

  /** What makes the tree out of nothing. */
  async #whole(): Promise<string> {
    const [part, empty] = [join(this.#folder, 'whole'), join(this.#folder, 'empty')];
    await rm(part, { force: true });
    await mkdir(empty, { recursive: true });
    await run(
      'rsync',
      [...RSYNC, `--only-write-batch=${part}`, `${this.#tree}/`, `${empty}/`],
      TREE_TIMEOUT_MS,
    );
    return part;
  }

  #part(index: number): string {
    return join(this.#folder, `part-${index}`);
  }

  async #read(): Promise<State | undefined> {
    if (this.#loaded) return this.#state;
    this.#loaded = true;
    try {
      const stored = fields(JSON.parse(await readFile(this.#file, 'utf8')));
      const current = copyOf(stored['current']);
      const previous = copyOf(stored['previous']);
      this.#state = current && { current, ...(previous === undefined ? {} : { previous }) };
    } catch {
      this.#state = undefined;
    }
    return this.#state;
  }
}

function copyOf(value: unknown): Copy | undefined {
  const stored = fields(value);
  const [epoch, sequence, takenAt] = [
    number(stored['epoch']),
    number(stored['sequence']),
    nonEmpty(stored['takenAt']),
  ];
  return epoch === undefined || sequence === undefined || takenAt === undefined
    ? undefined
    : { epoch, sequence, takenAt };
}
