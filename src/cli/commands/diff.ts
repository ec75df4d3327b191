import { fieldDifferences } from '../../core/contract/diff.ts';
import { type CommandBody, REMOTE_OPTIONS } from '../command.ts';
import { EXIT } from '../exit-code.ts';
import { textOf } from '../fields.ts';
import { readManifests } from '../manifests.ts';
import { diffLines, warningLines } from '../plan-view.ts';
import type { Session } from '../session.ts';
import { type Entry, planSet, showRefusals } from '../set/planned-set.ts';
import { leftovers, PRUNE_OPTIONS, selectorOf } from '../set/prune.ts';
import { WRITTEN_KINDS } from '../set/written-kinds.ts';
import { FILENAME_OPTION, pathsOf } from '../set/files.ts';

/** Material of secrets is never repeated, wherever it was written. */
function shown({ kind: _kind, name: _name, secrets, ...body }: Entry['manifest']['body']): object {
  const entries: readonly unknown[] = Array.isArray(secrets) ? secrets : [];
  const names = entries.map((entry) =>
    typeof entry === 'object' && entry !== null && 'name' in entry ? entry.name : '',
  );
  return names.length === 0 ? body : { ...body, secrets: names };
}

function showDifferences({ terminal }: Session, { manifest, planned }: Entry): void {
  const action = textOf(planned.action);
  if (action === 'unchanged') return;
  const { style } = terminal;
  const mark = action === 'create' ? '+' : '~';
  terminal.out(`${style.bold(`${mark} ${manifest.kind.toLowerCase()} ${manifest.name}`)}\n`);
  const differences =
    action === 'create' ? fieldDifferences({}, shown(manifest.body)) : (planned.changes ?? []);
  for (const line of diffLines(differences, style)) terminal.out(`${line}\n`);
  for (const line of warningLines(planned, terminal.errStyle)) terminal.err(`  ${line}\n`);
}

export const diff: CommandBody = {
  description: [
    'Compares files with what the control plane holds, field by field, and stores nothing. What is the same is not shown; of something new every field of its document is.',
    'Ends with 0 when nothing would change, with 5 when something would, and with 1 when a document would be refused: then every refusal is shown, with file, line and column.',
  ],
  options: [FILENAME_OPTION, ...PRUNE_OPTIONS, ...REMOTE_OPTIONS],
  examples: [
    { line: 'berth diff -f deploy/', what: 'what berth apply -f deploy/ would change' },
    { line: 'berth diff -f deploy/ --prune -l app=shop', what: 'and what it would delete' },
  ],
  run: async (session, { options }) => {
    const paths = pathsOf(options, 'berth diff -f web.yaml');
    const selector = selectorOf(options);
    const readInput = (): Promise<string> => session.terminal.readInput();
    const manifests = await readManifests(paths, readInput, Object.keys(WRITTEN_KINDS));
    const client = session.client(options);
    const entries = await planSet(client, manifests);
    if (showRefusals(session, entries) > 0) return EXIT.refused;
    for (const entry of entries) showDifferences(session, entry);
    const found = selector === undefined ? [] : await leftovers(client, selector, manifests);
    for (const { kind, name } of found)
      session.terminal.out(`${session.terminal.style.bold(`- ${kind.toLowerCase()} ${name}`)}\n`);
    const isSame =
      found.length === 0 && entries.every(({ planned }) => textOf(planned.action) === 'unchanged');
    return isSame ? EXIT.ok : EXIT.wouldChange;
  },
};
