import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  contextPath,
  readContexts,
  resolveTarget,
  serverUrl,
  withContext,
  withoutContext,
  writeContexts,
} from './context.ts';

let home: string;
let environment: Record<string, string>;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'berth-context-'));
  environment = { HOME: home };
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const staging = { server: 'https://staging.example.com', token: 'staging-token' };

describe('contexts', () => {
  it('are kept in a file that only its owner can read', () => {
    const path = writeContexts(environment, withContext({ contexts: {} }, 'staging', staging, true));
    expect(path).toBe(join(home, '.config/berth/config.json'));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readContexts(environment)).toEqual({ current: 'staging', contexts: { staging } });
  });

  it('follow XDG_CONFIG_HOME', () => {
    expect(contextPath({ HOME: home, XDG_CONFIG_HOME: '/elsewhere' })).toBe('/elsewhere/berth/config.json');
  });

  it.each([
    ['/proc/nosuch', 'the folder /proc/nosuch/berth cannot be made'],
    ['/dev/null', 'the folder /dev/null/berth cannot be made: /dev/null is no folder'],
  ])('say why their folder cannot be made, in %s', (folder, message) => {
    expect(() => writeContexts({ XDG_CONFIG_HOME: folder }, { contexts: {} })).toThrow(message);
  });

  it('say why they cannot be written', () => {
    const path = contextPath(environment);
    mkdirSync(path, { recursive: true });
    expect(() => writeContexts(environment, { contexts: {} })).toThrow(`${path} cannot be written: EISDIR`);
  });

  it('are refused when others can read the tokens', () => {
    const path = writeContexts(environment, { contexts: { staging } });
    chmodSync(path, 0o644);
    expect(() => readContexts(environment)).toThrow(/can be read by other users/);
  });

  it('say where the file is when it is damaged', () => {
    const path = writeContexts(environment, { contexts: {} });
    writeFileSync(path, '{', { mode: 0o600 });
    expect(() => readContexts(environment)).toThrow(path);
  });

  it('say where they cannot be written, and leave no draft', () => {
    const path = contextPath(environment);
    mkdirSync(path, { recursive: true });
    expect(() => writeContexts(environment, { contexts: { staging } })).toThrow(
      `${path} cannot be written: `,
    );
    expect(readdirSync(dirname(path))).toEqual([basename(path)]);
  });

  it('forget the current one with its record', () => {
    const file = withContext({ contexts: { other: staging } }, 'staging', staging, true);
    expect(withoutContext(file, 'staging')).toEqual({ contexts: { other: staging } });
    expect(withoutContext(file, 'other').current).toBe('staging');
  });
});

describe('the target of a command', () => {
  beforeEach(() => {
    const one = withContext({ contexts: {} }, 'staging', { ...staging, tenant: 'acme' }, true);
    writeContexts(
      environment,
      withContext(one, 'live', { server: 'https://live.example.com', token: 'live-token' }, false),
    );
  });

  it('is the current context', () => {
    expect(resolveTarget({}, environment)).toMatchObject({
      ...staging,
      tenant: 'acme',
      source: 'context staging',
    });
  });

  it('is the named context before variables', () => {
    const target = resolveTarget(
      { context: 'live' },
      { ...environment, BERTH_CLI_SERVER: 'http://other', BERTH_CLI_TOKEN: 'x' },
    );
    expect(target).toMatchObject({ server: 'https://live.example.com', token: 'live-token' });
  });

  it('never sends the token of a context to the server of a variable', () => {
    const target = resolveTarget({}, { ...environment, BERTH_CLI_SERVER: 'http://127.0.0.1:1' });
    expect(target).toMatchObject({ server: 'http://127.0.0.1:1', token: undefined, tenant: undefined });
  });

  it('takes a token from a file with a line end after it', () => {
    const target = resolveTarget({}, { ...environment, BERTH_CLI_TOKEN: ' staging-token\r\n' });
    expect(target.token).toBe('staging-token');
    expect(resolveTarget({}, { ...environment, BERTH_CLI_TOKEN: '\n' }).token).toBe('staging-token');
  });

  it.each(['two\nlines', 'a\u0000b', 'a\u007Fb', 'a\u20ACb'])('refuses the token %j', (token) => {
    expect(() => resolveTarget({}, { ...environment, BERTH_CLI_TOKEN: token })).toThrow(
      'the token in BERTH_CLI_TOKEN must be one word without control characters',
    );
    writeContexts(environment, withContext({ contexts: {} }, 'odd', { ...staging, token }, true));
    expect(() => resolveTarget({}, environment)).toThrow('the token of context odd must be one word');
  });

  it('takes the tenant from the flag before the variable before the context', () => {
    const variables = { ...environment, BERTH_CLI_TENANT: 'from-variable' };
    expect(resolveTarget({ tenant: 'from-flag' }, variables).tenant).toBe('from-flag');
    expect(resolveTarget({}, variables).tenant).toBe('from-variable');
  });

  it('names the nearest context', () => {
    expect(() => resolveTarget({ context: 'stagin' }, environment)).toThrow('did you mean staging?');
  });

  it('says how to begin when nothing is known', () => {
    expect(() => resolveTarget({}, { HOME: join(home, 'nobody') })).toThrow('no control plane is known yet');
  });
});

describe('the address of a control plane', () => {
  it.each([
    ['https://berth.example.com/', 'https://berth.example.com'],
    ['http://127.0.0.1:7600', 'http://127.0.0.1:7600'],
    ['https://example.com/berth/', 'https://example.com/berth'],
  ])('%s is %s', (text, url) => expect(serverUrl(text)).toBe(url));

  it.each(['berth.example.com', 'ftp://x', 'https://user:pass@x', 'https://x/?a=b', ''])(
    '%s is refused',
    (text) => expect(() => serverUrl(text)).toThrow(),
  );
});
