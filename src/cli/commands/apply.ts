import { type CommandBody, type Option, REMOTE_OPTIONS } from '../command.ts';
import { APPLIED_KINDS, type AppliedPlan } from '../applied-kinds.ts';
import { confirmRemoval } from '../deploying.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { Refused, usage } from '../failure.ts';
import { type Manifest, readManifests } from '../manifests.ts';
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
    'Reads deployments, networks, jobs and volumes from files and makes the control plane hold them as described: creates those that are new, updates the others, leaves equal ones alone. Before anything is stored it shows the difference field by field, the defaults that the control plane fills in with their reasons, and the node that was chosen with the reason.',
    'A field that is sent replaces the stored one whole; fields that are not sent stay. When a shorter list or map takes something away, such as a reference to a secret, you are asked first; without a terminal the command refuses unless --allow-removal is given.',
    'Then it waits, showing progress, until every instance is healthy. If that does not happen in time, or no node takes it and waiting would not help, it says why, prints the last lines of output, and ends with status 4; the deployment stays stored.',
  ],
  options: [
    {
      flags: '-f, --filename <path>',
      description:
        'File with one or more YAML or JSON documents, folder of such files, or - for standard input. May be repeated.',
      repeatable: true,
    },
    { flags: '--dry-run', description: 'Show the plan; store nothing.' },
    {
      flags: '--allow-removal',
      description: 'Take away what the files leave out of a list or map, without asking.',
    },
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
      line: 'cat web.yaml | berth apply -f - --allow-removal --timeout 2m',
      what: 'from a pipeline, where nobody can be asked',
    },
  ],
  run: async (session, { options }) => {
    const paths = options.list('filename');
    if (paths.length === 0) throw usage('-f is needed: which files?', ['berth apply -f web.yaml']);
    const timeoutMs = timeoutOf(options);
    const readInput = (): Promise<string> => session.terminal.readInput();
    const manifests = inOrder(await readManifests(paths, readInput, Object.keys(APPLIED_KINDS)));
    const names = manifests.map(({ name }) => name);
    const client = session.client(options);
    // Everything is checked before anything is stored: a mistake in the last file leaves nothing half done.
    const planned: (AppliedPlan & { readonly manifest: Manifest })[] = [];
    for (const manifest of manifests) {
      const plan = await naming(manifest, async () =>
        APPLIED_KINDS[manifest.kind]?.(session, client, manifest, names),
      );
      if (plan === undefined) continue;
      planned.push({ ...plan, manifest });
      plan.show();
    }
    if (options.flag('dryRun')) {
      session.terminal.err('dry run: nothing was stored\n');
      return EXIT.ok;
    }
    await confirmRemoval(session, planned, options);
    const waits = [];
    for (const plan of planned) waits.push(await naming(plan.manifest, async () => plan.write()));
    if (!options.unlessDenied('wait')) return EXIT.ok;
    let code: ExitCode = EXIT.ok;
    for (const wait of waits) {
      const ended = (await wait?.(timeoutMs)) ?? EXIT.ok;
      if (ended !== EXIT.ok) code = ended;
    }
    return code;
  },
};

/** What others refer to comes first; otherwise as in the files. */
function inOrder(manifests: readonly Manifest[]): readonly Manifest[] {
  const isFirst = ({ kind }: Manifest): boolean => kind === 'Network' || kind === 'Volume';
  return [...manifests.filter(isFirst), ...manifests.filter((one) => !isFirst(one))];
}

/** A refusal names the document: there may be a whole folder of them. */
async function naming<T>({ source, kind, name }: Manifest, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof Refused ? error.in(`${source}, ${kind.toLowerCase()} ${name}`) : error;
  }
}
