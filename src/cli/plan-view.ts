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
