import { describe, expect, it } from 'vitest';
import { environmentRule } from './environment.ts';
import { limits } from './sample-deployment.ts';

const MARKER = 'hunter2-Zq81xPw0';

function refuse(environment: Readonly<Record<string, string>>) {
  return environmentRule({ draft: { name: 'web', environment }, limits });
}

describe('environment', () => {
  it.each<{ readonly [key: string]: string }>([
    {},
    { LOG_LEVEL: 'info', _a: '', 'app.name-1': 'x\ny=z', ['A'.repeat(256)]: 'x' },
    { constructor: 'x', toString: 'y', hasOwnProperty: 'z' },
    { DB_PASSWORD_FILE: '/run/secrets/db', TOKEN_TTL: '3600', SECRET_ENABLED: 'true' },
  ])('accepts %j', (environment) => {
    expect(refuse(environment)).toBeUndefined();
  });

  it.each(['', '1A', 'A B', 'A=B', 'A\n', 'Ä', '-a', 'A'.repeat(257)])('refuses the name %j', (key) => {
    expect(refuse({ [key]: 'x' })?.code).toBe('environment_invalid');
  });

  it('names the field of a plausible name and only the map of anything else', () => {
    expect(refuse({ '1A': 'x' })?.field).toBe('environment.1A');
    expect(refuse({ 'A B': 'x' })?.field).toBe('environment');
    expect(refuse({ ['1'.repeat(65)]: 'x' })?.field).toBe('environment');
  });

  it('refuses a credential, names its variable and says how to reference it', () => {
    const rejection = refuse({ A: 'x', 'db.password': MARKER });
    expect(rejection).toMatchObject({
      code: 'plaintext_credential_in_environment',
      field: 'environment.db.password',
      received: `(redacted, string, ${MARKER.length} bytes)`,
    });
    expect(rejection?.expected).toContain('"name": "DB_PASSWORD", "vault_path": "deployments/web"');
  });

  it('never echoes a value, nor a line pasted as a name', () => {
    const bodies = [{ PASSWORD: MARKER }, { [`PASSWORD=${MARKER}`]: '' }, { [`PASSWORD: ${MARKER}`]: 'x' }];
    for (const environment of bodies) {
      const rejection = refuse(environment);
      expect(rejection).toBeDefined();
      expect(JSON.stringify(rejection)).not.toContain(MARKER);
    }
  });
});
