import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { MeshDevice } from '../../src/agent/mesh/device.ts';
import { run } from '../../src/agent/volumes/program.ts';

/** In place of the agent, under its unit, in a network namespace of its own: what the mesh asks of the kernel. */
const RESOLVER = '10.211.255.254';
const device = new MeshDevice('berth-trial', 51_820);
const key = await device.ensure(1420);
await run('ip', ['address', 'replace', `${RESOLVER}/32`, 'dev', device.name]);
await run('nft', ['table bridge trial { chain a { type filter hook prerouting priority -300; }; }']);
await run('nft', ['table ip trial { chain a { type nat hook prerouting priority -110; }; }']);
await run('ip', ['link', 'add', 'trial', 'type', 'bridge']);
const names = createSocket('udp4').bind(53, RESOLVER);
await once(names, 'listening');
names.close();
await device.remove();
process.stdout.write(`mesh: ${key.length}\n`);
