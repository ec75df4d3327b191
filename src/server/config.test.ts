import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from './config.ts';
import { ConfigError, loadValues, variableOf } from './config-values.ts';
import { CONFIG_KEYS, type ConfigKey } from './config-keys.ts';
import { helpText } from './help.ts';

const KEYS = CONFIG_KEYS as readonly ConfigKey[];
let folder: string;
let files = 0;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-config-'));
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

function file(text: string, ending = '.yaml'): string {
  files += 1;
  const path = join(folder, `config-${files}${ending}`);
  writeFileSync(path, text);
  return path;
}

function refusal(args: readonly string[], environment: NodeJS.ProcessEnv = {}): string {
  try {
    loadConfig(args, environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return '(accepted)';
}

const inFile = (text: string) => refusal(['--config', file(text)]);

describe('the keys', () => {
  it('have one path, one variable and one flag each', () => {
    for (const names of [
      KEYS.map((key) => key.path),
      KEYS.map((key) => variableOf(key.path)),
      KEYS.flatMap((key) => key.flag ?? []),
    ])
      expect(new Set(names).size).toBe(names.length);
  });

  it('are spelt in variables word by word', () => {
    expect(variableOf('maxReplicasPerDeployment')).toBe('BERTH_MAX_REPLICAS_PER_DEPLOYMENT');
    expect(variableOf('store.etcd.passwordFile')).toBe('BERTH_STORE_ETCD_PASSWORD_FILE');
  });

  it('have defaults that are accepted, on loopback', () => {
    const config = loadConfig([], {});
    expect(config).toMatchObject({
      host: '127.0.0.1',
      port: 7600,
      store: { kind: 'sqlite' },
      maxReplicasPerDeployment: 100,
      limits: { bodyBytes: 1_048_576, jsonDepth: 32 },
      rateLimit: { perSecond: 1000, burst: 2000 },
      reservedNames: ['etcd', 'berth-etcd'],
      residencyEnforcement: true,
      volumesEnabled: true,
      timers: { heartbeatMs: 5000, failedAfterMs: 15_000, replaceAfterMs: 60_000, startGraceMs: 30_000 },
      tokenKeyFile: resolve('berth-data/keys/token.key'),
    });
    expect(config.tls).toBeUndefined();
    expect(config.regions.map((region) => region.name)).toContain('eu');
  });

  it('that have a flag are in the help', () => {
    for (const key of KEYS) {
      if (key.flag === undefined) continue;
      expect(helpText()).toContain(`  ${key.flag}`);
      expect(helpText()).toContain(variableOf(key.path));
    }
  });
});

describe('precedence', () => {
  it('is default, file, variable, flag', () => {
    const path = file('listen: 127.0.0.1:1\nlogLevel: warn\n');
    const port = (args: readonly string[], environment: NodeJS.ProcessEnv = {}) =>
      loadConfig(args, environment).port;
    expect(port([])).toBe(7600);
    expect(port(['--config', path])).toBe(1);
    expect(port([`--config=${path}`], { BERTH_LISTEN: '127.0.0.1:2' })).toBe(2);
    expect(port(['--config', path, '--listen', '127.0.0.1:3'], { BERTH_LISTEN: '127.0.0.1:2' })).toBe(3);
    expect(loadConfig(['--config', path, '--listen=:3'], {}).logLevel).toBe('warn');
    expect(port([], { BERTH_CONFIG: path })).toBe(1);
    expect(port(['--config', file('listen: ":5"')], { BERTH_CONFIG: path })).toBe(5);
  });

  it('the last of two flags counts, and a flag may have its value behind =', () => {
    expect(loadConfig(['--listen=:1', '--listen', ':2'], {}).port).toBe(2);
    expect(loadConfig(['--data-dir=/x=y'], {}).dataDir).toBe('/x=y');
  });
});

describe('unknown names are refused with the nearest', () => {
  it.each<readonly [string, string]>([
    ['lisen: :1', 'did you mean listen'],
    ['store:\n  etcd:\n    endpoint: [a]', 'did you mean store.etcd.endpoints'],
    ['zzzzzzzzzzz: 1', 'unknown key zzzzzzzzzzz'],
    ['__proto__: {a: 1}', 'unknown key __proto__'],
    ['constructor: 1', 'unknown key constructor'],
    ['tls:', 'unknown key tls'],
  ])('key %j', (text, expected) => {
    expect(inFile(text)).toContain(expected);
  });

  it('variable', () => {
    expect(refusal([], { BERTH_LISTN: ':1' })).toContain('did you mean BERTH_LISTEN');
    expect(refusal([], { BERTH_: 'x' })).toContain('unknown variable');
    expect(
      refusal([], { LISTN: 'x', BERTH_BOOTSTRAP_TOKEN: 'x', BERTH_AGENT_X: '1', BERTH_TEST_X: '1' }),
    ).toBe('(accepted)');
  });

  it('flag', () => {
    expect(refusal(['--lisen', ':1'])).toContain('did you mean --listen');
    expect(refusal(['extra'])).toContain('unknown flag extra');
    expect(refusal(['--insecure-listen', 'false'])).toContain('unknown flag false');
  });
});

describe('values are refused with their key and source', () => {
  it.each<readonly [string, string]>([
    ['listen: 5', 'listen ('],
    ['maxReplicasPerDeployment: "5"', 'maxReplicasPerDeployment'],
    ['maxReplicasPerDeployment: 1.5', 'an integer'],
    ['maxReplicasPerDeployment: -1', 'at least 0'],
    ['maxReplicasPerDeployment: .inf', 'an integer'],
    ['limits: {bodyBytes: 1}', 'at least 1024'],
    ['dvm: {enabled: "yes"}', 'true or false'],
    ['dvm: {enabled: yes}', 'true or false'],
    ['reservedNames: etcd', 'a list of texts'],
    ['reservedNames: [1]', 'a list of texts'],
    ['timers: {heartbeat: 5}', 'a duration'],
    ['timers: {heartbeat: 5sec}', 'a duration'],
    ['timers: {heartbeat: 0s}', 'at least 10ms'],
    ['timers: {failedAfter: 999999h}', 'at most 596h'],
    ['regions: {eu: [DE]}', 'a list of {name, countries}'],
    ['regions: [{name: eu, countries: [XX]}]', 'a list of {name, countries}'],
    ['regions: [{name: eu, countries: [ß]}]', 'a list of {name, countries}'],
    ['regions: [null]', 'a list of {name, countries}'],
    ['logLevel: loud', 'logLevel must be one of'],
    ['store: {kind: redis}', 'store.kind must be one of'],
    ['store: {kind: etcd}', 'needs store.etcd.endpoints'],
    ['secrets: {kind: file}', 'secrets.kind must be one of'],
    ['nodeName:', 'nodeName'],
    ['listen: {host: a}', 'listen'],
    ['- a', 'key: value'],
    ['5', 'key: value'],
    ['text', 'key: value'],
    ['a: [', 'cannot be read'],
    ['listen: :1\nlisten: :2', 'cannot be read'],
  ])('file %j', (text, expected) => {
    expect(inFile(text)).toContain(expected);
  });

  it.each([
    ['{prefix: 10.210.0.1/16}', 'network.prefix must be'],
    ['{prefix: 127.1.0.0/16}', 'network.prefix 127.1.0.0/16 meets the addresses of every machine itself'],
    ['{prefix: 224.0.0.0/16}', 'multicast'],
    ['{virtualPrefix: 169.254.0.0/16}', 'network.virtualPrefix 169.254.0.0/16 meets link-local'],
    ['{virtualPrefix: 10.9.0.0/30}', 'has no room for deployments'],
    ['{virtualPrefix: 10.210.4.0/24}', 'overlaps network.prefix'],
    ['{nodeBits: 15}', 'network.nodeBits must be from 16 to 28'],
    ['{prefix: 172.20.0.0/14, nodeBits: 26, virtualPrefix: 172.24.0.0/16}', '(accepted)'],
  ])('of the network that make no sense are refused: %s', (network, expected) => {
    expect(inFile(`network: ${network}\n`)).toContain(expected);
  });

  it.each<readonly [NodeJS.ProcessEnv, string]>([
    [{ BERTH_MAX_REPLICAS_PER_DEPLOYMENT: '' }, 'an integer'],
    [{ BERTH_MAX_REPLICAS_PER_DEPLOYMENT: 'ten' }, 'an integer'],
    [{ BERTH_DVM_ENABLED: '1' }, 'true or false'],
    [{ BERTH_REGIONS: '[' }, 'a list of {name, countries}'],
    [{ BERTH_TIMERS_SETTLE: '' }, 'a duration'],
    [{ BERTH_LISTEN: 'nonsense' }, 'host:port'],
    [{ BERTH_LISTEN: ':65536' }, 'host:port'],
    [{ BERTH_LISTEN: '' }, 'host:port'],
    [{ BERTH_CONFIG: '/does/not/exist.yaml' }, 'cannot be read'],
  ])('variable %j', (environment, expected) => {
    expect(refusal([], environment)).toContain(expected);
  });

  it('a flag without its value', () => {
    expect(refusal(['--listen'])).toContain('--listen needs a value');
    expect(refusal(['--data-dir', '--insecure-listen'])).toContain('--data-dir needs a value');
    expect(refusal(['--config'])).toContain('--config needs a value');
  });

  it('an empty file is no settings', () => {
    expect(inFile('')).toBe('(accepted)');
    expect(inFile('# nothing\n')).toBe('(accepted)');
  });
});

describe('text is read by the type of its key', () => {
  it('from variables', () => {
    const values = loadValues([], {
      BERTH_RESERVED_NAMES: 'a, b,,c ',
      BERTH_DVM_ENABLED: 'false',
      BERTH_RATE_LIMIT_PER_SECOND: '2.5',
      BERTH_TIMERS_SETTLE: '1m30s',
      BERTH_REGIONS: '[{"name":"x","countries":["de"]}]',
      BERTH_STORE_ETCD_ENDPOINTS: '',
    });
    expect(Object.fromEntries(values)).toMatchObject({
      reservedNames: ['a', 'b', 'c'],
      'dvm.enabled': false,
      'rateLimit.perSecond': 2.5,
      'timers.settle': 90_000,
      regions: [{ name: 'x', countries: ['DE'] }],
      'store.etcd.endpoints': [],
    });
  });

  it('from a file of any ending, as YAML', () => {
    expect(loadConfig(['--config', file('dvm: {enabled: false}', '.conf')], {}).volumesEnabled).toBe(false);
    expect(refusal(['--config', file('dvm: {enabled: "false"}', '.conf')])).toContain('true or false');
    expect(loadConfig(['--config', file('regions: [{name: n, countries: [NO]}]')], {}).regions).toEqual([
      { name: 'n', countries: ['NO'] },
    ]);
  });
});

describe('the listener', () => {
  it.each<readonly [string, string, number]>([
    ['7600', '127.0.0.1', 7600],
    [':0', '127.0.0.1', 0],
    ['localhost:1', 'localhost', 1],
    ['127.8.9.1:65535', '127.8.9.1', 65_535],
    ['[::1]:80', '::1', 80],
  ])('%s stays on this machine', (listen, host, port) => {
    expect(loadConfig(['--listen', listen], {})).toMatchObject({ host, port });
  });

  it.each([
    '0.0.0.0:1',
    '[::]:1',
    '10.0.0.1:1',
    'example.com:1',
    '*:1',
    'localhost.example.com:1',
    '127.0.0.1.example.com:1',
  ])('%s needs TLS or the word that a proxy terminates it', (listen) => {
    expect(refusal(['--listen', listen])).toContain('without TLS');
    expect(refusal(['--listen', listen, '--tls-cert', 'a'])).toContain('go together');
    expect(refusal(['--listen', listen, '--tls-key', 'a'])).toContain('go together');
    expect(refusal(['--listen', listen, '--tls-cert', 'a', '--tls-key', 'b'])).toBe('(accepted)');
    expect(refusal(['--listen', listen, '--insecure-listen'])).toBe('(accepted)');
    expect(refusal(['--listen', listen, '--insecure-listen=false'])).toContain('without TLS');
  });

  it('knows both files of TLS', () => {
    expect(loadConfig(['--tls-cert', 'a', '--tls-key', 'b'], {}).tls).toEqual({
      cert: 'a',
      key: 'b',
      threads: 0,
    });
    const threads = loadConfig(['--tls-cert', 'a', '--tls-key', 'b', '--tls-threads', '2'], {}).tls?.threads;
    expect(threads).toBe(2);
    expect(refusal(['--tls-cert', 'a', '--tls-key', 'b', '--tls-threads', '65'])).toContain('at most 64');
    expect(refusal(['--tls-threads', '1'])).toContain('needs tls.cert');
  });
});

it('etcd is configured as a whole', () => {
  const text = 'store:\n  kind: etcd\n  etcd: {endpoints: ["http://a:2379"], user: berth, passwordFile: /p}';
  expect(loadConfig(['--config', file(text)], {}).store).toEqual({
    kind: 'etcd',
    endpoints: ['http://a:2379'],
    prefix: '/berth/',
    user: 'berth',
    passwordFile: '/p',
  });
});

describe('the root key has one source', () => {
  it('a file, a program or a credential, and never two', () => {
    const folder = mkdtempSync(join(tmpdir(), 'root-key-'));
    const load = (environment: Readonly<Record<string, string>>): unknown => {
      try {
        return loadConfig(['--data-dir', folder], environment).rootKey;
      } catch (error) {
        return error;
      }
    };
    const credentials = join(folder, 'credentials');
    try {
      expect(load({})).toEqual({ kind: 'file', file: join(folder, 'keys/root.key') });
      expect(load({ BERTH_KEYS_ROOT_KEY_FILE: '/k' })).toEqual({ kind: 'file', file: '/k' });
      const command = { BERTH_KEYS_ROOT_KEY_COMMAND: '/bin/get, key' };
      expect(load(command)).toEqual({ kind: 'command', command: ['/bin/get', 'key'] });
      expect(load({ CREDENTIALS_DIRECTORY: credentials })).toMatchObject({ kind: 'file' });
      mkdirSync(credentials);
      writeFileSync(join(credentials, 'root.key'), 'x');
      expect(load({ CREDENTIALS_DIRECTORY: credentials })).toEqual({
        kind: 'credential',
        file: join(credentials, 'root.key'),
      });
      for (const more of [command, { BERTH_KEYS_ROOT_KEY_FILE: '/k' }])
        expect(load({ CREDENTIALS_DIRECTORY: credentials, ...more })).toMatchObject({
          message: expect.stringMatching(
            /^root_key_ambiguous: .* 2 sources: .*the systemd credential root\.key/,
          ),
        });
      // One that was left behind could be the one that opens the store.
      mkdirSync(join(folder, 'keys'));
      writeFileSync(join(folder, 'keys/root.key'), 'x');
      expect(load(command)).toBeInstanceOf(ConfigError);
      expect(load({})).toMatchObject({ kind: 'file' });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
