import { WAY_WORDS } from '../../core/contract/mesh-standing.ts';
import { instanceName } from '../../core/model/instance-name.ts';
import { nearestFew } from '../../core/schema/nearest.ts';
import { type Client, named } from '../client.ts';
import { type CommandBody, OUTPUT_OPTION, type OutputFormat, REMOTE_OPTIONS } from '../command.ts';
import { EXIT } from '../exit-code.ts';
import { Failure } from '../failure.ts';
import { textOf } from '../fields.ts';
import type { Explanation, RefusedNode } from '../records.ts';
import { wrapped } from '../help.ts';
import { outputFormat, printWhole } from '../output.ts';
import type { Session } from '../session.ts';
import { tableText } from '../table.ts';

export const explain: CommandBody = {
  description: [
    'With the name of a deployment: asks the scheduler, for every node, what speaks for and against one more instance there, quoting what is required and what the node reports. All reasons are listed, not only the first.',
    'With a rejection code: prints what it means, what is accepted, and a refused and a corrected example. That needs no control plane.',
  ],
  parameters: [
    {
      term: '<what>',
      description:
        'A deployment, or a code such as image_not_found. A word with an underscore is a code; deployments have none.',
      names: 'deployments',
    },
  ],
  options: [
    {
      flags: '--node <node>',
      description: 'Only this node, with every filter, passed or not.',
      names: 'nodes',
    },
    { flags: '--failed', description: 'Only nodes that refuse.' },
    { flags: '--all', description: 'Every node, however many there are, not only the first page.' },
    {
      flags: '--from <name>',
      description:
        'Instead: may this deployment or job (or ingress) connect to it, by which rule, and on which way from node to node?',
      names: 'deployments',
    },
    OUTPUT_OPTION,
    ...REMOTE_OPTIONS,
  ],
  examples: [
    { line: 'berth explain web', what: 'why is web where it is, or nowhere?' },
    { line: 'berth explain web --node berlin-2', what: 'why not this node?' },
    { line: 'berth explain db --from web', what: 'does web reach db, and how?' },
    { line: 'berth explain image_not_found', what: 'what does this code mean?' },
  ],
  run: async (session, { parameters: [what = ''], options }) => {
    const format = outputFormat(options);
    if (what.includes('_')) return explainCode(session, what, format);
    const [node, from] = [options.text('node'), options.text('from')];
    const query = {
      ...(node !== undefined && { node }),
      ...(from !== undefined && { from }),
      ...(options.flag('failed') && { failed: true }),
    };
    const client = session.client(options);
    const explanation = await explained(client, what, query, options.flag('all'));
    if (await printWhole(session.terminal, format, explanation)) return EXIT.ok;
    if (explanation.access !== undefined) return showAccess(session, what, explanation.access);
    if (node === undefined) return showExplanation(session, what, explanation);
    const found = (explanation.nodes ?? []).find((one) => textOf(one.node) === node);
    if (found === undefined) throw await noNode(client, node);
    showFilters(session, found);
    return EXIT.ok;
  },
};

/** The first page of nodes, or all of them. */
async function explained(
  client: Client,
  name: string,
  query: { readonly node?: string; readonly from?: string; readonly failed?: boolean },
  isAll: boolean,
): Promise<Explanation> {
  const page = (cursor?: string): Promise<Explanation> =>
    client.record('GET /api/v1/deployments/{name}/explain', {
      ...named(name),
      query: { ...query, ...(cursor !== undefined && { cursor }) },
    });
  const { cursor, ...first } = await page();
  if (!isAll || cursor === undefined) return { ...first, ...(cursor !== undefined && { cursor }) };
  const all: Explanation[] = [first];
  for (let next: string | undefined = cursor; next !== undefined; next = all.at(-1)?.cursor)
    all.push(await page(next));
  return {
    ...first,
    nodes: all.flatMap(({ nodes = [] }) => nodes),
    instances: all.flatMap(({ instances = [] }) => instances),
    misplaced: all.flatMap(({ misplaced = [] }) => misplaced),
  };
}

async function noNode(client: Client, node: string): Promise<Failure> {
  const names = (await client.list('GET /api/v1/nodes')).map(({ name }) => textOf(name));
  const near = nearestFew(node, names, 3);
  return new Failure(`the tenant has no node ${node}, so the scheduler never looks at it`, {
    advice: [near.length === 0 ? 'berth get nodes' : `near: ${near.join(', ')}`],
  });
}

/** Of the paths that an explanation has; one within a node is no way between two. */
const PATH_WORDS: Readonly<Record<string, string>> = {
  direct: WAY_WORDS.direct,
  relay: WAY_WORDS.relayed,
  none: WAY_WORDS.none,
};

function showAccess({ terminal }: Session, name: string, access: NonNullable<Explanation['access']>): number {
  const { style } = terminal;
  const verdict = access.allowed === true ? style.green('✔ allowed') : style.red('✘ blocked');
  terminal.out(`${textOf(access.from)} → ${style.bold(name)}  ${verdict}: ${textOf(access.rule)}\n`);
  const paths = access.paths ?? [];
  for (const { from, to, path, why } of paths) {
    const mark = textOf(path) === 'none' ? style.red('✘') : style.green('✔');
    const word = PATH_WORDS[textOf(path)] ?? textOf(path);
    terminal.out(`  ${mark} ${textOf(from)} → ${textOf(to)}  ${word}: ${textOf(why)}\n`);
  }
  if (paths.length === 0) terminal.out('  one of them has no instance, so there is no way to look at\n');
  return EXIT.ok;
}

