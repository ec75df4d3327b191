import type { Client } from '../client.ts';
import { type CommandBody, OUTPUT_OPTION, REMOTE_OPTIONS } from '../command.ts';
import { EXIT } from '../exit-code.ts';
import { outputFormat, printRecord } from '../output.ts';
import { printFound } from '../record-commands.ts';
import { watchRecords } from '../record-watch.ts';
import { findOne, OWNED_BY_DEPLOYMENT, resourceOf, RESOURCES } from '../resources/index.ts';
import { type Resource, withPages } from '../resources/resource.ts';

export const get: CommandBody = {
  description: [
    'Lists the records of a kind, or prints one. A table shows what is worth a look; -o json and -o yaml print the fields as the control plane keeps them, and a deployment printed with -o yaml can be given back to berth apply.',
    'For instances, events and archives the second word is the deployment they belong to; of instances it may be one of them.',
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
      description:
        'Stay, and print each record again when something that -o wide shows of it has changed; with -o json one object a line, and {"gone": NAME} of what was deleted. A lost connection is said and taken up again. Ctrl-C ends it.',
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
    const known = resourceOf(kind);
    const one = oneNamed(known, name);
    const format = outputFormat(options);
    const client = session.client(options);
    const resource = withPages(known, client);
    if (options.flag('watch'))
      return watchRecords(session, client, {
        listing: resource,
        format,
        isOne: one !== undefined,
        read: () => read(client, resource, name),
      });
    if (one !== undefined) {
      await printRecord(
        session.terminal,
        resource,
        await findOne(resource, client, one),
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

/** The name of one record; undefined: a list is asked for. */
function oneNamed(resource: Resource, name: string | undefined): string | undefined {
  return OWNED_BY_DEPLOYMENT.has(resource.name) ? undefined : name;
}

async function read(
  client: Client,
  resource: Resource,
  name: string | undefined,
): Promise<readonly object[]> {
  const one = oneNamed(resource, name);
  return one === undefined
    ? resource.list(client, { deployment: name })
    : [await findOne(resource, client, one)];
}
