import { instanceName } from '../core/model/instance-name.ts';
import type { Client } from './client.ts';
import { NotThere, usage } from './failure.ts';
import { textOf } from './fields.ts';

export interface NamedInstance {
  readonly deployment: string;
  readonly id: string;
  /** As people call it: the deployment and the end of the id. */
  readonly name: string;
}

/** Fewer characters of an id would soon be those of another one. */
const SHORTEST_END = 4;
const PLACE = /^[1-9]\d{0,2}$/;
const LISTED = 5;

/**
 * The instance that was meant by its id, by the end of it (with its deployment before it, as in `web-k3n9x2af`), or by its place among those of
 * the deployment, oldest first (`web-3`). A place is another instance tomorrow, so that only what looks takes it.
 */
export async function findInstance(
  client: Client,
  word: string,
  purpose: 'look' | 'order',
): Promise<NamedInstance> {
  const all = (await client.list('GET /api/v1/deployments')).map((record) => ({
    deployment: textOf(record.name),
    ids: (record.status?.instances ?? []).map(({ id }) => textOf(id)),
  }));
  const asPlace = all.flatMap(({ deployment, ids }) => {
    const rest = restOf(word, deployment);
    const id = rest !== undefined && PLACE.test(rest) ? ids[Number(rest) - 1] : undefined;
    return id === undefined ? [] : [named(deployment, id)];
  });
  const found = all.flatMap(({ deployment, ids }) =>
    ids.filter((id) => isMeant(word, deployment, id, ids.length)).map((id) => named(deployment, id)),
  );
  const [one, ...others] = found.length === 0 ? asPlace : found;
  if (one === undefined)
    throw new NotThere(`there is no instance ${word}`, { advice: ['berth get instances'] });
  if (others.length > 0)
    throw usage(
      `${word} may be ${[one, ...others]
        .slice(0, LISTED)
        .map(({ name }) => name)
        .join(', ')}`,
      ['berth get instances'],
    );
  if (found.length === 0 && purpose === 'order')
    throw usage(`${word} is a place in a list that changes; its instance is ${one.name} now`);
  return one;
}

/** The id of an instance of this deployment, from what people call it. An id stays as it is, also that of one that is gone. */
export async function instanceIdIn(
  client: Client,
  deployment: string,
  word: string | undefined,
): Promise<string | undefined> {
  if (word === undefined || word.startsWith('ins_')) return word;
  const all = await client.list('GET /api/v1/deployments/{name}/instances', { params: { name: deployment } });
  const [one, ...others] = all.map(({ id }) => textOf(id)).filter((id) => isMeant(word, deployment, id, 0));
  if (one !== undefined && others.length === 0) return one;
  throw usage(`${word} is ${one === undefined ? 'no instance' : 'more than one instance'} of ${deployment}`, [
    `berth get instances ${deployment}`,
  ]);
}

function named(deployment: string, id: string): NamedInstance {
  return { deployment, id, name: instanceName(deployment, id) };
}

/** What stands behind the name of the deployment; undefined: something else stands there. */
function restOf(word: string, deployment: string): string | undefined {
  return ['-', '/'].some((sign) => word.startsWith(`${deployment}${sign}`))
    ? word.slice(deployment.length + 1)
    : undefined;
}

function isMeant(word: string, deployment: string, id: string, count: number): boolean {
  const end = restOf(word, deployment) ?? word;
  return (
    id === end || (end.length >= SHORTEST_END && id.endsWith(end)) || (word === deployment && count === 1)
  );
}
