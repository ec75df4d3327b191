import { textOf } from './fields.ts';
import type { Announcements, Difference, PlacementPlan, RefusedNode } from './records.ts';
import { printable, type Style } from './style.ts';

const MAX_VALUE = 120;

function shown(value: unknown): string {
  if (value === null || value === undefined) return '(none)';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return printable(text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text);
}

/** Field by field: what is, what will be. */
export function diffLines(differences: readonly Difference[], style: Style): readonly string[] {
  return differences.flatMap((difference) => {
    const field = textOf(difference.field);
    const from = difference.from;
    const to = difference.to;
    return [
      `  ${style.bold(field)}`,
      ...(from === null || from === undefined ? [] : [`    ${style.red(`- ${shown(from)}`)}`]),
      ...(to === null || to === undefined ? [] : [`    ${style.green(`+ ${shown(to)}`)}`]),
    ];
  });
}

/** What the control plane filled in or changed, each with its reason. */
export function alterationLines(answer: Announcements, style: Style): readonly string[] {
  return (answer.alterations ?? []).map((alteration) => {
    const field = textOf(alteration.field);
    const from = textOf(alteration.from);
    const before = from === '' || from === '(absent)' ? '' : `${shown(from)} → `;
    return `  ${field}: ${before}${shown(textOf(alteration.to))}  ${style.dim(textOf(alteration.why))}`;
  });
}

export function warningLines(answer: Announcements, style: Style): readonly string[] {
  return (answer.warnings ?? []).map(
    (warning) =>
      `${style.yellow('warning:')} ${textOf(warning.code)} (${textOf(warning.field)}): ${textOf(warning.why)}`,
  );
}

const ACTIONS = {
  replace: { mark: '~', words: 'replaced' },
  stop: { mark: '-', words: 'stopped' },
  create: { mark: '+', words: 'created' },
  keep: { mark: '=', words: 'left alone' },
} as const;
const MAX_LISTED = 10;

/** What happens to each instance: those with one reason together, each with its node. */
export function actionLines({ actions = [] }: PlacementPlan, style: Style): readonly string[] {
  // Of something new the places say all there is to say.
  if (actions.every(({ instance }) => instance === undefined)) return [];
  const groups = Map.groupBy(actions, ({ action, how, why }) => JSON.stringify([action, how, why]));
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    const known = Object.entries(ACTIONS).find(([action]) => action === first?.action);
    if (first === undefined || known === undefined) return [];
    const [, { mark, words }] = known;
    const how = first.how === 'stop-first' ? ', each stopped before its successor starts' : '';
    const more = group.length - MAX_LISTED;
    return [
      `  ${style.bold(`${mark} ${group.length} ${words}`)}${how}: ${textOf(first.why)}`,
      ...group.slice(0, MAX_LISTED).map((one) => `      ${placeLine(one)}`),
      ...(more > 0 ? [`      and ${more} more`] : []),
    ];
  });
}

function placeLine({ action, instance, node, to }: NonNullable<PlacementPlan['actions']>[number]): string {
  const here = instance === undefined ? 'a new one' : `${instance} on ${textOf(node)}`;
  if (action === 'keep' || action === 'stop') return here;
  return `${here} → ${to === undefined ? 'no node takes it yet' : textOf(to)}`;
}

/** Where new instances would go and why, or every node with every reason against it. */
export function placementLines(plan: PlacementPlan, style: Style): readonly string[] {
  const placed = placedLines(plan.instances ?? [], style);
  const unplaced = plan.unplaced ?? {};
  const waiting = (plan.waitingFor ?? []).map((text) => `  ${style.yellow('waits:')} ${text}`);
  if (unplaced.count === undefined) return [...placed, ...waiting];
  return [
    ...placed,
    `  ${style.yellow(`${unplaced.count ?? 0} without a place:`)} ${textOf(unplaced.summary)}`,
    ...(unplaced.nodes ?? []).flatMap((node) => reasonLines(node, style)),
    ...waiting,
  ];
}

export function reasonLines(node: RefusedNode, style: Style): readonly string[] {
  return (node.reasons ?? []).map(
    (reason) => `    ${style.bold(textOf(node.node))}: ${textOf(reason.message)}`,
  );
}

/** One line per node, with the reason that chose it first: those of further instances differ only in what runs there by then. */
function placedLines(instances: NonNullable<PlacementPlan['instances']>, style: Style): readonly string[] {
  const byNode = Map.groupBy(instances, (instance) => textOf(instance.node));
  return [...byNode].map(([node, here]) => {
    const count = here.length === 1 ? '' : `, ${here.length} instances`;
    // The first clause tells this node from others; how ties were broken is for `berth explain`.
    const [why = ''] = textOf(here[0]?.why).split('; ');
    return `  ${style.green('→')} node ${style.bold(node)}${count}  ${style.dim(why)}`;
  });
}
