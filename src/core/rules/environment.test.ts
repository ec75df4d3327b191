import { describe, expect, it } from 'vitest';
import {
  commandArgumentsRule,
  composedLiteralsRule,
  environmentRule,
  healthCheckArgumentsRule,
} from './environment.ts';
import { limits } from '../../../test/support/samples/deployment.ts';

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
    expect(rejection?.expected).toContain('"{{secret.web.db_password}}"');
  });

  it.each([
    ['DB_PASSWORD', 'DB', 'PASSWORD'],
    ['MY_APP_API_TOKEN', 'MY_APP_API', 'TOKEN'],
    ['A__SECRET', 'A_', 'SECRET'],
  ])('prints the entry that delivers %s', (variable, name, key) => {
    const rejection = refuse({ [variable]: MARKER });
    expect(rejection?.expected).toContain(`"name": "${name}", "vault_path": "deployments/web"`);
    expect(rejection?.why).toContain(`PUT /api/v1/secrets/deployments/web {"values": {"${key}": …}}`);
  });

  it.each(['PASSWORD', '_TOKEN', 'PASSWORD_1'])('composes %s, which no entry can deliver', (variable) => {
    expect(refuse({ [variable]: MARKER })?.expected).toContain(
      `"composedEnvironment": {"${variable}": "{{secret.web.${variable}}}"}`,
    );
  });

  it('prints a namespace that is granted, and a name that is not taken', () => {
    const secretPolicy = { ...limits.secretPolicy, namespaces: ['vaulted'] };
    const draft = { name: 'web', environment: { DB_PASSWORD: MARKER } };
    const granted = environmentRule({ draft, limits: { ...limits, secretPolicy } });
    expect(granted?.expected).toContain('"vault_path": "vaulted/web"');
    const taken = { ...draft, secrets: [{ name: 'DB', vault_path: 'resources/db' }] };
    expect(environmentRule({ draft: taken, limits })?.expected).toContain('"name": "SECRET"');
    const known = { ...draft, secrets: [{ name: 'X', vault_path: 'resources/web' }] };
    expect(environmentRule({ draft: known, limits })?.expected).toContain('"vault_path": "resources/web"');
  });

  it('refuses a placeholder with the composedEnvironment entry to paste', () => {
    const rejection = refuse({ DATABASE_URL: 'postgres://app:{{secret.db.password}}@db/app' });
    expect(rejection).toMatchObject({ code: 'environment_invalid', field: 'environment.DATABASE_URL' });
    expect(rejection?.expected).toContain(
      '{"composedEnvironment": {"DATABASE_URL": "postgres://app:{{secret.db.password}}@db/app"}}',
    );
    expect(refuse({ A: '{{ secret.db }}' })?.expected).toContain('"{{secret.<resource>.<key>}}"');
    expect(refuse({ A: '{{ .Values.secret }}' })).toBeUndefined();
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

describe('the literal text of templates', () => {
  const judge = (template: string, variable = 'DATABASE_URL') =>
    composedLiteralsRule({ draft: { name: 'web', composedEnvironment: { [variable]: template } }, limits });

  it.each([
    ['postgres://app:{{secret.db.password}}@db:5432/app', 'DATABASE_URL'],
    ['host=db user={{secret.db.user}} password={{secret.db.password}}', 'DSN'],
    ['Bearer {{secret.api.token}}', 'AUTH_TOKEN'],
    ['{{secret.db.user}}:{{secret.db.password}}', 'DB_PASSWORD'],
    ['{"password": "{{secret.db.password}}", "port": 5432}', 'DB_CREDENTIALS'],
    ['v1-{{secret.api.key}}', 'API_KEY'],
  ])('%j of %s is a template', (template, variable) => {
    expect(judge(template, variable)).toBeUndefined();
  });

  it.each([
    [`postgres://app:${MARKER}@db/{{secret.db.name}}`, 'DATABASE_URL'],
    [`host={{secret.db.host}} password=${MARKER}`, 'DSN'],
    [`${MARKER}{{secret.db.suffix}}`, 'DB_PASSWORD'],
  ])('%j of %s holds a credential', (template, variable) => {
    const rejection = judge(template, variable);
    expect([rejection?.code, rejection?.field]).toEqual([
      'plaintext_credential_in_environment',
      `composedEnvironment.${variable}`,
    ]);
    expect(JSON.stringify(rejection)).not.toContain(MARKER);
  });
});

describe('arguments', () => {
  const judge = (...command: readonly string[]) => {
    const draft = { name: 'web', command, healthCheck: { type: 'exec', command } };
    const found = commandArgumentsRule({ draft, limits });
    expect(healthCheckArgumentsRule({ draft, limits })?.field).toBe(found && `healthCheck.${found.field}`);
    return found;
  };

  it.each([
    [['/bin/web', '--port', '8080', '--token-ttl', '3600']],
    [['sh', '-c', 'exec web --password "$DB_password" --token $TOKEN']],
    [['psql', '-c', "ALTER ROLE app PASSWORD :'password'", '-v', 'user=app']],
    [['sh', '-c', "psql <<E\nALTER ROLE app\nPASSWORD :'password';\nE"]],
    [['sh', '-c', 'curl -u "app:$DB_password" http://db/']],
    [['sh', '-c', 'PGPASSWORD=$DB_password psql']],
    [['--password-file', '/run/secrets/db', '--key', '/etc/tls/server.key']],
    [['wget -qO- "http://127.0.0.1:5432/cgi-bin/rows?password=$DB_password"']],
  ])('%j hold none', (command) => {
    expect(judge(...command)).toBeUndefined();
  });

  it.each([
    [['web', `--password=${MARKER}`], 1],
    [['web', '--password', MARKER], 1],
    [['web', '--db', `postgres://app:${MARKER}@db/app`], 2],
    [['sh', '-c', `PGPASSWORD=${MARKER} psql`], 2],
    [['curl', '-u', `app:${MARKER}`], 1],
  ] as const)('%j hold one', (command, index) => {
    const rejection = judge(...command);
    expect([rejection?.code, rejection?.field]).toEqual([
      'plaintext_credential_in_environment',
      `command[${index}]`,
    ]);
    expect(JSON.stringify(rejection)).not.toContain(MARKER);
  });
});
