import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '../client.ts';
import { type CommandBody, OUTPUT_OPTION, REMOTE_OPTIONS } from '../command.ts';
import { EXIT } from '../exit-code.ts';
import { usage } from '../failure.ts';
import { listText, outputFormat, printRecord } from '../output.ts';
import { printFound } from '../record-commands.ts';
import { findOne, OWNED_BY_DEPLOYMENT, resourceOf, RESOURCES } from '../resources/index.ts';
import type { Resource } from '../resources/resource.ts';
import type { Session } from '../session.ts';

const WATCH_MS = 1000;

export const get: CommandBody = {
  description: [
    'Lists the records of a kind, or prints one. A table shows what is worth a look; -o json and -o yaml print the fields as the control plane keeps them, and a deployment printed with -o yaml can be given back to berth apply.',
    'For instances, events and archives the second word is the deployment they belong to.',
  ],
  parameters: [
    {
      term: '<kind>',
      description: `One of: ${RESOURCES.map((resource) => resource.name).join(', ')}. Singular and short forms (deploy, no) work too.`,
      values: RESOURCES.map((resource) => resource.name),
    },
    {
      term: '[name]',
      description: 'Only this one. Secrets are named by path: deployments/web.',
      names: 'owner',
    },
  ],
  options: [
    OUTPUT_OPTION,
    {
      flags: '-w, --watch',
      description: 'Stay, and print each record again when it changes. Ctrl-C ends it.',
    },
    ...REMOTE_OPTIONS,
  ],
  examples: [
    { line: 'berth get deployments', what: 'every deployment of the tenant' },
    { line: 'berth get nodes -o wide', what: 'nodes with labels, platform and agent version' },
    { line: 'berth get deployment web -o yaml > web.yaml', what: 'one deployment, to edit and apply again' },
    { line: 'berth get instances web --watch', what: 'where the instances of web are, live' },
  ],
  run: async (session, { parameters: [kind = '', name], options }) => {
    const resource = resourceOf(kind);
    const format = outputFormat(options);
    if (options.flag('watch')) {
      if (format !== 'table' && format !== 'wide')
        throw usage('--watch prints tables; leave out -o, or use -o wide');
      return watch(session, session.client(options), resource, name, format);
    }
    const client = session.client(options);
    if (name !== undefined && !OWNED_BY_DEPLOYMENT.has(resource.name)) {
      await printRecord(
        session.terminal,
        resource,
        await findOne(resource, client, name),
        format,
        session.now(),
      );
      return EXIT.ok;
    }
    const records = await resource.list(client, { deployment: name });
    await printFound(session, resource, records, format);
    return EXIT.ok;
  },
};

async function read(
  client: Client,
  resource: Resource,
  name: string | undefined,
): Promise<readonly object[]> {
  if (name === undefined || OWNED_BY_DEPLOYMENT.has(resource.name))
    return resource.list(client, { deployment: name });
  return [await findOne(resource, client, name)];
}

/** The first table whole, then a row for each record that changed; ages do not count as a change. */
async function watch(
  session: Session,
  client: Client,
  resource: Resource,
  name: string | undefined,
  format: 'table' | 'wide',
): Promise<number> {
  const seen = new Map<string, string>();
  let first = true;
  while (!session.interrupted.aborted) {
    const records = await read(client, resource, name);
    const changed = records.filter((record) => {
      const key = resource.nameOf(record);
      const shown = JSON.stringify(resource.columns.map((column) => column.cell(record, 0)));
      if (seen.get(key) === shown) return false;
      seen.set(key, shown);
      return true;
    });
    const gone = [...seen.keys()].filter((key) => !records.some((record) => resource.nameOf(record) === key));
    for (const key of gone) {
      seen.delete(key);
      session.terminal.out(`${key} is gone\n`);
    }
    if (changed.length > 0 || first) {
      const text = listText(session.terminal, resource, changed, format, session.now());
      session.terminal.out(first ? text : text.slice(text.indexOf('\n') + 1));
      first = false;
    }
    await pause(WATCH_MS, undefined, { signal: session.interrupted }).catch(() => undefined);
  }
  return EXIT.interrupted;
}
