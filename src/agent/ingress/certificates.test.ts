import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { selfSigned } from '../../../test/support/harness/certificates.ts';
import { certificateFacts, certificateProblem, pemOf } from './certificates.ts';

const { cert, key } = selfSigned(['DNS:a.example']);
const other = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

describe('a certificate of a secret', () => {
  it('is taken with its key in any order, with a chain', () => {
    for (const text of [`${cert}${key}`, `${key}\n${cert}`, `text\r\n${cert}text${key}`]) {
      const pem = pemOf(text);
      expect(certificateProblem(pem, 'a.example')).toBeUndefined();
    }
    expect(pemOf(`${cert}${cert}${key}`).certificate.match(/BEGIN/g)).toHaveLength(2);
  });

  it.each([
    ['no certificate', key],
    ['no private key', cert],
    ['more than one private key', `${cert}${key}${other}`],
  ])('is refused: %s', (problem, text) => {
    expect(() => pemOf(text)).toThrow(problem);
  });

  it('is refused when it does not fit', () => {
    expect(certificateProblem(pemOf(`${cert}${other}`), 'a.example')).toContain('another certificate');
    expect(certificateProblem(pemOf(`${cert}${key}`), 'b.example')).toContain('not for b.example');
    expect(certificateProblem({ certificate: 'x', key }, 'a.example')).toContain('cannot be read');
  });

  it('tells its issuer and its end', () => {
    expect(certificateFacts(cert)?.issuer).toBe('berth-test');
    expect(Date.parse(certificateFacts(cert)?.notAfter ?? '')).toBeGreaterThan(Date.now());
    expect(certificateFacts('x')).toBeUndefined();
  });
});
