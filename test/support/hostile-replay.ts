import { HostileStage, engineNamed } from './harness/hostile-stage.ts';
import { hostileBatches } from './hostile-copies.ts';

/** A process of its own, so that it can have mounts of its own: with another rsync in the place of the machine's. */
const stage = await HostileStage.make(engineNamed('rsync'));
try {
  const before = JSON.stringify(stage.untouched());
  const copies = hostileBatches(stage.work, stage.outside).slice(0, 4);
  for (const { what, stream } of copies) {
    const { outcome } = await stage.receive(stream);
    const { top: _top, ...seen } = stage.untouched() as Record<string, unknown>;
    const { top: _before, ...wanted } = JSON.parse(before) as Record<string, unknown>;
    process.stdout.write(
      `${JSON.stringify({ what, outcome, held: JSON.stringify(seen) === JSON.stringify(wanted), seen })}\n`,
    );
  }
} finally {
  await stage.end();
}
