import { describe, expect, it } from 'vitest';
import { specHash } from '../writes/admission.ts';
import type { DeploymentRecord, DeploymentSpec } from '../../core/model/deployment.ts';
import { decodeRecord, encodeRecord, recordText } from './records.ts';

const SPEC = {
  kind: 'Deployment',
  name: 'web',
  image: 'shop/web:1.0.0',
  replicas: 1,
  secrets: [],
  secretsVersion: 0,
} as const;
const OLD = { host: 'shop.example.com', port: 8080 };
const LIST = [{ ...OLD, provider: 'traefik' }] as const;
/** As the release that had one object hashed it. */
const HASH = 'f0609e5dcbb49706eaef2a5eeea79c54e11232e9579cd318427c1955cb1c61ea';

function hash(ingress: DeploymentSpec['ingress']): string {
  return specHash({ ...SPEC, ...(ingress && { ingress }) });
}

describe('a spec that was stored with one object as its ingress', () => {
  it('is read as a list with labels for Traefik, wherever it is', () => {
    const text = encodeRecord({ spec: { ...SPEC, ingress: OLD, labels: { a: '"ingress":{"host":"b"' } } });
    const record = decodeRecord<DeploymentRecord>('k', text);
    expect(record.spec.ingress).toEqual(LIST);
    expect(record.spec.labels).toEqual({ a: '"ingress":{"host":"b"' });
    expect(JSON.parse(recordText('k', text))).toEqual(record);
    const archives = encodeRecord({ revisions: [{ spec: { ingress: OLD } }, { spec: { ingress: OLD } }] });
    expect(decodeRecord('k', archives)).toEqual({
      revisions: [{ spec: { ingress: LIST } }, { spec: { ingress: LIST } }],
    });
  });

  it('has the hash that it had, so that no container is made again', () => {
    expect(hash(LIST)).toBe(HASH);
    expect(hash([{ host: 'other.example.com', port: 80 }, ...LIST])).toBe(HASH);
  });
});

describe('a way in by ingress nodes', () => {
  it('is nothing that a container is made from', () => {
    expect(hash([{ host: 'shop.example.com', port: 8080 }])).toBe(hash(undefined));
  });
});
