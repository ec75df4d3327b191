import { getHeapSnapshot, getHeapSpaceStatistics, getHeapStatistics } from 'node:v8';

/** A snapshot takes about as much memory again, and the process stands still while it is made. */
const LARGEST_HEAP_BYTES = 2 ** 30;
const MOST_CLASSES = 200;
/** Names of classes; anything else, which may be a text of somebody, is added up as others. */
const CLASS_NAME = /^[A-Za-z_$][\w$]{0,63}$/;

interface ClassSize {
  readonly name: string;
  readonly count: number;
  readonly bytes: number;
}

/** What lives in the heap by class: how many and how large, and nothing of what they hold. */
export async function heapSummary(): Promise<object> {
  const statistics = getHeapStatistics();
  const spaces = getHeapSpaceStatistics();
  if (statistics.used_heap_size > LARGEST_HEAP_BYTES)
    return { statistics, spaces, classes: 'left out: the heap is larger than 1 GiB' };
  const reader = new SnapshotReader();
  const decoder = new TextDecoder();
  for await (const chunk of getHeapSnapshot()) reader.push(decoder.decode(chunk, { stream: true }));
  return { statistics, spaces, classes: reader.classes() };
}

type Section = 'head' | 'nodes' | 'between' | 'strings';

/** Reads a snapshot as it is written: numbers of nodes first, names at the end. */
class SnapshotReader {
  #section: Section = 'head';
  #text = '';
  #fields: readonly string[] = [];
  #types: readonly string[] = [];
  #row: number[] = [];
  readonly #found = new Map<string, { type: string; name: number; count: number; bytes: number }>();
  #names: Map<number, string> | undefined;
  #string = 0;

  push(piece: string): void {
    this.#text += piece;
    if (this.#section === 'head') this.#readHead();
    if (this.#section === 'nodes') this.#readNodes();
    if (this.#section === 'between') this.#skipToStrings();
    if (this.#section === 'strings') this.#readStrings();
  }

  #readHead(): void {
    const at = this.#text.indexOf('"nodes":[');
    if (at === -1) return;
    const head = this.#text.slice(0, at);
    const list = (name: string): readonly string[] => {
      const [, after = ''] = head.split(`"${name}":[`, 2);
      return Array.from(after.slice(0, after.indexOf(']')).matchAll(/"([^"]*)"/g), ([, text = '']) => text);
    };
    this.#fields = list('node_fields');
    this.#types = list('node_types');
    this.#text = this.#text.slice(at + '"nodes":['.length);
    this.#section = 'nodes';
  }

  #readNodes(): void {
    const end = this.#text.indexOf(']');
    const last = end === -1 ? this.#text.lastIndexOf(',') : end;
    if (last === -1) return;
    for (const number of this.#text.slice(0, last).split(',')) {
      this.#row.push(Number(number));
      if (this.#row.length === this.#fields.length) this.#addRow();
    }
    this.#text = this.#text.slice(last + 1);
    if (end !== -1) this.#section = 'between';
  }

  #addRow(): void {
    const at = (field: string): number => this.#row[this.#fields.indexOf(field)] ?? 0;
    const type = this.#types[at('type')] ?? 'unknown';
    // Names of strings are their contents, and of code and closures those of functions: counted by type alone.
    const name = type === 'object' ? at('name') : -1;
    const key = `${type} ${name}`;
    const found = this.#found.get(key) ?? { type, name, count: 0, bytes: 0 };
    found.count += 1;
    found.bytes += at('self_size');
    this.#found.set(key, found);
    this.#row = [];
  }

  #skipToStrings(): void {
    const mark = '"strings":[';
    const at = this.#text.indexOf(mark);
    if (at === -1) {
      this.#text = this.#text.slice(-mark.length);
      return;
    }
    this.#text = this.#text.slice(at + mark.length);
    this.#names = new Map([...this.#found.values()].map(({ name }) => [name, '']));
    this.#section = 'strings';
  }

  #readStrings(): void {
    const strings = /[\s,]*"((?:[^"\\]|\\.)*)"/y;
    let from = 0;
    for (;;) {
      strings.lastIndex = from;
      const match = strings.exec(this.#text);
      if (match === null) break;
      const [, text = ''] = match;
      if (this.#names?.has(this.#string) === true && CLASS_NAME.test(text))
        this.#names.set(this.#string, text);
      this.#string += 1;
      from = strings.lastIndex;
    }
    this.#text = this.#text.slice(from);
  }

  classes(): readonly ClassSize[] {
    const sums = new Map<string, { count: number; bytes: number }>();
    for (const { type, name, count, bytes } of this.#found.values()) {
      const named = this.#names?.get(name) ?? '';
      const shown = type !== 'object' ? `(${type})` : named === '' ? '(other classes)' : named;
      const sum = sums.get(shown) ?? { count: 0, bytes: 0 };
      sum.count += count;
      sum.bytes += bytes;
      sums.set(shown, sum);
    }
    const all = [...sums].map(([name, sum]) => ({ name, ...sum })).sort((a, b) => b.bytes - a.bytes);
    const rest = all.slice(MOST_CLASSES);
    if (rest.length === 0) return all;
    const others = rest.reduce(
      (sum, one) => ({ ...sum, count: sum.count + one.count, bytes: sum.bytes + one.bytes }),
      { name: '(further classes)', count: 0, bytes: 0 },
    );
    return [...all.slice(0, MOST_CLASSES), others];
  }
}
