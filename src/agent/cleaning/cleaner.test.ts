import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { Cleaner } from './cleaner.ts';
import { PulledImages } from './pulled-images.ts';

const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

it('cleans images also while a volume is busy', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-cleaner-'));
  const busy = Promise.withResolvers<[]>();
  const divergences = vi.fn(() => busy.promise);
  const cleaner = new Cleaner({
    engine: {
      listImages: () => Promise.resolve([]),
      list: () => Promise.resolve([]),
      removeImage: () => Promise.reject(new Error('there are none')),
      imageExists: () => Promise.resolve(false),
    },
    pulled: new PulledImages(folder, log),
    settings: {},
    rootDir: () => folder,
    wanted: () => new Set(),
    ask: () => Promise.resolve(new Map()),
    divergences,
    onRemoved: () => {},
    onConditions: () => {},
    log,
  });
  try {
    const both = [cleaner.clean(false), cleaner.clean(false)];
    await vi.waitFor(() => expect(divergences).toHaveBeenCalledTimes(2));
    busy.resolve([]);
    expect((await Promise.all(both)).map(({ removed }) => removed)).toEqual([[], []]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
