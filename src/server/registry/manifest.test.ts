import { describe, expect, it } from 'vitest';
import { errorCodes, kindOfType, readManifest, runsOn } from './manifest.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const read = (value: unknown) => readManifest(Buffer.from(JSON.stringify(value)));

describe('readManifest', () => {
  it('reads the children of an index and leaves out what it cannot use', () => {
    const manifests = [
      { digest: DIGEST, platform: { os: 'linux', architecture: 'arm64', variant: 'v8' } },
      { digest: DIGEST, platform: { os: 'linux', architecture: 'amd64', variant: '' } },
      { digest: DIGEST },
      { digest: 'sha256:../x', platform: { os: 'linux', architecture: 'amd64' } },
      { digest: DIGEST, platform: { os: 'linux' } },
      null,
      7,
    ];
    expect(read({ schemaVersion: 2, manifests })).toEqual({
      kind: 'index',
      children: [
        { digest: DIGEST, platform: 'linux/arm64/v8' },
        { digest: DIGEST, platform: 'linux/amd64' },
        { digest: DIGEST },
      ],
    });
  });

  it.each([
    null,
    [],
    'x',
    {},
    { schemaVersion: 1, manifests: [] },
    { schemaVersion: 2 },
    { schemaVersion: 2, layers: [] },
  ])('%j is no manifest', (value) => {
    expect(read(value)).toBeUndefined();
  });

  it('is not upset by depth or by what is no JSON', () => {
    expect(readManifest(Buffer.from('['.repeat(500_000)))).toBeUndefined();
    expect(readManifest(Buffer.from([0xff, 0x00]))).toBeUndefined();
  });
});

it.each([
  ['linux/amd64', 'linux/amd64', true],
  ['linux/arm64/v8', 'linux/arm64', true],
  ['linux/arm64', 'linux/arm64/v8', true],
  ['linux/arm/v6', 'linux/arm/v7', false],
  ['linux/amd64', 'linux/arm64', false],
  ['windows/amd64', 'linux/amd64', false],
  ['unknown/unknown', 'linux/amd64', false],
  [undefined, 'linux/amd64', true],
])('an image for %s on %s: %s', (platform, wanted, runs) => {
  expect(runsOn({ digest: DIGEST, ...(platform === undefined ? {} : { platform }) }, wanted)).toBe(runs);
});

it('knows the four types, whatever follows them', () => {
  expect(kindOfType('Application/vnd.oci.image.index.v1+json; charset=utf-8')).toBe('index');
  expect(kindOfType('application/vnd.docker.distribution.manifest.v2+json')).toBe('image');
  expect(kindOfType('text/html')).toBe('unknown');
  expect(kindOfType(undefined)).toBe('unknown');
});

it('reads error codes', () => {
  const codes = (value: unknown) => errorCodes(Buffer.from(JSON.stringify(value)));
  expect(codes({ errors: [{ code: 'A' }, { code: 1 }, null, { code: 'B' }] })).toEqual(['A', 'B']);
  expect(codes({ errors: 'x' })).toEqual([]);
  expect(codes(null)).toEqual([]);
});
