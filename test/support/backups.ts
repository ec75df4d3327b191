import { expect } from 'vitest';
import type { Alteration } from '../../src/core/model/announcement.ts';
import type { Answer, Json } from './harness/api-client.ts';
import { alterationProblem } from './laws.ts';
import type { ControlPlane } from './harness/server-under-test.ts';

/** Secret material that must be found nowhere, and plain text that must be found where material is searched for. */
export const MATERIAL = 'planted-material-7f3a91c2d4';
export const PLAIN = 'control-marker-51ab';

export async function accepted(answer: Promise<Answer>): Promise<Answer> {
  const got = await answer;
  expect(got.status, got.text).toBeLessThan(300);
  return got;
}

export function refused(answer: Answer): readonly unknown[] {
  return [answer.status, answer.body['code'], answer.body['field']];
}

/** A deployment with a history of three versions and a secret whose material was sent along. */
export async function deployThreeVersions(
  plane: ControlPlane,
  token: string,
  name: string,
  image: string,
): Promise<void> {
  const secrets = [
    {
      name: 'DB',
      vault_path: `deployments/${name}`,
      anchor: 'external',
      rotation: 'restart',
      values: { password: MATERIAL },
    },
  ];
  const body = { name, image, environment: { NOTE: PLAIN }, labels: { team: 'shop' }, secrets };
  await accepted(plane.api.post('/api/v1/deployments', body, { token }));
  await accepted(plane.api.put(`/api/v1/deployments/${name}`, { replicas: 2 }, { token }));
  await accepted(plane.api.put(`/api/v1/deployments/${name}`, { labels: { team: 'web' } }, { token }));
}

export function contentOf(answer: Answer): { readonly spec: Json; readonly revisions: readonly Json[] } {
  return answer.body['content'] as { readonly spec: Json; readonly revisions: readonly Json[] };
}

/** The law of alterations: what is stored is the spec of the backup plus what was announced. */
export async function expectRestored(
  plane: ControlPlane,
  token: string,
  sent: Json,
  answer: Answer,
): Promise<void> {
  const stored = await plane.api.get(`/api/v1/deployments/${String(sent['name'])}`, { token });
  expect(stored.body['revision'], answer.text).toBe(answer.body['revision']);
  const alterations = answer.body['alterations'] as Alteration[];
  expect(alterationProblem(undefined, sent, stored.body, alterations)).toBeUndefined();
}
