import type { Client } from './client.ts';
import {
  type Option,
  OUTPUT_OPTION,
  type OutputFormat,
  type Parameter,
  REMOTE_OPTIONS,
  type Subcommand,
} from './command.ts';
import { confirmDeletion, YES_OPTION } from './confirmation.ts';
import { EXIT } from './exit-code.ts';
import { type Listing, outputFormat, printList, printRecord } from './output.ts';
import { alterationLines } from './plan-view.ts';
import { findOne, resourceOf } from './resources/index.ts';
import { type Resource, withPages } from './resources/resource.ts';
import type { Session } from './session.ts';

type Words = Pick<Subcommand, 'summary' | 'description' | 'examples'>;

/** A list, or for people a message about an empty one. */
export async function printFound<T>(
  session: Session,
  listing: Listing<T> & Pick<Resource, 'nothing' | 'next'>,
  found: readonly T[],
  format: OutputFormat,
): Promise<void> {
  if (found.length > 0 || (format !== 'table' && format !== 'wide')) {
    await printList(session.terminal, listing, found, format, session.now());
    return;
  }
  const next = listing.next === undefined ? '' : `; ${session.next(listing.next)}`;
  session.terminal.err(`${listing.nothing}${next}\n`);
}

/** What a command has made; for people a line, what Berth altered of it, and what to look at next. */
export async function printMade(
  session: Session,
  kind: string,
  made: object,
  format: OutputFormat,
  { line, next }: { readonly line: string; readonly next: string },
): Promise<void> {
  const { terminal } = session;
  if (format !== 'table') return printRecord(terminal, resourceOf(kind), made, format, session.now());
  terminal.out(`${line}\n`);
  for (const altered of alterationLines(made, terminal.errStyle)) terminal.err(`${altered}\n`);
  terminal.err(`${session.next(next)}\n`);
}

/** `list` of a kind that `get` lists too. */
export function listCommand(
  kind: string,
  words: Words,
  target: readonly Option[] = REMOTE_OPTIONS,
): Subcommand {
  return {
    name: 'list',
    aliases: ['ls'],
    ...words,
    options: [OUTPUT_OPTION, ...target],
    run: async (session, { options }) => {
      const format = outputFormat(options);
      const client = session.client(options);
      const resource = withPages(resourceOf(kind), client);
      await printFound(session, resource, await resource.list(client, {}), format);
      return EXIT.ok;
    },
  };
}

/** `get` of one record of a kind that `get` prints too. */
export function getCommand(kind: string, parameter: Parameter, words: Words): Subcommand {
  return {
    name: 'get',
    ...words,
    parameters: [parameter],
    options: [OUTPUT_OPTION, ...REMOTE_OPTIONS],
    run: async (session, { parameters: [name = ''], options }) => {
      const format = outputFormat(options);
      const resource = resourceOf(kind);
      const found = await findOne(resource, session.client(options), name);
      await printRecord(session.terminal, resource, found, format, session.now());
      return EXIT.ok;
    },
  };
}

export interface Deleted extends Words {
  readonly kind: string;
  readonly parameter: Parameter;
  readonly remove: (client: Client, name: string) => Promise<unknown>;
  /** What goes with it, for the question. */
  readonly and?: string;
  readonly target?: readonly Option[];
}

/** `delete` of a record that is gone when the control plane has answered. */
export function deleteCommand({
  kind,
  parameter,
  remove,
  and,
  target = REMOTE_OPTIONS,
  ...words
}: Deleted): Subcommand {
  return {
    name: 'delete',
    aliases: ['remove'],
    ...words,
    parameters: [parameter],
    options: [YES_OPTION, ...target],
    run: async (session, { parameters: [name = ''], options }) => {
      const client = session.client(options);
      await confirmDeletion(session, `${kind}/${name}${and === undefined ? '' : ` with ${and}`}`, options);
      await remove(client, name);
      session.terminal.out(`${kind}/${name} deleted\n`);
      return EXIT.ok;
    },
  };
}
