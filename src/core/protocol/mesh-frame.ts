/**
 * A packet of the mesh on its way through the relay: the length of a node's name, the name, the packet as it was. To the relay the name is
 * the receiver's, from it the sender's.
 */
export interface MeshFrame {
  readonly node: string;
  readonly packet: Uint8Array;
}

/** Where agents dial the relay. */
export const MESH_RELAY_PATH = '/agent/v1/mesh';
/** The largest packet of a network with jumbo frames, and a name. */
export const MAX_MESH_FRAME = 10_240;
const NAME = /^[a-z0-9][a-z0-9.-]{0,62}$/;

export function writeMeshFrame(node: string, packet: Uint8Array): Uint8Array {
  const name = new TextEncoder().encode(node);
  const frame = new Uint8Array(1 + name.length + packet.length);
  frame[0] = name.length;
  frame.set(name, 1);
  frame.set(packet, 1 + name.length);
  return frame;
}

/** Undefined: it is no frame. */
export function readMeshFrame(frame: Uint8Array): MeshFrame | undefined {
  const length = frame[0] ?? 0;
  if (length === 0 || frame.length <= 1 + length || frame.length > MAX_MESH_FRAME) return undefined;
  const node = new TextDecoder('latin1').decode(frame.subarray(1, 1 + length));
  return NAME.test(node) ? { node, packet: frame.subarray(1 + length) } : undefined;
}
