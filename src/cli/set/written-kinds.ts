import { unjudged } from '../../sdk/index.ts';
import { type Client, named } from '../client.ts';
import { unlessOvertaken, writeDeployment } from '../deploying.ts';
import type { ExitCode } from '../exit-code.ts';
import { textOf } from '../fields.ts';
import { waitForRun } from '../job-wait.ts';
import { createJob, updateJob } from '../job-writing.ts';
import type { Session } from '../session.ts';
import { findVolume, waitUntilReady } from '../volumes.ts';
import { waitUntilHealthy } from '../waiting.ts';
import type { Entry } from './planned-set.ts';

/** Until it is up. */
export type Wait = (timeoutMs: number) => Promise<ExitCode>;

/** Stores what differs; answers how to wait for it. `alongside`: the names of all documents that are applied together. */
type WriteDocument = (
  session: Session,
  client: Client,
  entry: Entry,
  alongside: readonly string[],
) => Promise<Wait | undefined>;

const DONE: Readonly<Record<string, string>> = { create: 'created', change: 'updated' };

const isNew = ({ planned }: Entry): boolean => textOf(planned.action) === 'create';

const deployment: WriteDocument = async (session, client, entry, alongside) => {
  const { manifest, planned } = entry;
  const { name, body } = manifest;
  const action = textOf(planned.action);
  if (action === 'unchanged') session.terminal.out(`deployment/${name} unchanged\n`);
  const { revision } = planned;
  const stored =
    action === 'unchanged'
      ? planned
      : await writeDeployment(session, client, {
          name,
          body,
          action: isNew(entry) ? 'create' : 'update',
          ...(isNew(entry) || revision === undefined ? {} : { revision }),
          alongside,
          ...(entry.shown !== undefined && { plan: entry.shown }),
        });
  const wanted = { name, specHash: textOf(stored.specHash) };
  return (timeoutMs) => waitUntilHealthy(session, client, wanted, timeoutMs);
};

const network: WriteDocument = async ({ terminal }, client, { manifest, planned }) => {
  const { kind: _kind, ...body } = manifest.body;
  const created = textOf(planned.action) === 'create';
  if (created) await client.written('POST /api/v1/networks', { body: unjudged(body) });
  terminal.out(`network/${manifest.name} ${created ? 'created' : 'unchanged'}\n`);
  return undefined;
};

const job: WriteDocument = async (session, client, { manifest, planned, shown }, alongside) => {
  const { name, body } = manifest;
  const sent = { name, body, alongside, plan: shown };
  const action = textOf(planned.action);
  if (action === 'create') await unlessOvertaken(name, () => createJob(client, sent));
  if (action === 'change') await unlessOvertaken(name, () => updateJob(client, sent, planned.revision));
  session.terminal.out(`job/${name} ${DONE[action] ?? action}\n`);
  // A change holds from the next run on, and one with a schedule runs when its time comes.
  if (action !== 'create' || textOf(body['schedule']) !== '') return undefined;
  return (timeoutMs) => waitForRun(session, client, name, undefined, timeoutMs);
};

const volume: WriteDocument = async (session, client, entry) => {
  const { name, body } = entry.manifest;
  const { kind: _kind, ...described } = body;
  const record = isNew(entry)
    ? await client.written('POST /api/v1/dvm/volumes', { body: unjudged(described) })
    : await findVolume(client, name);
  session.terminal.out(`volume/${name} ${isNew(entry) ? `created (${textOf(record.id)})` : 'unchanged'}\n`);
  return (timeoutMs) => waitUntilReady(session, client, record, timeoutMs);
};

/** The control plane makes what is missing; nobody sees it, and what exists is left alone. */
const secret: WriteDocument = async ({ terminal }, client, { manifest, planned }) => {
  const made =
    textOf(planned.action) === 'unchanged'
      ? undefined
      : await client.written('POST /api/v1/secrets', { body: unjudged(manifest.body) });
  const path = `${textOf(manifest.body['namespace'])}/${manifest.name}`;
  const minted = made?.minted ?? [];
  terminal.out(`secret/${path} ${minted.length === 0 ? 'unchanged' : `generated ${minted.join(', ')}`}\n`);
  return undefined;
};

/** Whole, under the name of its deployment. */
const scalingPolicy: WriteDocument = async ({ terminal }, client, { manifest, planned }) => {
  const { kind: _kind, name: _deployment, ...policy } = manifest.body;
  const { name } = manifest;
  const action = textOf(planned.action);
  const { revision } = planned;
  if (action !== 'unchanged')
    await unlessOvertaken(name, () =>
      client.record('PUT /api/v1/deployments/{name}/scaling-policy', {
        ...named(name),
        body: unjudged(policy),
        ...(revision !== undefined && { ifMatch: revision }),
      }),
    );
  terminal.out(`scalingpolicy/${name} ${DONE[action] ?? action}\n`);
  return undefined;
};

const webhook: WriteDocument = async ({ terminal }, client, { manifest, planned }) => {
  const { name } = manifest;
  const body = unjudged(manifest.body);
  const action = textOf(planned.action);
  const { revision } = planned;
  if (action === 'create')
    await unlessOvertaken(name, () => client.written('POST /api/v1/webhooks', { body }));
  if (action === 'change')
    await unlessOvertaken(name, () =>
      client.record('PUT /api/v1/webhooks/{name}', {
        ...named(name),
        body,
        ...(revision !== undefined && { ifMatch: revision }),
      }),
    );
  terminal.out(`webhook/${name} ${DONE[action] ?? action}\n`);
  return undefined;
};

/** What `apply` takes, by kind. A new kind is one entry. */
export const WRITTEN_KINDS: Readonly<Record<string, WriteDocument>> = {
  Deployment: deployment,
  Network: network,
  Job: job,
  Volume: volume,
  Secret: secret,
  ScalingPolicy: scalingPolicy,
  Webhook: webhook,
};
