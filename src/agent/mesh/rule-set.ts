import { hash } from 'node:crypto';
import { run } from '../volumes/program.ts';

/** Tables of one name, one of each family. */
export interface Tables {
  readonly name: string;
  readonly families: readonly string[];
}

/** `mesh-rules.ts` fills them. */
export const MESH_TABLES: Tables = { name: 'berth-mesh', families: ['bridge', 'ip'] };
const TIMEOUT_MS = 30_000;

/** Rules as the kernel has them: set when they change, and when somebody else has changed them. */
export class RuleSet {
  readonly #tables: Tables;
  #rules = '';
  #seen = '';

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  async isThere(): Promise<boolean> {
    return (await listing(this.#tables)) !== '';
  }

  /** True: somebody else had changed them. */
  async ensure(rules: string): Promise<boolean> {
    const isOther = (text: string): boolean => this.#seen !== '' && hash('sha256', text) !== this.#seen;
    let there = await listing(this.#tables);
    // Twice: a program that could not be run lists nothing, either.
    if (isOther(there)) there = await listing(this.#tables);
    const isChanged = isOther(there);
    if (rules === this.#rules && !isChanged) return false;
    try {
      await load(inPlace(this.#tables, rules, there));
    } catch {
      // What is there is of another release, or not ours: chains of another kind cannot be kept.
      await load(anew(this.#tables, rules));
    }
    this.#rules = rules;
    this.#seen = hash('sha256', await listing(this.#tables));
    return isChanged;
  }

  async remove(): Promise<void> {
    [this.#rules, this.#seen] = ['', ''];
    const { name, families } = this.#tables;
    for (const family of families) await run('nft', ['delete', 'table', family, name]).catch(() => {});
  }
}

/** By its input: a tenant of many instances has more rules than an argument may be long. */
async function load(script: string): Promise<void> {
  await run('nft', ['-f', '-'], TIMEOUT_MS, script);
}

/** Made if it is not there, then removed: the same text works in both cases. */
export function anew({ name, families }: Tables, rules: string): string {
  return (
    families.map((family) => `table ${family} ${name}\ndelete table ${family} ${name}\n`).join('') + rules
  );
}

/**
 * Chains stay where the kernel calls them, and get other rules. Of a table that is removed and made again, a packet in that moment may meet
 * neither: it would pass what guards a deployment, or go to a virtual address untranslated, and the kernel would keep to that for all that
 * follows of the same connection. `there`: as `nft` lists it.
 */
export function inPlace({ name: table, families }: Tables, rules: string, there: string): string {
  const kept = new Set(namesIn(rules).map(({ kind, name }) => `${kind} ${name}`));
  const [emptied, removed]: [string[], string[]] = [[], []];
  for (const { family, kind, name } of namesIn(there)) {
    if (kind !== 'chain') emptied.push(`flush ${kind} ${family} ${table} ${name}\n`);
    if (!kept.has(`${kind} ${name}`)) removed.push(`delete ${kind} ${family} ${table} ${name}\n`);
  }
  const tables = families.map((family) => `table ${family} ${table}\nflush table ${family} ${table}\n`);
  return [...tables, ...emptied, ...removed, rules].join('');
}

/** Chains, sets and maps by name, in the order in which they stand. */
function namesIn(text: string) {
  let family = '';
  const found: { readonly family: string; readonly kind: string; readonly name: string }[] = [];
  for (const line of text.split('\n')) {
    const [first = '', second = '', third = ''] = line.trim().split(' ');
    if (first === 'table') family = second;
    else if (['chain', 'set', 'map'].includes(first) && third === '{')
      found.push({ family, kind: first, name: second });
  }
  return found;
}

/** Without counters, which change by themselves. */
async function listing({ name, families }: Tables): Promise<string> {
  const texts = families.map((family) => run('nft', ['-s', 'list', 'table', family, name]).catch(() => ''));
  return (await Promise.all(texts)).join('');
}
