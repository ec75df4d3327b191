import { type Client, named } from '../client.ts';
import type { Option } from '../command.ts';
import { confirm } from '../confirmation.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { Refused, usage } from '../failure.ts';
import { textOf } from '../fields.ts';
import type { Manifest } from '../manifests.ts';
import type { OptionValues } from '../option-values.ts';
import { quoted } from '../shell-word.ts';
import { rejectionLines } from '../rejection-view.ts';
import type { Session } from '../session.ts';

export const PRUNE_OPTIONS: readonly Option[] = [
  {
    flags: '--prune',
    description:
      'Also delete deployments, jobs and networks that have the labels of -l and are in none of the files. Never volumes or secrets, nor webhooks, which have no labels.',
  },
  {
    flags: '-l, --selector <label>',
    description: 'Of --prune: key=value that a record must have to be deleted. May be repeated: all of them.',
    repeatable: true,
  },
];

type Labels = Readonly<Record<string, string>>;

/** What is there, has the labels, and is described by no file. */
export interface Leftover {
  readonly kind: 'Deployment' | 'Job' | 'Network';
  readonly name: string;
  /** As it was looked at: what changes meanwhile is not deleted unseen. */
  readonly revision: number | undefined;
}

/** Undefined: nothing is to be pruned. Without labels it would be everything that is in no file. */
export function selectorOf(options: OptionValues): Labels | undefined {
  const given = options.list('selector');
  if (!options.flag('prune')) {
    if (given.length > 0) throw usage('-l chooses what --prune deletes; without --prune it does nothing');
    return undefined;
  }
  if (given.length === 0)
    throw usage('--prune needs -l: it deletes what has these labels and is in none of the files', [
      'berth apply -f deploy/ --prune -l app=shop',
    ]);
  return Object.fromEntries(
    given.map((label) => {
      const at = label.indexOf('=');
      if (at < 1) throw usage(`-l ${label}: a label is key=value`, ['-l app=shop']);
      return [label.slice(0, at), label.slice(at + 1)] as const;
    }),
  );
}

/** As it was typed. */
export function selectorText(options: OptionValues): string {
  return options
    .list('selector')
    .map((label) => `-l ${quoted(label)}`)
    .join(' ');
}

interface Labelled {
  readonly name?: string | undefined;
  readonly labels?: object | undefined;
  readonly revision?: number | undefined;
}

function hasLabels({ labels = {} }: { readonly labels?: object | undefined }, wanted: Labels): boolean {
  const own = new Map<string, unknown>(Object.entries(labels));
  return Object.entries(wanted).every(([key, value]) => own.get(key) === value);
}

/** In the order of deletion: what refers to others first. */
export async function leftovers(
  client: Client,
  selector: Labels,
  manifests: readonly Manifest[],
): Promise<readonly Leftover[]> {
  const described = new Set(manifests.map(({ kind, name }) => `${kind}/${name}`));
  const of = (kind: Leftover['kind'], records: readonly Labelled[]): readonly Leftover[] =>
    records
      .filter((record) => hasLabels(record, selector) && !described.has(`${kind}/${textOf(record.name)}`))
      .map(({ name, revision }) => ({ kind, name: textOf(name), revision }));
  return [
    ...of('Job', await client.list('GET /api/v1/jobs')),
    ...of('Deployment', await client.list('GET /api/v1/deployments')),
    ...of('Network', await client.list('GET /api/v1/networks')),
  ];
}

const PRUNED: ReadonlySet<string> = new Set(['Deployment', 'Job', 'Network']);

/** What would be deleted, and which documents a later run would not find. */
export function showLeftovers(
  { terminal }: Session,
  found: readonly Leftover[],
  selector: Labels,
  manifests: readonly Manifest[],
): void {
  const style = terminal.errStyle;
  for (const { kind, name } of found)
    terminal.err(`${style.bold(`- ${kind.toLowerCase()} ${name}`)} ${style.dim('(to delete)')}\n`);
  const wanted = Object.entries(selector).map((pair) => pair.join('='));
  for (const { kind, name, body } of manifests) {
    const labels = body['labels'];
    if (
      !PRUNED.has(kind) ||
      hasLabels({ labels: typeof labels === 'object' ? (labels ?? {}) : {} }, selector)
    )
      continue;
    terminal.err(
      `  ${style.yellow('warning:')} ${kind.toLowerCase()} ${name} has no label ${wanted.join(', ')}: without its file it will not be pruned\n`,
    );
  }
}

export async function confirmPruning(
  session: Session,
  found: readonly Leftover[],
  options: OptionValues,
): Promise<void> {
  if (found.length === 0 || options.flag('yes')) return;
  const what = found.map(({ kind, name }) => `${kind.toLowerCase()}/${name}`).join(', ');
  await confirm(session, {
    what: `deleting ${what} needs a yes`,
    ask: `Delete ${what} when the rest is done?`,
    otherwise: 'nothing was changed',
    flag: '--yes',
  });
}

function remove(client: Client, { kind, name, revision }: Leftover): Promise<unknown> {
  const said = { ...named(name), ...(revision !== undefined && { ifMatch: revision }) };
  switch (kind) {
    case 'Deployment':
      return client.record('DELETE /api/v1/deployments/{name}', said);
    case 'Job':
      return client.record('DELETE /api/v1/jobs/{name}', said);
    case 'Network':
      return client.record('DELETE /api/v1/networks/{name}', said);
  }
}

/** Each by itself: what one is refused with does not keep the others. */
export async function prune(
  { terminal }: Session,
  client: Client,
  found: readonly Leftover[],
): Promise<ExitCode> {
  let code: ExitCode = EXIT.ok;
  for (const leftover of found) {
    const what = `${leftover.kind.toLowerCase()}/${leftover.name}`;
    try {
      await remove(client, leftover);
      terminal.out(`${what} deleted\n`);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      terminal.err(`${rejectionLines(error.rejection, terminal.errStyle, what).join('\n')}\n`);
      code = EXIT.refused;
    }
  }
  if (code !== EXIT.ok) terminal.err('not everything was deleted; the same command deletes the rest\n');
  return code;
}
