import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BtrfsEngine } from '../../src/agent/volumes/btrfs-engine.ts';
import { RsyncEngine } from '../../src/agent/volumes/rsync-engine.ts';

/** In place of the agent, under its unit: a copy whole and a difference, by each engine, and what came of it. */
const [base = ''] = process.argv.slice(2);
for (const engine of [new BtrfsEngine(), new RsyncEngine()]) {
  const missing = (await engine.missing()) ?? (await engine.cannotReceive());
  if (missing !== undefined) throw new Error(`${engine.name}: ${missing}`);
  const [from, to] = await Promise.all(
    ['from', 'to'].map(async (side) => {
      const place = { id: `${engine.name}-${side}`, folder: join(base, engine.name, side) };
      mkdirSync(place.folder, { recursive: true });
      return { place, volume: await engine.open(place, 160 * 2 ** 20) };
    }),
  );
  if (from?.volume.copies === undefined || to?.volume.copies === undefined) throw new Error('no copies');
  const data = await from.volume.writable(1);
  let last: { readonly epoch: number; readonly sequence: number } | undefined;
  for (const text of ['first', 'second']) {
    writeFileSync(join(data, 'file'), text);
    const copy = await from.volume.copies.take(1, last);
    if (copy === undefined) throw new Error('nothing was taken');
    const sent = await from.volume.copies.send(copy, last);
    await to.volume.copies.receive(copy, last, sent.stream as AsyncIterable<Uint8Array>);
    last = copy;
  }
  process.stdout.write(
    `${engine.name}: ${readFileSync(join(await to.volume.writable(2), 'file'), 'utf8')}\n`,
  );
  for (const { place } of [from, to]) await engine.close(place);
}
