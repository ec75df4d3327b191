import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fields, nonEmpty, number } from '../engine/fields.ts';
import { writeWhole } from '../whole-file.ts';
import type { GivenNames } from './given-names.ts';
import { ProgramError, run } from './program.ts';
import { RSYNC, TREE_TIMEOUT_MS, writeParts } from './rsync-parts.ts';
import { type Copy, type CopyName, isSameCopy } from './volume-engine.ts';

/** A frozen file system holds up everybody who writes: not for longer than this. */
const FROZEN_MS = 20_000;
/** Exit code of rsync: some files vanished before they could be transferred. */
const VANISHED = 24;

type Tree = 'a' | 'b';

interface State {
  readonly current: Copy;
  /** Where it is; the other tree holds an older moment. */
  readonly tree: Tree;
  /** What the part on disk leads from; absent: only a whole copy can be sent. */
  readonly previous?: Copy;
}

/**
 * The primary's own copies of the last two moments, beside the volume, in folders of the node. The older one is brought to the
 * present, and the difference to the other is written down as a part that brings any tree from the one moment to the other.
 * Both are at rest then: a part that is made from files in use cannot be replayed.
 */
export class Mirror {
  readonly #folder: string;
  readonly #frozen: string;
  readonly #file: string;
  readonly #given: GivenNames;
  #state: State | undefined;
  #loaded = false;

  constructor(folder: string, mountPoint: string, given: GivenNames) {
    this.#folder = folder;
    this.#given = given;
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
    if (before !== undefined && isSameCopy(before.current, last) && !(await this.#differs(data, before.tree)))
      return undefined;
    if (before !== undefined) await this.#given.keep(before.current);
    // From here to the end it is not known what the trees hold.
    await rm(this.#file, { force: true });
    this.#state = undefined;
    const tree: Tree = before?.tree === 'a' ? 'b' : 'a';
    await mkdir(this.#tree(tree), { recursive: true, mode: 0o700 });
    await this.#bring(data, this.#tree(tree));
    if (before !== undefined) await this.#write('part', this.#tree(tree), this.#tree(before.tree));
    const copy: Copy = { ...name, takenAt: new Date().toISOString() };
    const state: State = {
      current: copy,
      tree,
      ...(before === undefined ? {} : { previous: before.current }),
    };
    await writeWhole(this.#file, `${JSON.stringify(state)}\n`);
    this.#state = state;
    return copy;
  }

  /** Most of it while the files are written; the rest, which is little, while writes are blocked. */
  async #bring(data: string, tree: string): Promise<void> {
    await rsync(`${data}/`, `${tree}/`).catch((error: unknown) => {
      // Files that vanish during the first pass are found gone by the second.
      if (!(error instanceof ProgramError) || error.exitCode !== VANISHED) throw error;
    });
    await run('fsfreeze', ['--freeze', this.#frozen]);
    try {
      await run('rsync', [...RSYNC, `${data}/`, `${tree}/`], FROZEN_MS);
    } finally {
      await run('fsfreeze', ['--unfreeze', this.#frozen]);
    }
  }

  async send(
    copy: CopyName,
    parent: CopyName | undefined,
  ): Promise<{ readonly stream: Readable; readonly stop: () => void }> {
    const state = await this.#read();
    if (state === undefined || !isSameCopy(copy, state.current))
      throw new Error('only the newest copy can be sent');
    if (parent !== undefined && !isSameCopy(parent, state.previous))
      throw new Error('the parent is not kept');
    const empty = join(this.#folder, 'empty');
    if (parent === undefined) await mkdir(empty, { recursive: true });
    const part =
      parent === undefined
        ? await this.#write('whole', this.#tree(state.tree), empty)
        : join(this.#folder, 'part');
    const stream = Readable.from(writeParts([part]), { objectMode: false });
    return { stream, stop: () => void stream.destroy() };
  }

  async drop(copy: CopyName): Promise<void> {
    const state = await this.#read();
    if (state === undefined) return;
    if (isSameCopy(copy, state.current)) {
      await this.#given.keep(copy);
      await this.clear();
    } else if (isSameCopy(copy, state.previous)) this.#state = { current: state.current, tree: state.tree };
  }

  async clear(): Promise<void> {
    this.#state = undefined;
    this.#loaded = true;
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** When that is unknown, e.g. because the list is too long, it does. */
  async #differs(data: string, tree: Tree): Promise<boolean> {
    return await rsync('--dry-run', '--itemize-changes', `${data}/`, `${this.#tree(tree)}/`).then(
      (changes) => changes !== '',
      () => true,
    );
  }

  /** What makes the second tree equal to the first, without touching it. */
  async #write(name: 'part' | 'whole', from: string, to: string): Promise<string> {
    const part = join(this.#folder, name);
    await rm(part, { force: true });
    await rsync(`--only-write-batch=${part}`, `${from}/`, `${to}/`);
    return part;
  }

  #tree(tree: Tree): string {
    return join(this.#folder, tree);
  }

  async #read(): Promise<State | undefined> {
    if (this.#loaded) return this.#state;
    this.#loaded = true;
    try {
      const stored = fields(JSON.parse(await readFile(this.#file, 'utf8')));
      const current = copyOf(stored['current']);
      const previous = copyOf(stored['previous']);
      const tree = stored['tree'] === 'b' ? 'b' : 'a';
      this.#state = current && { current, tree, ...(previous === undefined ? {} : { previous }) };
    } catch {
      this.#state = undefined;
    }
    return this.#state;
  }
}

async function rsync(...args: readonly string[]): Promise<string> {
  return await run('rsync', [...RSYNC, ...args], TREE_TIMEOUT_MS);
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
