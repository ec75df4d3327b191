import { describe, expect, it } from 'vitest';
import { isContainerUser } from '../model/confinement.ts';
import { parseImageReference } from '../model/image-reference.ts';
import { parseDuration, parseMemory } from '../model/quantity.ts';
import { parseAnchor } from '../model/secret-anchor.ts';
import { isSecretKey } from '../model/secret-template.ts';
import { isHostName, isIngressPath } from '../rules/ingress.ts';
import { nodeNameRule } from '../rules/node.ts';
import { isName } from '../rules/name.ts';
import { isMountPath } from '../rules/volumes.ts';
import {
  ANCHOR,
  CONTAINER_USER,
  DURATION,
  HOST_NAME,
  INGRESS_PATH,
  MEMORY,
  NAME,
  NODE_NAME,
  PINNED_IMAGE,
  PLAIN_PATH,
  SECRET_KEY,
} from './forms.ts';

interface Form {
  readonly pattern: string;
  readonly minLength?: number;
  readonly maxLength?: number;
}

const TEXTS = [
  [
    'a',
    'web',
    'a-b',
    '-a',
    'a-',
    'A',
    '1a',
    'a1',
    'ü',
    '',
    ' ',
    'a.b',
    `a${'b'.repeat(62)}`,
    `a${'b'.repeat(63)}`,
  ],
  [
    '10s',
    '1m30s',
    '500ms',
    '1h',
    '1.5s',
    '1h1m1s1ms',
    '5',
    's',
    '1s1m',
    '1 s',
    '-1s',
    '1e3s',
    '1234567h',
    '0s',
  ],
  ['256Mi', '1Gi', '1.5G', '1048576', '1Kb', 'Mi', '-1', '1.', '12345678901234567'],
  ['process', 'external', 'volume(vol_1)', 'volume()', 'volume(a', 'Process', 'volume(-a)'],
  ['0', '1000:1000', 'app', 'app:staff', ':', '1:2:3', 'a b', '12345678901'],
  ['/data', '/', '/a/b', 'a', '/a:b', '/a\u0001', '//', '/..', '/ü'],
  [
    'web',
    'web:1',
    'web:latest',
    'shop/web:1.4.2',
    'localhost:5000/shop/web:1',
    '[::1]:5000/web:1',
    'Host.example/web:1',
  ],
  [
    `web@sha256:${'a'.repeat(64)}`,
    `web:1@sha256:${'a'.repeat(64)}`,
    'web@sha256:1',
    'WEB:1',
    'web:',
    ':1',
    'a b:1',
  ],
  ['/.', '/../a', '/a/.', '/a/..', '/..a', '/...', '/.a', '/a.', '/a/', '/a//b', `/${'a'.repeat(255)}`],
  ['shop.example.com', 'a..b', '.a', 'a.', 'a.b-', '127.0.0.1', `${'a.'.repeat(127)}b`],
  ['key', '_k1', '1k', 'k-1', 'node-1', 'node.example', '.node', 'n'.repeat(63), 'n'.repeat(64)],
].flat();

function fits({ pattern, minLength = 0, maxLength = Number.POSITIVE_INFINITY }: Form, text: string): boolean {
  return text.length >= minLength && text.length <= maxLength && new RegExp(pattern, 'u').test(text);
}

interface Held {
  readonly name: string;
  readonly form: Form;
  readonly takes: (text: string) => boolean;
  /** The form refuses all that the rule refuses. */
  readonly exact?: true;
}

const RULES: readonly Held[] = [
  { name: 'NAME', form: NAME, takes: isName, exact: true },
  { name: 'DURATION', form: DURATION, takes: (text) => parseDuration(text) !== undefined, exact: true },
  { name: 'MEMORY', form: MEMORY, takes: (text) => parseMemory(text) !== undefined },
  { name: 'ANCHOR', form: ANCHOR, takes: (text) => parseAnchor(text) !== undefined, exact: true },
  { name: 'CONTAINER_USER', form: CONTAINER_USER, takes: isContainerUser },
  { name: 'PLAIN_PATH', form: PLAIN_PATH, takes: isMountPath },
  { name: 'PINNED_IMAGE', form: PINNED_IMAGE, takes: (text) => parseImageReference(text).ok },
  { name: 'SECRET_KEY', form: SECRET_KEY, takes: isSecretKey, exact: true },
  { name: 'HOST_NAME', form: HOST_NAME, takes: isHostName, exact: true },
  { name: 'INGRESS_PATH', form: INGRESS_PATH, takes: isIngressPath, exact: true },
  { name: 'NODE_NAME', form: NODE_NAME, takes: (text) => nodeNameRule(text) === undefined, exact: true },
];

describe('forms', () => {
  it.each(RULES)('$name refuses nothing that the rules take', ({ form, takes, exact }) => {
    const taken = TEXTS.filter(takes);
    expect(taken.length).toBeGreaterThan(1);
    expect(taken.filter((text) => !fits(form, text))).toEqual([]);
    expect(TEXTS.filter((text) => fits(form, text)).length).toBeLessThan(TEXTS.length / 2);
    if (exact) expect(TEXTS.filter((text) => fits(form, text) && !takes(text))).toEqual([]);
  });
});
