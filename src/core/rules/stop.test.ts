import { describe, expect, it } from 'vitest';
import { limits } from '../../../test/support/samples/deployment.ts';
import { stopRule } from './stop.ts';

function refuse(stop: { readonly signal?: string; readonly grace?: string }) {
  const { code, field } = stopRule({ draft: { stop }, limits }) ?? {};
  return code === undefined ? undefined : [code, field];
}

describe('how a container is told to end', () => {
  it.each([
    [{}],
    [{ signal: 'SIGINT' }],
    [{ signal: 'SIGRTMIN+3' }],
    [{ grace: '1s' }],
    [{ grace: '1h' }],
    [{ signal: 'SIGQUIT', grace: '1m30s' }],
  ])('%j is accepted', (stop) => {
    expect(refuse(stop)).toBeUndefined();
  });

  it.each([
    [{ signal: 'INT' }, 'stop.signal'],
    [{ signal: 'sigint' }, 'stop.signal'],
    [{ signal: '' }, 'stop.signal'],
    [{ signal: '2' }, 'stop.signal'],
    [{ signal: 'SIGSTOP' }, 'stop.signal'],
    [{ grace: '999ms' }, 'stop.grace'],
    [{ grace: '61m' }, 'stop.grace'],
    [{ grace: '10' }, 'stop.grace'],
    [{ grace: '' }, 'stop.grace'],
    [{ signal: 'INT', grace: '10' }, 'stop.signal'],
  ])('%j is refused', (stop, field) => {
    expect(refuse(stop)).toEqual(['stop_invalid', field]);
  });
});
