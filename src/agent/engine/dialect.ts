import type { CallOptions, EngineKind } from './engine.ts';
import { EngineError } from './errors.ts';
import type { EngineTransport } from './transport.ts';

export interface Dialect {
  readonly kind: EngineKind;
  readonly apiVersion: string;
}

/** Docker 20.10's; older engines lack what we rely on. */
const OLDEST = '1.41';
/** The newest we know, and the oldest that Docker 29 still speaks. */
const NEWEST = '1.44';

export async function negotiate(transport: EngineTransport, options: CallOptions = {}): Promise<Dialect> {
  const { headers } = await transport.call({ ...options, method: 'GET', path: '/_ping' });
  const offered = headers['api-version'];
  const kind = headers['libpod-api-version'] === undefined ? 'docker' : 'podman';
  return { kind, apiVersion: apiVersionFor(typeof offered === 'string' ? offered : '') };
}

/** The engine's newest version, or ours if that is older. */
export function apiVersionFor(offered: string): string {
  if (!/^\d+\.\d+$/.test(offered) || compare(offered, OLDEST) < 0) {
    throw new EngineError(
      `the engine's API ${offered || '(none)'} is older than ${OLDEST} (Docker 20.10, Podman 4)`,
      0,
    );
  }
  return compare(offered, NEWEST) < 0 ? offered : NEWEST;
}

function compare(left: string, right: string): number {
  const [leftMajor = 0, leftMinor = 0] = left.split('.').map(Number);
  const [rightMajor = 0, rightMinor = 0] = right.split('.').map(Number);
  return leftMajor - rightMajor || leftMinor - rightMinor;
}
