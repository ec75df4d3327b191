import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BackupRecord } from '../model/backup.ts';
import { canonicalJson } from '../model/canonical.ts';
import type { DeploymentSpec } from '../model/deployment.ts';
import { isRejection } from '../rejections/reject.ts';
import { type BackupDocument, decodeBackupDocument, undigestedDocument } from './backup-document.ts';

/** Stands for the digest: equal for equal documents, different otherwise. */
const digestOf = (document: object) => canonicalJson(document);

const spec: DeploymentSpec = {
  kind: 'Deployment',
  name: 'web',
  image: 'registry.internal:5000/shop/web:1.4.2',
  replicas: 2,
  secrets: [{ name: 'DB', vault_path: 'resources/db', anchor: 'external', rotation: 'restart' }],
  secretsVersion: 0,
};

const record: BackupRecord = {
  id: 'bak_01jdexample',
  deploymentName: 'web',
  version: 2,
  specHash: 'a'.repeat(64),
  createdAt: '2026-01-31T12:00:00.000Z',
  createdBy: 'tok_01jdexample',
  content: {
    spec,
    scalingPolicy: null,
    canary: null,
    revisions: [1, 2].map((version) => ({
      version,
      change: version === 1 ? 'created' : 'updated',
      at: '2026-01-31T11:00:00.000Z',
      by: 'system',
      spec,
      specHash: 'a'.repeat(64),
    })),
  },
};

function exported(): BackupDocument {
  const document = undigestedDocument(record);
  return { ...document, sha256: digestOf(document) };
}

type Path = readonly (string | number)[];

function paths(value: unknown, at: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [at];
  const steps = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  const inside = steps.flatMap((step) => paths((value as Record<string, unknown>)[step], [...at, step]));
  return at.length === 0 ? inside : [at, ...inside];
}

function changed(path: Path, change: (holder: Record<string, unknown>, key: string) => void): unknown {
  const copy = structuredClone(exported()) as unknown as Record<string, unknown>;
  let holder = copy;
  for (const step of path.slice(0, -1)) holder = holder[step] as Record<string, unknown>;
  change(holder, String(path.at(-1)));
  return copy;
}

/** A document made by hand can always have a right digest. */
function digested(body: unknown): unknown {
  const { sha256: _old, ...rest } = body as Record<string, unknown>;
  return { ...rest, sha256: digestOf(rest) };
}

const decode = (body: unknown) => decodeBackupDocument(body, digestOf);

describe('an exported document', () => {
  it('is taken as it is, and after a round trip as JSON', () => {
    expect(decode(exported())).toEqual(exported());
    expect(decode(JSON.parse(JSON.stringify(exported())))).toEqual(exported());
  });

  it('names nobody who made the backup', () => {
    expect(JSON.stringify(exported())).not.toContain(record.createdBy);
  });

  it.each(paths(exported()).map((path) => [path.join('.'), path] as const))(
    'is refused when %s is changed or missing',
    (_, path) => {
      for (const body of [
        changed(path, (holder, key) => (holder[key] = 'changed')),
        changed(path, (holder, key) => {
          if (Array.isArray(holder)) holder.splice(Number(key), 1);
          else delete holder[key];
        }),
      ])
        expect(decode(body)).toMatchObject({ code: 'backup_invalid' });
    },
  );

  const outsideSpecs = paths(exported()).filter((path) => !path.includes('spec') && path[0] !== 'sha256');

  it.each(outsideSpecs.map((path) => [path.join('.'), path] as const))(
    'with free text at %s is refused though its digest is right',
    (_, path) => {
      const body = changed(path, (holder, key) => (holder[key] = 'free text, with spaces'));
      expect(decode(digested(body))).toMatchObject({ rejected: true, code: 'backup_invalid' });
    },
  );
});

it('echoes nothing of a spec, or of what stands in the place of a part that holds one', () => {
  const { backup } = exported();
  for (const content of [[backup.content], { ...backup.content, revisions: { 1: backup.content } }]) {
    const document = decodeBackupDocument({ ...exported(), backup: { ...backup, content } }, digestOf);
    expect(isRejection(document) && document.received).toMatch(/^\(redacted, /);
  }
});

it('nothing else is a document, whatever it is', () => {
  fc.assert(
    fc.property(fc.anything(), (body) => {
      expect(isRejection(decode(body))).toBe(true);
    }),
    { numRuns: 300 },
  );
});
