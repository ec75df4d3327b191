import { expect, it } from 'vitest';
import { reject } from '../rejections/reject.ts';
import { asSent } from './as-sent.ts';

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
