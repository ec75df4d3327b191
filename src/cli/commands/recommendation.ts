import {
  RECOMMENDATION_PRIORITIES,
  RECOMMENDATION_TYPES,
  type RecommendationParameters,
} from '../../core/model/recommendation.ts';
import { type CallOptions, unjudged } from '../../sdk/index.ts';
import { formatBytes } from '../../core/model/quantity.ts';
import type { Client } from '../client.ts';
import { type CommandBody, OUTPUT_OPTION, REMOTE_OPTIONS, type Subcommand } from '../command.ts';
import { confirm, YES_OPTION } from '../confirmation.ts';
import { EXIT } from '../exit-code.ts';
import { textOf } from '../fields.ts';
import type { OptionValues } from '../option-values.ts';
import { outputFormat } from '../output.ts';
import { printFound } from '../record-commands.ts';
import { resourceOf } from '../resources/index.ts';
import type { Session } from '../session.ts';
import { listRecommendations, recommendedText, sizeOf, wantedBytes } from '../volumes.ts';
import { wholeNumber } from './run.ts';

type Wanted = NonNullable<CallOptions<'GET /api/v1/dvm/recommendations'>['query']>;

const list: Subcommand = {
  name: 'list',
  aliases: ['ls'],
  summary: 'List recommendations',
  description: [
    'Lists what would be good for the volumes of the tenant, the most urgent first. It is computed at each read: a recommendation vanishes with its condition.',
  ],
  options: [
    {
      flags: '--priority <priority>',
      description: `Only of this priority: ${RECOMMENDATION_PRIORITIES.join(', ')}.`,
      values: RECOMMENDATION_PRIORITIES,
    },
    {
      flags: '--type <type>',
      description: `Only of this type: ${RECOMMENDATION_TYPES.join(', ')}.`,
      values: RECOMMENDATION_TYPES,
    },
    OUTPUT_OPTION,
    ...REMOTE_OPTIONS,
  ],
  examples: [
    { line: 'berth recommendation list', what: 'everything' },
    { line: 'berth recommendation list --priority critical', what: 'what cannot wait' },
  ],
  run: async (session, { options }) => {
    const format = outputFormat(options);
    const resource = resourceOf('recommendations');
    const query = unjudged<Wanted>({ priority: options.text('priority'), type: options.text('type') });
    const found = await listRecommendations(session.client(options), query);
    await printFound(session, resource, found, format);
    return EXIT.ok;
  },
};

function parametersOf(options: OptionValues): RecommendationParameters {
  const [replicas, size] = ['replicas', 'size'].map((option) => options.text(option));
  return {
    ...(replicas === undefined ? {} : { target_replicas: wholeNumber('--replicas', replicas) }),
    ...(size === undefined ? {} : { target_size_bytes: sizeOf('--size', size) }),
  };
}

/** It changes the spec of a volume, so the user has to confirm. */
async function confirmChange(
  session: Session,
  client: Client,
  id: string,
  chosen: RecommendationParameters,
): Promise<void> {
  const found = (await listRecommendations(client)).find((one) => textOf(one.id) === id);
  // The control plane refuses one that does not exist.
  if (found === undefined) return;
  const parameters = { ...found.parameters, ...chosen };
  const what = `${textOf(found.reason)}. ${recommendedText({ ...found, parameters })}`;
  await confirm(session, { what, ask: `${what}. Go on?`, otherwise: 'nothing was changed', flag: '--yes' });
}

const apply: Subcommand = {
  name: 'apply',
  summary: 'Do what a recommendation says',
  description: [
    'Sets the number of copies or the size of the volume as recommended, or as the options say instead. Applying one about copies also gives up those that failed, so that others take their place. One that only a person may carry out, such as deleting a volume, is refused.',
  ],
  parameters: [{ term: '<id>', description: 'Of berth recommendation list.', names: 'recommendations' }],
  options: [
    { flags: '--replicas <n>', description: 'This number of copies instead of the recommended one.' },
    { flags: '--size <amount>', description: 'This size instead of the recommended one, e.g. 20Gi.' },
    YES_OPTION,
    ...REMOTE_OPTIONS,
  ],
  examples: [
    { line: 'berth recommendation apply rec_8c1f42', what: 'as recommended' },
    { line: 'berth recommendation apply rec_8c1f42 --size 20Gi --yes', what: 'another size, in a script' },
  ],
  run: async (session, { parameters: [id = ''], options }) => {
    const parameters = parametersOf(options);
    const client = session.client(options);
    if (!options.flag('yes')) await confirmChange(session, client, id, parameters);
    const volume = await client.record('POST /api/v1/dvm/recommendations/{id}/apply', {
      params: { id },
      ...(Object.keys(parameters).length === 0 ? {} : { body: { parameters } }),
    });
    const copies = textOf(volume.class) === 'replicated' ? `, ${textOf(volume.wantedReplicas)} copies` : '';
    session.terminal.out(
      `recommendation/${id} applied: volume/${textOf(volume.name)} is to have ${formatBytes(wantedBytes(volume))}${copies}\n`,
    );
    session.terminal.err(`${session.next(`berth describe volume ${textOf(volume.name)}`)}\n`);
    return EXIT.ok;
  },
};

export const recommendation: CommandBody = {
  description: [
    'What would be good for the volumes of the tenant: copies that are missing or failed, volumes that are nearly full or nearly empty, volumes that nothing has mounted for a week.',
  ],
  examples: [
    { line: 'berth recommendation list', what: 'the most urgent first' },
    { line: 'berth recommendation apply rec_8c1f42', what: 'do it' },
  ],
  subcommands: [list, apply],
};
