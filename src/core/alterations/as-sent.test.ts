import { expect, it } from 'vitest';
import { reject } from '../rejections/reject.ts';
import type { SentDeployment } from '../contract/deployment-body.ts';
import { draftOfBody } from '../contract/deployment-merge.ts';
import { asSent } from './as-sent.ts';
import { alterDeployment } from './deployment.ts';

const alterations = [
  { field: 'healthCheck.command', from: '["CMD-SHELL","exit 0"]', to: '["exit 0"]', why: '' },
  { field: 'volumes[1].readOnly', from: '(absent)', to: 'false', why: '' },
];

it.each([
  ['healthcheck_type_inert', 'healthCheck.type', '["exit 0"]', '["CMD-SHELL","exit 0"]'],
  ['volume_access_mode_conflict', 'volumes[1].readOnly', 'false', '(absent)'],
  ['volume_access_mode_conflict', 'volumes[0].readOnly', 'false', 'false'],
  ['healthcheck_type_unsupported', 'healthCheck.type', 'http', 'http'],
] as const)('%s at %s with %s shows %s', (code, field, received, shown) => {
  const rejection = reject(code, { field, received, why: '' });
  expect(asSent(rejection, alterations)).toEqual({ ...rejection, received: shown });
});

/** A body, the rejection of what it was altered to, and what is said of what was sent. */
function told(body: SentDeployment, field: string, received: string) {
  const { alterations } = alterDeployment({
    draft: draftOfBody(body),
    body,
    storedSecretsVersion: 0,
    volumeIdOf: (name) => (name === 'ob' ? 'vol_1' : undefined),
  });
  const rejection = asSent(reject('field_type_invalid', { field, received, why: '' }), alterations, body);
  return [rejection.field, rejection.received];
}

it.each<readonly [SentDeployment, string, string]>([
  [{ healthCheck: { command: ['CMD-SHELL', 'curl'] } }, 'healthCheck.command[0]', 'healthCheck.command[1]'],
  [
    { healthCheck: { command: ['CMD', 'CMD', 'a', 'b'] } },
    'healthCheck.command[1]',
    'healthCheck.command[3]',
  ],
  [{ healthCheck: { command: ['curl'] } }, 'healthCheck.command[0]', 'healthCheck.command[0]'],
  [{ healthCheck: { command: ['CMD', 'x'] } }, 'healthCheck.command', 'healthCheck.command'],
  [{ ingress: { host: 'A' } }, 'ingress[0].host', 'ingress.host'],
])('%j refused at %s was sent at %s', (body, field, sent) => {
  expect(told(body, field, '(redacted, string, 4 bytes)')).toEqual([sent, '(redacted, string, 4 bytes)']);
});

it('names a volume as it was named', () => {
  const volumes = [
    { volume: 'ob', mountPath: '/a' },
    { volumeId: 'vol_2', mountPath: '/b' },
  ];
  expect(told({ volumes }, 'volumes[0].volumeId', 'vol_1')).toEqual(['volumes[0].volume', 'ob']);
  expect(told({ volumes }, 'volumes[1].volumeId', 'vol_2')).toEqual(['volumes[1].volumeId', 'vol_2']);
});

it('shows a list without what was filled in', () => {
  expect(told({ volumes: [{}] }, 'volumes', '[{"readOnly":false}]')).toEqual(['volumes', '[{}]']);
  expect(told({ volumes: [{}] }, 'volumes', '(2000 entries)')).toEqual(['volumes', '(2000 entries)']);
});
