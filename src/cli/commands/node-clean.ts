import { named } from '../client.ts';
import { OUTPUT_OPTION, REMOTE_OPTIONS, type Subcommand } from '../command.ts';
import { formatBytes } from '../../core/model/quantity.ts';
import { EXIT } from '../exit-code.ts';
import { textOf } from '../fields.ts';
import { outputFormat, printWhole } from '../output.ts';

const plural = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

export const cleanCommand: Subcommand = {
  name: 'clean',
  summary: 'Remove images that nobody needs',
  description: [
    'Removes the images of a node that Berth pulled there and that nobody needs: none that a container was made from, that is assigned to the node, that a deployment or job of the tenant names or may be rolled back to, that was on the machine before or that somebody named otherwise. What stays is listed with the reason.',
    'What an earlier primary of a replicated volume alone had written goes after its time, 30 days (--clean-diverged of berth agent), and only where the present bytes of the volume are whole; it is listed with its age (event volume.divergence_removed).',
    'Nodes do this by themselves when the disk of the engine is 80 % full, and with what was unused for 30 days (--clean-disk and --clean-unused of berth agent). Every removal is told by an event, node.cleaned.',
  ],
  parameters: [{ term: '<name>', description: 'The node.', names: 'nodes' }],
  options: [
    {
      flags: '--dry-run',
      description: 'Say what would be removed and what would stay; change nothing. Ends with 0.',
    },
    OUTPUT_OPTION,
    ...REMOTE_OPTIONS,
  ],
  examples: [
    {
      line: 'berth node clean berlin-1 --dry-run',
      what: 'what would be removed, and why does the rest stay?',
    },
    { line: 'berth node clean berlin-1', what: 'make room now' },
  ],
  run: async (session, { parameters: [name = ''], options }) => {
    const format = outputFormat(options);
    const dryRun = options.flag('dryRun');
    const cleaned = await session
      .client(options)
      .record('POST /api/v1/nodes/{name}/clean', { ...named(name), query: { dryRun: dryRun || undefined } });
    const { out, style } = session.terminal;
    if (await printWhole(session.terminal, format, cleaned)) return EXIT.ok;
    const { removed = [], kept = [], others = 0, disk, divergences = [] } = cleaned;
    const size = (bytes = 0): string => formatBytes(bytes);
    const bytes = removed.reduce((sum, one) => sum + (one.bytes ?? 0), 0);
    const does = dryRun ? 'would remove' : 'removed';
    out(`node/${name} ${does} ${plural(removed.length, 'image')} (${size(bytes)}), ${kept.length} stay\n`);
    for (const one of removed) out(`  ${style.green('goes:')} ${textOf(one.image)} (${size(one.bytes)})\n`);
    for (const one of kept) out(`  ${style.yellow('stays:')} ${textOf(one.image)}: ${textOf(one.message)}\n`);
    if (others > 0)
      out(`  ${plural(others, 'image')} that Berth did not pull ${others === 1 ? 'is' : 'are'} left alone\n`);
    for (const { volume, volumeId, epoch, removed: goes, message } of divergences) {
      const verdict = goes === true ? style.green('goes:') : style.yellow('stays:');
      const what = `what this node alone wrote to ${textOf(volume ?? volumeId)} in epoch ${epoch}`;
      out(`  ${verdict} ${what}: ${textOf(message)}\n`);
    }
    if (disk !== undefined)
      out(`  disk of the engine: ${size(disk.usedBytes)} of ${size(disk.totalBytes)} used\n`);
    return EXIT.ok;
  },
};
