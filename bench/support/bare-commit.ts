import { encodeRecord } from '../../src/server/store/records.ts';
import { type Child, startChild } from './child.ts';

/**
 * What the bare handler commits: the six rows that a create stored for its own sake when the bar was set (record, snapshot, index,
 * archive, event, audit), as long as those of the real thing. A create without a node stores six today, too: record, event and audit,
 * and of the first plan its status, rollout and event.
 */
function storedValues(view: Record<string, unknown>, image: string): readonly string[] {
  const spec = {
    kind: 'Deployment',
    name: 'web-1234-12345',
    image,
    replicas: 1,
    secrets: [],
    secretsVersion: 0,
  };
  const subject = { kind: 'Deployment', name: spec.name };
  const at = new Date().toISOString();
  const { id, tenantId, specHash } = view;
  return [
    encodeRecord({ id, tenantId, spec, specHash, version: 1, createdAt: at, updatedAt: at }),
    encodeRecord(spec),
    encodeRecord({ name: spec.name }),
    encodeRecord({ version: 1, change: 'created', at, by: 'bootstrap', spec, specHash }),
    encodeRecord({
      id,
      at,
      kind: 'deployment.created',
      tenantId,
      subject,
      message: 'web created: version 1',
      details: { version: 1, specHash, replicas: 1 },
    }),
    encodeRecord({
      id,
      at,
      actor: 'bootstrap',
      role: 'platform-admin',
      tenantId,
      action: 'deployment.created',
      subject,
      result: 'accepted',
      requestId: id,
    }),
  ];
}

interface BareOptions {
  /** Absent: a file of its own. */
  readonly etcd?: string;
  /** Absent: plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

/** A bare node:http handler that commits as much as the create that was answered with this view, to a file of its own or to etcd. */
export function startBareCommit(
  view: Record<string, unknown>,
  image: string,
  options: BareOptions = {},
): Promise<Child> {
  return startChild(new URL('./bare-server.ts', import.meta.url), [
    'commit',
    JSON.stringify({ values: storedValues(view, image), ...options }),
  ]);
}
