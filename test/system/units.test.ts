import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BootedMachine, bootMachine, type MachineOptions } from '../support/harness/booted-machine.ts';
import { eventually } from '../support/eventually.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import {
  addNamespace,
  removeNamespace,
  releaseSubnet,
  reserveSubnet,
  type TestNamespace,
} from '../support/harness/engine-network.ts';
import { ensurePackages } from '../support/harness/packages.ts';
import { freePort } from '../support/harness/free-port.ts';
import { pushImage, type Registry, startRegistry } from '../support/harness/registry.ts';

const MIB = 2 ** 20;
const PATIENCE_MS = 90_000;
const WRITER = 'i=0; while :; do i=$((i+1)); echo $i >> /data/log; sync /data/log; sleep 0.05; done';

// oxlint-disable-next-line typescript/no-explicit-any
type Body = any;
type Call = (method: string, path: string, body?: object) => Promise<Body>;

const TRIAL = `[Service]
Type=oneshot
Restart=no
ExecStart=
ExecStart=/opt/node /opt/berth/test/support/sandboxed-copies.ts /var/lib/berth-agent
ExecStart=/usr/bin/unshare --net /opt/node /opt/berth/test/support/sandboxed-mesh.ts
`;
const CREDENTIAL = `[Service]
LoadCredential=root.key:/etc/berth/root.key
`;

/** The units as they are shipped, under a systemd that booted. */
describe('the units under systemd', () => {
  let machine: BootedMachine;

  beforeAll(async () => {
    ensurePackages(['iproute2', 'nftables', 'wireguard-go', 'wireguard-tools']);
    machine = await bootMachine({
      name: 'trial',
      files: {
        '/etc/berth/berth.yaml': 'listen: 127.0.0.1:0\n',
        '/etc/berth/root.key': `${randomBytes(32).toString('base64')}\n`,
        '/etc/systemd/system/berth-server.service.d/credential.conf': CREDENTIAL,
        '/etc/systemd/system/berth-agent.service.d/trial.conf': TRIAL,
      },
    });
    // Systemd reads it, and gives it to the control plane alone.
    machine.run('chmod', '0600', '/etc/berth/root.key');
    // While the agent is tried.
    machine.run('systemctl', 'start', '--no-block', 'berth-server');
  }, PATIENCE_MS);

  afterAll(async () => {
    await machine.end();
  });

  it(
    "let the agent take and receive copies of volumes, and take part in the tenant's network",
    () => {
      machine.run('systemctl', 'start', 'berth-agent');
      const said = machine.run('journalctl', '--no-pager', '--output=cat', '--unit=berth-agent');
      expect(said).toContain('btrfs: second');
      expect(said).toContain('rsync: second');
      expect(said).toContain('mesh: 44');
    },
    PATIENCE_MS,
  );

  it(
    'give the control plane its root key as a credential',
    async () => {
      const said = await eventually(
        'it is ready',
        () => machine.run('journalctl', '--no-pager', '--output=cat', '--unit=berth-server'),
        (text) => text.includes('control plane ready'),
        PATIENCE_MS,
      );
      expect(said).not.toContain('root_key');
      const url = /"url":"(http:[^"]+)"/.exec(said)?.[1] ?? '';
      const health = (await (await fetch(`${url}/healthz`)).json()) as Body;
      expect(health.secrets).toMatchObject({ connected: true, sealed: false });
      expect(readdirSync(join(machine.root, 'var/lib/berth/keys'))).toEqual(['token.key']);
    },
    PATIENCE_MS,
  );

  it('are as closed as the guide says', () => {
    const exposure = (unit: string): number => {
      const printed = machine.run('systemd-analyze', 'security', '--no-pager', unit);
      return Number(/Overall exposure level for \S+: ([\d.]+)/.exec(printed)?.[1]);
    };
    expect(exposure('berth-server.service')).toBeLessThanOrEqual(1.5);
    expect(exposure('berth-agent.service')).toBeLessThanOrEqual(6.5);
  });
});