/** The catalogue comes with the program, so that a code can be looked up without a control plane. */
async function explainCode(session: Session, code: string, format: OutputFormat): Promise<number> {
  const { CATALOGUE, isRejectionCode } = await import('../../core/rejections/catalogue.ts');
  const { exampleLines } = await import('../../core/rejections/example.ts');
  if (!isRejectionCode(code)) {
    const near = nearestFew(code, Object.keys(CATALOGUE), 3);
    throw new Failure(`there is no code ${code}`, {
      exitCode: EXIT.usage,
      advice: near.length === 0 ? ['Every code: docs/reference/rejections.md'] : [`near: ${near.join(', ')}`],
    });
  }
  const entry = CATALOGUE[code];
  if (await printWhole(session.terminal, format, { code, ...entry })) return EXIT.ok;
  const { style } = session.terminal;
  const status =
    entry.alsoStatus === undefined ? String(entry.status) : `${entry.status} or ${entry.alsoStatus}`;
  const example = (text: string): string =>
    exampleLines(text)
      .map((line) => `    ${line}`.trimEnd())
      .join('\n');
  session.terminal.out(
    `${style.bold(code)}  ${style.dim(`status ${status}, field ${entry.field}`)}\n${wrapped(entry.title, '  ')}\n\n${wrapped(entry.cause, '  ')}\n\n` +
      `  ${style.bold('Accepted')}\n${wrapped(entry.accepted, '    ')}\n\n  ${style.red('Refused')}\n${example(entry.failing)}\n\n  ${style.green('Corrected')}\n${example(entry.corrected)}\n`,
  );
  return EXIT.ok;
}

function showExplanation(session: Session, name: string, explanation: Explanation): number {
  const { terminal } = session;
  const { style } = terminal;
  const nodes = explanation.nodes ?? [];
  for (const instance of explanation.instances ?? []) {
    const older = instance.current === false ? style.dim(' (earlier version)') : '';
    terminal.out(
      `runs: ${instanceName(name, textOf(instance.id))} on ${style.bold(textOf(instance.node))}${older}\n`,
    );
  }
  for (const text of explanation.waitingFor ?? []) terminal.out(`${style.yellow('waits:')} ${text}\n`);
  for (const one of explanation.misplaced ?? []) {
    const why = (one.reasons ?? []).map((reason) => textOf(reason.message));
    const called = instanceName(name, textOf(one.id));
    terminal.out(`${style.red('misplaced:')} ${called} on ${textOf(one.node)}: ${why.join('; ')}\n`);
  }
  for (const one of explanation.warnings ?? [])
    terminal.out(`${style.yellow('warning:')} ${textOf(one.why)}\n`);
  terminal.out(`one more instance: ${textOf(explanation.summary)}\n`);
  const chosen = explanation.chosen ?? undefined;
  if (explanation.cursor !== undefined) showGroups(session, explanation);
  for (const one of nodes) {
    const label = style.bold(textOf(one.node));
    const reasons = one.reasons ?? [];
    if (reasons.length === 0) {
      const why = textOf(chosen?.node) === textOf(one.node) ? `chosen: ${textOf(chosen?.why)}` : 'fits';
      terminal.out(`  ${style.green('✔')} ${label}  ${why}\n`);
    }
    for (const reason of reasons) terminal.out(`  ${style.red('✘')} ${label}  ${textOf(reason.message)}\n`);
  }
  const nearest = textOf(explanation.nearest?.node) || textOf(nodes[0]?.node);
  const more = explanation.cursor === undefined ? [] : [`berth explain ${name} --all`];
  const next =
    (explanation.total ?? 0) === 0 ? 'berth node token' : `berth explain ${name} --node ${nearest}`;
  terminal.out(`${session.next([next, ...more].join(' · '))}\n`);
  return EXIT.ok;
}

/** Of more nodes than fit on a page: how many refuse for what, and which of them lacks least. */
function showGroups(
  { terminal }: Session,
  { total = 0, fitting = 0, refused = [], nodes = [] }: Explanation,
): void {
  const { style } = terminal;
  if (fitting > 0) terminal.out(`  ${style.green('✔')} ${fitting} of ${total} nodes fit\n`);
  for (const { filters, nodes: count, nearest } of refused)
    terminal.out(
      `  ${style.red('✘')} ${count} refuse: ${(filters ?? []).join(', ')}; ${nearest} lacks least\n`,
    );
  terminal.out(`the first ${nodes.length} by name:\n`);
}

function showFilters(session: Session, node: RefusedNode): void {
  const { terminal } = session;
  const rows = (node.outcomes ?? []).map((outcome) => [
    outcome.passed === true ? terminal.style.green('✔') : terminal.style.red('✘'),
    textOf(outcome.filter),
    textOf(outcome.required),
    textOf(outcome.reported),
  ]);
  terminal.out(
    `${terminal.style.bold(textOf(node.node))}\n${tableText(['', 'FILTER', 'REQUIRED', 'REPORTED'], rows, terminal.style, undefined)}`,
  );
  for (const reason of node.reasons ?? []) terminal.out(`${textOf(reason.message)}\n`);
}
