import { expect, it } from 'vitest';
import { rolesThatMay } from '../model/permission.ts';
import { DEPLOYMENTS } from './deployments.ts';
import { INGRESS } from './ingress.ts';
import { NETWORKS } from './networks.ts';
import { NODES } from './nodes.ts';

const ALL = ['deployer', 'platform-admin', 'secret-writer', 'tenant-admin', 'viewer'];
const DEPLOYERS = ['deployer', 'platform-admin', 'tenant-admin'];
const ADMINS = ['platform-admin', 'tenant-admin'];

/** Written down once more, because every other test reads both sides from the same table. */
it.each([
  ['who reaches whom', DEPLOYMENTS.explain, ALL],
  ['the list of networks', NETWORKS.list, ALL],
  ['a network', NETWORKS.read, ALL],
  ['a new network', NETWORKS.create, DEPLOYERS],
  ['the end of a network', NETWORKS.remove, DEPLOYERS],
  ['ways between nodes, and what they serve', NODES.read, ALL],
  ['another key of a node', NODES.rotateKey, ADMINS],
  ['a clean-up of a node', NODES.clean, ADMINS],
  ['a revoked certificate', INGRESS.revoke, ADMINS],
])('%s is for these roles', (_what, { permission }, roles) => {
  expect(rolesThatMay([permission].flat()).toSorted()).toEqual(roles);
});
