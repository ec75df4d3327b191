import { describe, expect, it } from 'vitest';
import { contradiction } from './answer-judge.ts';

const refused = { status: 422, contentType: 'application/json', text: '{"code":"token_invalid"}' };
const accepted = (sent: unknown) =>
  contradiction('POST', '/api/v1/tokens', {
    status: 201,
    contentType: 'application/json',
    text: '{}',
    sent: () => sent,
  });

describe('the judge of answers', () => {
  it.each([
    [{ name: 'ci' }, "must have required property 'role'"],
    [{ name: 'ci', role: 'king' }, 'must be equal to one of the allowed values'],
    [{ name: 'ci', role: 'viewer', ttl: 'soon' }, 'must match pattern'],
    [{ name: '', role: 'viewer' }, 'must NOT have fewer than 1 characters'],
    [{ name: 'ci', role: 'viewer', more: 1 }, 'must NOT have additional properties'],
  ])('holds what was accepted to the document: %j', (sent, problem) => {
    expect(accepted(sent)).toContain(`201, but the document refuses the body: data`);
    expect(accepted(sent)).toContain(problem);
  });

  it('holds answers to their shape, status and code', () => {
    const sent = { name: 'ci', role: 'viewer', ttl: '1h' };
    expect(accepted(sent)).toContain('201 is not of its shape');
    expect(contradiction('POST', '/api/v1/tokens', { ...refused, status: 418 })).toContain('418');
    expect(contradiction('POST', '/api/v1/tokens', { ...refused, text: '{"code":"never"}' })).toContain(
      '422 never is not documented',
    );
  });
});