/** One machine with the control plane, two with an engine and an agent. */
describe.runIf(LONG_TIER)('a cluster of machines with the units', () => {
  const machines: BootedMachine[] = [];
  const networks = [0, 1].map(() => ({
    subnet: reserveSubnet(),
    name: `be${randomBytes(5).toString('hex')}`,
  }));
  let namespaces: readonly TestNamespace[] = [];
  let address = '';
  let port = 0;
  let registry: Registry;
  let plane: BootedMachine;
  let nodes: Readonly<Record<string, BootedMachine>>;
  let shop: Call;
  let image: string;

  function caller(token: string, tenant?: string): Call {
    return async (method, path, body) => {
      const response = await fetch(`http://${address}:${port}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(tenant === undefined ? {} : { 'x-tenant-id': tenant }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(10_000),
      });
      return await response.json();
    };
  }

  async function boot(
    host: string,
    files: MachineOptions['files'],
    namespace?: TestNamespace,
  ): Promise<BootedMachine> {
    const place = namespace === undefined ? {} : { namespace: namespace.name };
    const machine = await bootMachine({ name: host, files, ...place });
    machines.push(machine);
    return machine;
  }

  async function bootNode(host: string, namespace: TestNamespace | undefined): Promise<BootedMachine> {
    const { token } = await shop('POST', '/api/v1/join-tokens', {});
    const files = {
      '/etc/default/docker': `DOCKER_OPTS="--bridge=none --iptables=false --insecure-registry=${address}/32"\n`,
      '/etc/berth/join-token': String(token),
      '/etc/berth/agent.env': [
        `BERTH_AGENT_SERVER=http://${address}:${port}`,
        `BERTH_AGENT_NAME=${host}`,
        'BERTH_AGENT_JOIN_FILE=/etc/berth/join-token',
        '',
      ].join('\n'),
    };
    const machine = await boot(host, files, namespace);
    machine.run('chmod', '0600', '/etc/berth/join-token');
    machine.run('systemctl', 'start', 'docker', 'berth-agent');
    return machine;
  }

  beforeAll(async () => {
    namespaces = networks.map(({ name, subnet }) => addNamespace(name, subnet));
    address = namespaces[0]?.hostAddress ?? '';
    registry = await startRegistry({ address });
    port = await freePort(address);
    ({ reference: image } = await pushImage(registry, 'shop/writer:1'));
    plane = await boot('plane', {
      '/etc/berth/berth.yaml': [
        `listen: ${address}:${port}`,
        'insecureListen: true',
        // Longer than a restart of the control plane takes on a busy machine: without a lease a writer is rightly ended.
        'dvm: { lease: 20s }',
        'timers: { heartbeat: 1s, failedAfter: 3s, replaceAfter: 5s, startGrace: 5s }',
        `registries: { allowPrivate: ["http://${registry.host}"] }`,
        '',
      ].join('\n'),
    });
    plane.run('systemctl', 'start', 'berth-server');
    const token = await eventually(
      'the control plane is ready',
      () => {
        try {
          return readFileSync(join(plane.root, 'var/lib/berth/admin-token'), 'utf8').trim();
        } catch {
          return '';
        }
      },
      (text) => text !== '',
      PATIENCE_MS,
    );
    await ready();
    await caller(token)('POST', '/api/v1/tenants', { slug: 'shop' });
    const made = await caller(token, 'shop')('POST', '/api/v1/tokens', {
      name: 'admin',
      role: 'tenant-admin',
    });
    shop = caller(made.token as string);
    const [one, two] = await Promise.all([bootNode('one', namespaces[0]), bootNode('two', namespaces[1])]);
    nodes = { one, two };
  }, 4 * PATIENCE_MS);

  afterAll(async () => {
    for (const machine of machines) await machine.end();
    await registry.stop();
    for (const { name, subnet } of networks) {
      removeNamespace(name);
      releaseSubnet(subnet);
    }
  }, PATIENCE_MS);

  async function ready(): Promise<void> {
    await eventually(
      'the control plane answers',
      () =>
        fetch(`http://${address}:${port}/readyz`).then(
          ({ status }) => status,
          () => 0,
        ),
      (status) => status === 200,
      PATIENCE_MS,
    );
  }

  function lines(machine: BootedMachine): number {
    const id = machine.run('docker', 'ps', '--quiet', '--filter', 'status=running');
    return id === ''
      ? 0
      : Number(machine.run('docker', 'exec', id.split('\n')[0] ?? '', 'sh', '-c', 'wc -l < /data/log'));
  }

  /** In the newest copy that the machine received. */
  function copiedLines(machine: BootedMachine): number {
    const logs = '/var/lib/berth-agent/volumes/*/mnt/copies/*/log';
    return Number(machine.run('sh', '-c', `cat ${logs} 2>/dev/null | sort -n | tail -n 1`));
  }

  it(
    'replicate, keep containers over restarts of both programs, and promote',
    async ({ onTestFailed }) => {
      onTestFailed(() => {
        for (const machine of machines) process.stdout.write(`${machine.journal('berth-*', 'docker')}\n`);
      });
      await eventually(
        'both nodes keep volumes by btrfs',
        () => shop('GET', '/api/v1/nodes'),
        (items) =>
          items.length === 2 &&
          items.every((node: Body) => node.status === 'ready' && node.volumeEngines[0] === 'btrfs'),
        PATIENCE_MS,
      );
      const { id } = await shop('POST', '/api/v1/dvm/volumes', {
        name: 'data',
        class: 'replicated',
        type: 'volume',
        sizeBytes: 128 * MIB,
        replicas: 1,
      });
      const volume = (): Promise<Body> => shop('GET', `/api/v1/dvm/volumes/${id}`);
      await eventually('the volume is ready', volume, ({ phase }) => phase === 'Ready', PATIENCE_MS);
      const volumes = [{ volumeId: id, mountPath: '/data', readOnly: false }];
      await shop('POST', '/api/v1/deployments', {
        name: 'writer',
        image,
        command: ['sh', '-c', WRITER],
        volumes,
      });
      const live = ({ replicas }: Body): boolean => replicas?.[0]?.state === 'live';
      const { primaryNodeId: primary } = await eventually('a copy was received', volume, live, PATIENCE_MS);
      const [from, to] = primary === 'one' ? [nodes['one'], nodes['two']] : [nodes['two'], nodes['one']];
      if (from === undefined || to === undefined) throw new Error(`the primary is ${primary}`);
      await eventually(
        'it is written',
        () => lines(from),
        (count) => count > 5,
        PATIENCE_MS,
      );

      const container = from.run('docker', 'ps', '--quiet', '--no-trunc');
      from.run('systemctl', 'restart', 'berth-agent');
      plane.run('systemctl', 'restart', 'berth-server');
      await ready();
      await eventually('the copy is live again', volume, live, PATIENCE_MS);
      expect(from.run('docker', 'ps', '--quiet', '--no-trunc')).toBe(container);
      const before = lines(from);
      await eventually(
        'it is still written',
        () => lines(from),
        (count) => count > before,
        PATIENCE_MS,
      );
      // The record says live from before the restarts until somebody says otherwise: what was written since then has to be there.
      await eventually(
        'what was written since is there',
        () => copiedLines(to),
        (count) => count > before,
        PATIENCE_MS,
      );
      await eventually(
        'it is copied',
        volume,
        (record) => live(record) && record.replicas[0].lagSeconds < 3,
        PATIENCE_MS,
      );

      await from.cut();
      await eventually(
        'the copy took over',
        volume,
        (record) => record.primaryNodeId !== primary,
        PATIENCE_MS,
      );
      await eventually(
        'its bytes are there',
        () => lines(to),
        (count) => count > before,
        PATIENCE_MS,
      );
      for (const machine of [plane, to]) {
        const failed = machine.run('systemctl', 'list-units', '--failed', '--plain', '--no-legend', 'berth*');
        expect(failed).toBe('');
      }
    },
    5 * PATIENCE_MS,
  );
});
