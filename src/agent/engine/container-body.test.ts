import { describe, expect, it } from 'vitest';
import type { ContainerSpec, MountSpec } from './container.ts';
import { containerBody } from './container-body.ts';
import { UnsafeSpecError } from './errors.ts';

const PLAIN: ContainerSpec = {
  name: 'web-1',
  image: 'registry.test/web:1',
  env: [],
  labels: {},
  ownLabels: {},
  restart: { name: 'no' },
  mounts: [],
  ports: [],
};

const CAP_ADD = [
  'CAP_CHOWN',
  'CAP_DAC_OVERRIDE',
  'CAP_FOWNER',
  'CAP_FSETID',
  'CAP_KILL',
  'CAP_NET_BIND_SERVICE',
  'CAP_SETGID',
  'CAP_SETUID',
  'CAP_SYS_CHROOT',
];

describe('container body', () => {
  it('is hardened with nothing asked for', () => {
    expect(containerBody(PLAIN, 'docker')).toEqual({
      Image: 'registry.test/web:1',
      Env: [],
      Labels: {},
      ExposedPorts: {},
      StopTimeout: 10,
      AttachStdin: false,
      AttachStdout: false,
      AttachStderr: false,
      OpenStdin: false,
      Tty: false,
      HostConfig: {
        Privileged: false,
        CapDrop: ['ALL'],
        CapAdd: CAP_ADD,
        ReadonlyRootfs: false,
        SecurityOpt: ['no-new-privileges'],
        PidsLimit: 4096,
        PidMode: '',
        IpcMode: 'private',
        UTSMode: '',
        CgroupnsMode: 'private',
        Devices: [],
        PublishAllPorts: false,
        AutoRemove: false,
        Init: true,
        NetworkMode: 'none',
        RestartPolicy: { Name: 'no', MaximumRetryCount: 0 },
        Mounts: [],
        PortBindings: {},
        LogConfig: { Type: 'json-file', Config: { 'max-size': '10000000', 'max-file': '3' } },
      },
    });
  });

  it('writes every field', () => {
    const body = containerBody(
      {
        ...PLAIN,
        command: ['web', '--port', '80'],
        env: [
          ['A', '1'],
          ['B', 'x=y'],
        ],
        labels: { team: 'shop', 'berth.io/id': 'forged' },
        ownLabels: { 'berth.io/id': 'dep_1' },
        network: { name: 'tenant-a', aliases: ['web'] },
        healthCheck: { test: ['CMD-SHELL', 'wget -qO- localhost'], intervalMs: 10_000, retries: 3 },
        restart: { name: 'on-failure', maxRetries: 5 },
        cpu: 0.1,
        memoryBytes: 1024,
        pidsLimit: 10,
        cpuWeight: 50,
        logBytes: 6_000_000,
        mounts: [
          { kind: 'bind', source: '/srv/a', target: '/a', readOnly: true },
          { kind: 'volume', source: 'vol_1', target: '/b', readOnly: false },
          { kind: 'tmpfs', target: '/c', sizeBytes: 4096 },
        ],
        ports: [
          { container: 80, host: 8080, protocol: 'tcp' },
          { container: 80, host: 8081, protocol: 'tcp' },
          { container: 53, host: 53, protocol: 'udp' },
        ],
        stopTimeoutS: 30,
      },
      'podman',
    );
    expect(body).toMatchObject({
      Cmd: ['web', '--port', '80'],
      Env: ['A=1', 'B=x=y'],
      Labels: { team: 'shop', 'berth.io/id': 'dep_1' },
      ExposedPorts: { '80/tcp': {}, '53/udp': {} },
      Healthcheck: {
        Test: ['CMD-SHELL', 'wget -qO- localhost'],
        Interval: 1e10,
        Timeout: 0,
        Retries: 3,
        StartPeriod: 0,
      },
      StopTimeout: 30,
      NetworkingConfig: { EndpointsConfig: { 'tenant-a': { Aliases: ['web'] } } },
      HostConfig: {
        NetworkMode: 'tenant-a',
        PidsLimit: 10,
        CpuShares: 512,
        NanoCpus: 100_000_000,
        Memory: 1024,
        MemorySwap: 1024,
        RestartPolicy: { Name: 'on-failure', MaximumRetryCount: 5 },
        Mounts: [
          {
            Type: 'bind',
            Source: '/srv/a',
            Target: '/a',
            ReadOnly: true,
            BindOptions: { Propagation: 'rprivate' },
          },
          { Type: 'volume', Source: 'vol_1', Target: '/b', ReadOnly: false },
          { Type: 'tmpfs', Target: '/c', TmpfsOptions: { SizeBytes: 4096, Mode: 0o1777 } },
        ],
        PortBindings: {
          '80/tcp': [{ HostPort: '8080' }, { HostPort: '8081' }],
          '53/udp': [{ HostPort: '53' }],
        },
        LogConfig: { Type: 'k8s-file', Config: { 'max-size': '6000000' } },
      },
    });
  });

  const capabilitiesOf = (part: Partial<ContainerSpec>) =>
    (containerBody({ ...PLAIN, ...part }, 'podman') as { HostConfig: { CapAdd: string[] } }).HostConfig
      .CapAdd;

  it('leaves out the capabilities that are given up', () => {
    expect(capabilitiesOf({ dropCapabilities: ['CHOWN', 'cap_setuid', 'NET_RAW'] })).toEqual(
      CAP_ADD.filter((one) => one !== 'CAP_CHOWN' && one !== 'CAP_SETUID'),
    );
    expect(capabilitiesOf({ dropCapabilities: ['ALL'] })).toEqual([]);
    expect(() => capabilitiesOf({ dropCapabilities: ['CHWON'] })).toThrow(UnsafeSpecError);
  });

  it('gives capabilities to root alone', () => {
    for (const user of ['0', '0:0', 'root', 'root:staff', '00'])
      expect(capabilitiesOf({ user })).toEqual(CAP_ADD);
    for (const user of ['1000', '1000:0', 'postgres']) {
      expect(capabilitiesOf({ user })).toEqual([]);
      expect(containerBody(PLAIN, 'podman', user)).toMatchObject({ HostConfig: { CapAdd: [] } });
    }
    expect(containerBody({ ...PLAIN, user: '1000:0' }, 'docker')).toMatchObject({ User: '1000:0' });
    for (const user of ['', 'a b', '1:2:3', '-1'])
      expect(() => capabilitiesOf({ user })).toThrow(UnsafeSpecError);
  });

  it('keeps /tmp and /run writable on a read-only root, unless a volume is there', () => {
    const body = containerBody(
      {
        ...PLAIN,
        readOnlyRoot: true,
        mounts: [{ kind: 'bind', source: '/srv/a', target: '/run', readOnly: false }],
      },
      'docker',
    );
    expect(body).toMatchObject({
      HostConfig: {
        ReadonlyRootfs: true,
        Mounts: [
          { Type: 'tmpfs', Target: '/tmp', TmpfsOptions: { SizeBytes: 64 * 2 ** 20, Mode: 0o1777 } },
          { Type: 'bind', Target: '/run' },
        ],
      },
    });
  });

  it.each(['host', 'container:web', 'none', 'ns:/proc/1/ns/net', 'default', 'slirp4netns', 'a/b', ''])(
    'takes no network mode for a network: %j',
    (name) => {
      expect(() => containerBody({ ...PLAIN, network: { name, aliases: [] } }, 'docker')).toThrow(
        UnsafeSpecError,
      );
    },
  );

  it.each<MountSpec>([
    { kind: 'bind', source: '/', target: '/a', readOnly: true },
    { kind: 'bind', source: 'relative', target: '/a', readOnly: true },
    { kind: 'bind', source: '/srv/../etc', target: '/a', readOnly: true },
    { kind: 'bind', source: '/srv/./a', target: '/a', readOnly: true },
    { kind: 'bind', source: '/srv', target: '/', readOnly: true },
    { kind: 'bind', source: '/srv', target: '/a/../b', readOnly: true },
    { kind: 'volume', source: '/etc', target: '/a', readOnly: true },
    { kind: 'volume', source: '', target: '/a', readOnly: true },
    { kind: 'volume', source: '../x', target: '/a', readOnly: true },
    { kind: 'tmpfs', target: 'a', sizeBytes: 1 },
  ])('refuses a mount: %j', (mount) => {
    expect(() => containerBody({ ...PLAIN, mounts: [mount] }, 'docker')).toThrow(UnsafeSpecError);
  });

  it('refuses what would be taken apart, without repeating values', () => {
    const env = (name: string, value: string): unknown =>
      containerBody({ ...PLAIN, env: [[name, value]] }, 'docker');
    expect(() => env('', 'hidden-value')).toThrow(/^environment name$/);
    expect(() => env('A=B', 'hidden-value')).toThrow(/^environment name$/);
    expect(() => env('A', 'hidden\0value')).toThrow(/^environment value of A$/);
    expect(() => containerBody({ ...PLAIN, name: '../x' }, 'docker')).toThrow(UnsafeSpecError);
    expect(() => containerBody({ ...PLAIN, healthCheck: { test: ['CMD'] } }, 'docker')).toThrow(
      UnsafeSpecError,
    );
    expect(() =>
      containerBody({ ...PLAIN, healthCheck: { test: ['CMD-SHELL', 'a', 'b'] } }, 'docker'),
    ).toThrow(UnsafeSpecError);
  });
});
