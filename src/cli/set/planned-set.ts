import { isRecord } from '../../core/model/values.ts';
import { readRejection, unjudged } from '../../sdk/index.ts';
import type { Client } from '../client.ts';
import { showPlan } from '../deploying.ts';
import { textOf } from '../fields.ts';
import type { Manifest } from '../manifests.ts';
import { alterationLines, warningLines } from '../plan-view.ts';
import type { PlannedDocument } from '../records.ts';
import { rejectionLines } from '../rejection-view.ts';
import type { Session } from '../session.ts';

/** A document with what the control plane would make of it. */
export interface Entry {
  readonly manifest: Manifest;
  readonly planned: PlannedDocument;
  /** The plan that was shown to whoever applies it now. */
  readonly shown?: string;
}

/** Registries may have to be asked for every image. */
const TIMEOUT_MS = 120_000;

/** In the order of writing: each judged as if those before it existed. Nothing is stored. */
export async function planSet(client: Client, manifests: readonly Manifest[]): Promise<readonly Entry[]> {
  const { documents = [] } = await client.record('POST /api/v1/apply', {
    query: { dryRun: true, all: true },
    body: unjudged(manifests.map(({ body }) => body)),
    timeoutMs: TIMEOUT_MS,
  });
  return documents.flatMap((planned) => {
    const manifest = manifests[planned.index ?? -1];
    return manifest === undefined ? [] : [{ manifest, planned }];
  });
}

/** Every refusal of every document, each with its place in its file. */
export function showRefusals({ terminal }: Session, entries: readonly Entry[]): number {
  const refused = entries.filter(({ planned }) => textOf(planned.action) === 'refused');
  for (const { manifest, planned } of refused) {
    const { kind, name, placeOf } = manifest;
    for (const record of (planned.rejections ?? []).flatMap((one) => readRejection(one) ?? [])) {
      const source = `${placeOf(record.field)}, ${kind.toLowerCase()} ${name}`;
      terminal.err(`${rejectionLines(record, terminal.errStyle, source).join('\n')}\n`);
    }
  }
  return refused.length;
}

const MARKS: ReadonlyMap<string, readonly [string, string]> = new Map([
  ['create', ['+', 'to create']],
  ['change', ['~', 'to update']],
]);

/** A deployment field by field and with its nodes, anything else by a line and what was announced. */
export function showEntry(session: Session, { manifest: { kind, name }, planned }: Entry): void {
  const action = textOf(planned.action);
  if (kind === 'Deployment' || (kind === 'Job' && action === 'change')) {
    const { alterations, warnings, plan, changes: diff } = planned;
    showPlan(session, {
      name: kind === 'Job' ? `job ${name}` : name,
      action: action === 'create' || action === 'unchanged' ? action : 'update',
      answer: { alterations, warnings, plan: { ...plan, diff } },
      removed: planned.removed ?? [],
    });
    return;
  }
  const { terminal } = session;
  const style = terminal.errStyle;
  const [mark, words] = MARKS.get(action) ?? ['=', 'unchanged'];
  terminal.err(`${style.bold(`${mark} ${kind.toLowerCase()} ${name}`)} ${style.dim(`(${words})`)}\n`);
  if (action === 'unchanged') return;
  for (const line of alterationLines(planned, style)) terminal.err(`  ${line}\n`);
  for (const line of warningLines(planned, style)) terminal.err(`  ${line}\n`);
}

/** Names of volumes that the document mounts. */
export function mountedNames({ manifest: { body } }: Entry): readonly string[] {
  const { volumes } = body;
  return (Array.isArray(volumes) ? volumes : []).flatMap((mount: unknown) => {
    const name = isRecord(mount) ? mount['volume'] : undefined;
    return typeof name === 'string' ? [name] : [];
  });
}
