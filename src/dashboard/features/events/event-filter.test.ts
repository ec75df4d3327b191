import { describe, expect, it } from 'vitest';
import type { Event } from '../../lib/records.ts';
import { fits, merged } from './event-filter.ts';

function event(id: string, kind: string, subject: Event['subject']['kind']): Event {
  return {
    id,
    at: '2026-11-15T03:00:00.000Z',
    kind,
    tenantId: 't',
    subject: { kind: subject, name: 'x' },
    message: '',
    details: {},
  };
}

const FAILED = event('2', 'node.failed', 'Node');
const MADE = event('1', 'deployment.created', 'Deployment');

describe('the filter of events', () => {
  it('looks at the subject and at what went wrong', () => {
    expect(fits({ subject: '', onlyFailures: false }, MADE)).toBe(true);
    expect(fits({ subject: 'Node', onlyFailures: false }, MADE)).toBe(false);
    expect(fits({ subject: '', onlyFailures: true }, MADE)).toBe(false);
    expect(fits({ subject: 'Node', onlyFailures: true }, FAILED)).toBe(true);
  });

  it('shows an event once, the newest first', () => {
    expect(merged([MADE], [FAILED, MADE])).toEqual([FAILED, MADE]);
  });
});
