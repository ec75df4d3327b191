import { hash } from 'node:crypto';
import { run } from '../volumes/program.ts';

/** One of each family; `mesh-rules.ts` fills them. */
export const MESH_TABLE = 'berth-mesh';
const FAMILIES = ['bridge', 'ip'] as const;
const TIMEOUT_MS = 30_000;

/** Rules of the mesh as the kernel has them: set when they change, and when somebody else has changed them. */
export class RuleSet {
  #rules = '';
  #seen = '';

  async ensure(rules: string): Promise<void> {
    const there = await listing();
    if (rules === this.#rules && hash('sha256', there) === this.#seen) return;
    try {
      await load(inPlace(rules, there));
    } catch {
      // What is there is of another release, or not ours: chains of another kind cannot be kept.
      await load(anew(rules));
    }
    this.#rules = rules;
    this.#seen = hash('sha256', await listing());
  }

  async remove(): Promise<void> {
    this.#rules = '';
    for (const family of FAMILIES) await run('nft', ['delete', 'table', family, MESH_TABLE]).catch(() => {});
  }
}

/** By its input: a tenant of many instances has more rules than an argument may be long. */
async function load(script: string): Promise<void> {
  await run('nft', ['-f', '-'], TIMEOUT_MS, script);
}

/** Made if it is not there, then removed: the same text works in both cases. */
export function anew(rules: string): string {
  const gone = FAMILIES.map(
    (family) => `table ${family} ${MESH_TABLE}\ndelete table ${family} ${MESH_TABLE}\n`,
  );
  return gone.join('') + rules;
}

/**
 * Chains stay where the kernel calls them, and get other rules. Of a table that is removed and made again, a packet in that moment may meet
 * neither: it would pass what guards a deployment, or go to a virtual address untranslated, and the kernel would keep to that for all that
 * follows of the same connection. `there`: as `nft` lists it.
 */
export function inPlace(rules: string, there: string): string {
  const kept = new Set(namesIn(rules).map(({ kind, name }) => `${kind} ${name}`));
  const [emptied, removed]: [string[], string[]] = [[], []];
  for (const { family, kind, name } of namesIn(there)) {
    if (kind !== 'chain') emptied.push(`flush ${kind} ${family} ${MESH_TABLE} ${name}\n`);
    if (!kept.has(`${kind} ${name}`)) removed.push(`delete ${kind} ${family} ${MESH_TABLE} ${name}\n`);
  }
  const tables = FAMILIES.map(
    (family) => `table ${family} ${MESH_TABLE}\nflush table ${family} ${MESH_TABLE}\n`,
  );
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
async function listing(): Promise<string> {
  const texts = FAMILIES.map((family) =>
    run('nft', ['-s', 'list', 'table', family, MESH_TABLE]).catch(() => ''),
  );
  return (await Promise.all(texts)).join('');
}
