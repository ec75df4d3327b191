import { type CommandBody, type Option, REMOTE_OPTIONS } from '../command.ts';
import { YES_OPTION } from '../confirmation.ts';
import { confirmRemoval } from '../deploying.ts';
import { EXIT } from '../exit-code.ts';
import { outdated, planIdOf } from '../plan-id.ts';
import { readManifests } from '../manifests.ts';
import { FILENAME_OPTION, pathsOf } from '../set/files.ts';
import { type Entry, planSet, showEntry, showRefusals } from '../set/planned-set.ts';
import {
  confirmPruning,
  leftovers,
  prune,
  PRUNE_OPTIONS,
  selectorOf,
  selectorText,
  showLeftovers,
} from '../set/prune.ts';
import { quoted } from '../shell-word.ts';
import { writeSet } from '../set/write-set.ts';
import { WRITTEN_KINDS } from '../set/written-kinds.ts';
import { timeoutOf } from '../waiting.ts';

export const TIMEOUT_OPTION: Option = {
  flags: '--timeout <duration>',
  description: 'How long to wait until it is healthy.',
  default: '5m',
};
export const WAIT_OPTIONS: readonly Option[] = [
  { flags: '--no-wait', description: 'End as soon as it is stored.' },
  TIMEOUT_OPTION,
];

export const apply: CommandBody = {
  description: [
    'Reads deployments, their scaling policies, networks, jobs, volumes, webhooks and secrets to be generated from files and makes the control plane hold them as described: creates those that are new, updates the others, leaves equal ones alone. Before anything is stored it shows the difference field by field, the defaults that the control plane fills in with their reasons, and the node that was chosen with the reason.',
    'A field that is sent replaces the stored one whole; fields that are not sent stay. When a shorter list or map takes something away, such as a reference to a secret, you are asked first; without a terminal the command refuses unless --allow-removal is given.',
    'Then it waits, showing progress, until every instance is healthy. If that does not happen in time, or no node takes it and waiting would not help, it says why, prints the last lines of output, and ends with status 4; the deployment stays stored.',
  ],
  options: [
    FILENAME_OPTION,
    {
      flags: '--dry-run',
      description:
        'Show the plan and the line that applies it; store nothing. Ends with 5 when something would change.',
    },
    {
      flags: '--plan <id>',
      description:
        'Apply exactly the plan that --dry-run showed; refused when the same files would do anything else by now.',
    },
    {
      flags: '--allow-removal',
      description: 'Take away what the files leave out of a list or map, without asking.',
    },
    ...PRUNE_OPTIONS,
    YES_OPTION,
    ...WAIT_OPTIONS,
    ...REMOTE_OPTIONS,
  ],
  notes: [
    {
      title: 'FILES',
      lines: [
        'kind: Deployment',
        'name: web',
        'image: registry.example.com/shop/web:1.4.2',
        'replicas: 2',
        'ports:',
        '  - container: 8080',
        '    host: 18080',
        'healthCheck:',
        '  type: exec',
        '  command: ["wget -qO- localhost:8080/ok"]',
      ],
    },
  ],
  examples: [
    { line: 'berth apply -f web.yaml', what: 'create or update web, and wait until it is healthy' },
    { line: 'berth apply -f deploy/ --dry-run', what: 'what a whole folder would change' },
    {
      line: 'berth apply -f web.yaml --plan 0b6d8f12-5c3e9a77-e1f04d28',
      what: 'the plan that was shown, or nothing',
    },
    {
      line: 'berth apply -f deploy/ --prune -l app=shop',
      what: 'and delete what has the label and is in no file any more',
    },
    {
      line: 'cat web.yaml | berth apply -f - --allow-removal --timeout 2m',
      what: 'from a pipeline, where nobody can be asked',
    },
  ],
  run: async (session, { options }) => {
    const paths = pathsOf(options, 'berth apply -f web.yaml');
    const selector = selectorOf(options);
    const timeoutMs = timeoutOf(options);
    const readInput = (): Promise<string> => session.terminal.readInput();
    const manifests = await readManifests(paths, readInput, Object.keys(WRITTEN_KINDS));
    const client = session.client(options);
    // Everything is judged before anything is stored: a mistake in the last file leaves nothing half done.
    const entries = await planSet(client, manifests);
    if (showRefusals(session, entries) > 0) {
      session.terminal.err('nothing was stored\n');
      return EXIT.refused;
    }
    for (const entry of entries) showEntry(session, entry);
    const found = selector === undefined ? [] : await leftovers(client, selector, manifests);
    if (selector !== undefined) showLeftovers(session, found, selector, manifests);
    const id = planIdOf(entries, found);
    const shown = options.text('plan');
    if (shown !== undefined && shown !== id) throw outdated(shown, id);
    if (options.flag('dryRun')) {
      session.terminal.err('dry run: nothing was stored\n');
      const isSame = entries.every(({ planned: { action } }) => action === 'unchanged');
      if (isSame && found.length === 0) return EXIT.ok;
      const removal = entries.some(({ planned: { removed = [] } }) => removed.length > 0);
      const files = paths.map((path) => `-f ${quoted(path)}`).join(' ');
      const pruning = found.length === 0 ? '' : ` --prune ${selectorText(options)} --yes`;
      const line = `berth apply ${files} --plan ${id}${removal ? ' --allow-removal' : ''}${pruning}`;
      session.terminal.err(`${session.next(line)}\n`);
      return EXIT.wouldChange;
    }
    const losses = entries.map(({ manifest: { name }, planned: { removed = [] } }) => ({ name, removed }));
    await confirmRemoval(session, losses, options);
    await confirmPruning(session, found, options);
    // Of several the first to be stored changes what the others meet: their plan was compared as a whole.
    const isOwn = entries.length === 1 && found.length === 0;
    const written = isOwn && shown !== undefined ? withPlan(entries, shown) : entries;
    const code = await writeSet(session, client, written, { timeoutMs, wait: options.unlessDenied('wait') });
    if (code === EXIT.ok) return prune(session, client, found);
    if (found.length > 0) session.terminal.err('nothing was deleted: that is done when the rest is well\n');
    return code;
  },
};

function withPlan(entries: readonly Entry[], shown: string): readonly Entry[] {
  return entries.map((entry) => ({ ...entry, shown }));
}
