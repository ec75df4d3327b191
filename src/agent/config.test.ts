import { describe, expect, it } from 'vitest';
import { type AgentConfig, readConfig, sanitisedName } from './config.ts';
import { FLAGS, helpText } from './flags.ts';

function read(argv: readonly string[], environment: Record<string, string> = {}): AgentConfig {
  const reading = readConfig(argv, environment, 'Host_1.local');
  if (reading.kind !== 'config') throw new Error(JSON.stringify(reading));
  return reading.config;
}

describe('the configuration', () => {
  it('has defaults for everything but the server', () => {
    expect(read([])).toMatchObject({
      servers: [],
      join: undefined,
      name: 'host-1.local',
      nameGiven: false,
      dataDir: '/var/lib/berth-agent',
      labels: {},
      bindRoots: [],
      logLevel: 'info',
    });
  });

  it('takes flags in both spellings, before variables', () => {
    const environment = {
      BERTH_AGENT_SERVER: 'http://other',
      BERTH_AGENT_LABELS: 'disk=ssd, berth.io/country=DE',
      BERTH_AGENT_BIND_ROOTS: '/srv/a:/srv/b',
    };
    const config = read(['--server=https://berth.test/x/', '--name', 'n1', '--join-file', '-'], environment);
    expect(config).toMatchObject({
      servers: ['https://berth.test/x'],
      name: 'n1',
      nameGiven: true,
      join: { kind: 'file', path: '-' },
      labels: { disk: 'ssd', 'berth.io/country': 'DE' },
      bindRoots: ['/srv/a', '/srv/b'],
    });
  });

  it('lets repeated flags take the place of the variable as a whole', () => {
    const config = read(['--label=a=1', '--label', 'b=x=y'], { BERTH_AGENT_LABELS: 'c=3' });
    expect(config.labels).toEqual({ a: '1', b: 'x=y' });
  });

  it('serves the ingress where it is told to', () => {
    expect(read([]).ingress).toBeUndefined();
    expect(read(['--ingress', 'off']).ingress).toBeUndefined();
    expect(read(['--ingress', 'on']).ingress).toEqual({ http: 80, https: 443 });
    expect(read(['--ingress', '8080,8443']).ingress).toEqual({ http: 8080, https: 8443 });
  });

  it('warns of a residency label without its domain', () => {
    expect(read(['--label=country=DE']).warnings).toEqual([expect.stringContaining('berth.io/country')]);
    expect(read(['--label=berth.io/country=DE']).warnings).toEqual([]);
  });

  it.each([
    [['--nmae', 'x'], 'did you mean --name?'],
    [['--zzzzzz'], 'unknown flag --zzzzzz'],
    [['berth_join_secret'], 'takes flags only'],
    [['--name'], '--name needs a value'],
    [['--name', '--server'], '--name needs a value'],
    [['--name=a', '--name=b'], 'given twice'],
    [['--name=Upper'], 'lower-case'],
    [['--ingress=80'], 'two ports'],
    [['--ingress=80,80'], 'two ports'],
    [['--ingress=80,443,8080'], 'two ports'],
    [['--ingress=80-81,443'], 'two ports'],
    [['--ingress=on', '--mesh=off'], 'needs the tenant'],
    [['--advertise-address=shop.example.com'], 'expected an IPv4 address'],
    [['--advertise-address=2001:db8::1'], 'expected an IPv4 address'],
    [['--advertise-address=192.0.2.1:51820'], 'expected an IPv4 address'],
    [['--advertise-address=127.0.0.1'], 'other machines cannot reach this address'],
    [['--advertise-address=203.0.113.7,0.0.0.0'], '0.0.0.0: other machines cannot reach'],
    [['--advertise-address=239.1.1.1'], 'other machines cannot reach this address'],
    [['--server=ftp://x'], 'expected an address'],
    [['--server=https://u:p@x'], 'without user'],
    [['--label=DE'], 'expected KEY=VALUE'],
    [['--ca-digest=abc'], 'sha256:'],
    [['--log-level=loud'], 'debug, info, warn, error'],
    [['--bind-root=relative'], 'absolute path'],
    [['--metadata=yes'], 'blocked or allowed'],
    [['--host-ports=80-70'], '443,8000-8999'],
    [['--host-ports=none,80'], 'expected ports'],
    [['--join=a', '--join-file=b'], 'not both'],
    [['--help=x'], 'takes no value'],
  ])('refuses %j', (argv, words) => {
    const reading = readConfig(argv, {}, 'h');
    expect(reading).toMatchObject({ kind: 'problem', message: expect.stringContaining(words) as string });
    expect(JSON.stringify(reading)).not.toContain('berth_join_secret');
  });

  it('takes what an earlier start was given, unless it is given again or taken away', () => {
    const recall = (dataDir: string) =>
      dataDir === '/data' ? { engine: ['/run/e.sock'], label: ['a=1', 'b=2'] } : {};
    const start = (argv: readonly string[], environment: Record<string, string> = {}): AgentConfig => {
      const reading = readConfig(['--data-dir=/data', ...argv], environment, 'h', recall);
      if (reading.kind !== 'config') throw new Error(JSON.stringify(reading));
      return reading.config;
    };
    expect(start([])).toMatchObject({
      engine: '/run/e.sock',
      labels: { a: '1', b: '2' },
      recalled: ['--engine /run/e.sock', '--label a=1', '--label b=2'],
    });
    expect(start(['--label=c=3', '--bind-root=/srv'])).toMatchObject({
      labels: { c: '3' },
      saved: { engine: ['/run/e.sock'], label: ['c=3'], 'bind-root': ['/srv'] },
      recalled: ['--engine /run/e.sock'],
    });
    const without = start(['--label=', '--engine=']);
    expect(without).toMatchObject({ labels: {}, saved: {}, recalled: [] });
    expect(without.engine).toBeUndefined();
    // A variable is there at each start, or it is not.
    expect(start([], { BERTH_AGENT_LABELS: 'd=4' })).toMatchObject({
      labels: { d: '4' },
      saved: { label: ['a=1', 'b=2'] },
    });
  });

  it('refuses variables that it does not know', () => {
    const reading = readConfig([], { BERTH_AGENT_LABLES: 'a=b' }, 'h');
    expect(reading).toMatchObject({ message: expect.stringContaining('BERTH_AGENT_LABELS') as string });
  });

  it('shows every flag in its help', () => {
    expect(readConfig(['-h'], {}, 'h').kind).toBe('help');
    for (const { name } of FLAGS) expect(helpText()).toContain(`    --${name}`);
    expect(
      Math.max(
        ...helpText()
          .split('\n')
          .map((line) => line.length),
      ),
    ).toBeLessThanOrEqual(90);
  });

  it.each([
    ['web-1', 'web-1'],
    ['Büro_PC.local', 'b-ro-pc.local'],
    ['---', 'node'],
    ['x'.repeat(80), 'x'.repeat(63)],
    ['a.', 'a'],
  ])('makes the node name of host %s %s', (host, name) => {
    expect(sanitisedName(host)).toBe(name);
  });
});
