import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { makeLog } from '../log.ts';
import { type DevicePeer, MeshDevice } from './device.ts';
import { Peers } from './peers.ts';
import { RelayClient } from './relay-client.ts';

/** An interface that notes what it is given. */
class NotedDevice extends MeshDevice {
  readonly given: (readonly string[])[] = [];

  override async setPeers(peers: readonly DevicePeer[]): Promise<void> {
    this.given.push(peers.map(({ publicKey }) => publicKey));
  }

  override async counters(): ReturnType<MeshDevice['counters']> {
    return [];
  }
}

it('leaves the peers of an interface alone until it is told who they are', async () => {
  const device = new NotedDevice('berth-none', 40_000 + (process.pid % 20_000));
  const log = makeLog('error', () => undefined);
  const dial = (): never => {
    throw new Error('no relay');
  };
  const peers = new Peers(device, new RelayClient(dial, device.port, log), () => undefined, log);
  await peers.listen();
  try {
    await delay(1_500);
    expect(device.given).toEqual([]);
    const node = { name: 'n2', publicKey: 'k', port: 1, addresses: [], subnet: '10.210.1.0/24' };
    await peers.set([node], []);
    expect(device.given).toEqual([['k']]);
  } finally {
    peers.close();
  }
});
