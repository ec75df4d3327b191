import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fields } from './engine/fields.ts';
import type { FlagName } from './flags.ts';
import { writeWhole } from './whole-file.ts';

const FILE = 'settings.json';

/** Flags about this machine that later starts need not repeat. Variables are not among them: they are there at each start. */
export const SAVED_FLAGS = [
  'engine',
  'label',
  'bind-root',
  'host-ports',
  'metadata',
  'mesh',
  'advertise-address',
  'ingress',
  'volume-engine',
  'volume-copy-interval',
  'clean-disk',
  'clean-unused',
  'clean-diverged',
  'ca-file',
  'proxy',
] as const satisfies readonly FlagName[];

export type SavedSettings = Partial<Record<(typeof SAVED_FLAGS)[number], readonly string[]>>;

/** Settings of earlier starts with this data folder; empty before the first one. */
export function readSavedSettings(dataDir: string): SavedSettings {
  const path = join(dataDir, FILE);
  if (!existsSync(path)) return {};
  const stored = parsed(readFileSync(path, 'utf8'), path);
  return Object.fromEntries(
    SAVED_FLAGS.flatMap((name) => {
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
    // Ignoring it would lose the node's country, which its deployments ask for.
    throw new Error(`${path} is damaged: remove it, and give the flags again that were used before`);
  }
}

export async function writeSavedSettings(dataDir: string, settings: SavedSettings): Promise<void> {
  await writeWhole(join(dataDir, FILE), `${JSON.stringify(settings, undefined, 2)}\n`);
}
