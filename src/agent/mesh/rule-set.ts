import { hash } from 'node:crypto';
import { run } from '../volumes/program.ts';

/** One of each family; `mesh-rules.ts` fills them. */
export const MESH_TABLE = 'berth-mesh';
const FAMILIES = ['bridge', 'ip'] as const;
const TIMEOUT_MS = 30_000;

/** Rules of the mesh as the kernel has them: set when they change, and when somebody else has changed them. */
export class RuleSet {
  #script = '';
  #seen = '';

  async ensure(script: string): Promise<void> {
    if (script === this.#script && (await listing()) === this.#seen) return;
    // By its input: a tenant of many instances has more rules than an argument may be long.
    await run('nft', ['-f', '-'], TIMEOUT_MS, script);
    this.#script = script;
    this.#seen = await listing();
  }

  async remove(): Promise<void> {
    this.#script = '';
    for (const family of FAMILIES) await run('nft', ['delete', 'table', family, MESH_TABLE]).catch(() => {});
  }
}

/** Without counters, which change by themselves. */
async function listing(): Promise<string> {
  const texts = FAMILIES.map((family) =>
    run('nft', ['-s', 'list', 'table', family, MESH_TABLE]).catch(() => ''),
  );
  return hash('sha256', (await Promise.all(texts)).join(''));
}
