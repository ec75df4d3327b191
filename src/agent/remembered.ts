import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fields } from './engine/fields.ts';
import type { FlagName } from './flags.ts';
import { writeWhole } from './whole-file.ts';

const FILE = 'settings.json';

/** Flags about this machine that later starts need not repeat. Variables are not among them: they are there at each start. */
export const REMEMBERED = [
  'engine',
  'label',
  'bind-root',
  'host-ports',
  'metadata',
  'volume-engine',
  'volume-copy-interval',
] as const satisfies readonly FlagName[];

export type Remembered = Partial<Record<(typeof REMEMBERED)[number], readonly string[]>>;

/** What earlier starts with this data folder were given; nothing before the first one. */
export function recall(dataDir: string): Remembered {
  const path = join(dataDir, FILE);
  if (!existsSync(path)) return {};
  const stored = parsed(readFileSync(path, 'utf8'), path);
  return Object.fromEntries(
    REMEMBERED.flatMap((name) => {
      const values = stored[name];
      return Array.isArray(values) && values.every((value) => typeof value === 'string')
        ? [[name, values]]
        : [];
    }),
  );
}

function parsed(text: string, path: string): Readonly<Record<string, unknown>> {
  try {
    return fields(JSON.parse(text));
  } catch {
    // Passed over, a node would lose the country that its deployments ask for.
    throw new Error(`${path} is damaged: remove it, and give the flags again that were used before`);
  }
}

export async function remember(dataDir: string, settings: Remembered): Promise<void> {
  await writeWhole(join(dataDir, FILE), `${JSON.stringify(settings, undefined, 2)}\n`);
}
