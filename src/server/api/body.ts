import { type Document, isScalar, parseDocument, visit } from 'yaml';
import { scanJson } from '../../core/contract/json-scan.ts';
import { received, redacted } from '../../core/rejections/redaction.ts';
import { reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** YAML nests by indentation and by brackets; both are bounded before the parser recurses. */
const YAML_MAX_OPEN = 64;
const YAML_MAX_INDENT = 512;
/** The YAML parser takes seconds for a megabyte of short lines, during which nobody else is served. */
const YAML_MAX_LENGTH = 65_536;

function malformed(text: string | Buffer, why: string): Rejection {
  return reject('body_malformed', { field: 'body', received: redacted(text.toString()), why });
}

function tooDeep(size: number, maxDepth: number): Rejection {
  return reject('body_too_deep', {
    field: 'body',
    received: `(redacted, body, ${size} bytes)`,
    expected: `at most ${maxDepth} levels`,
    why: `The body is nested more than ${maxDepth} levels deep.`,
  });
}

export interface BodyLimits {
  readonly maxDepth: number;
}

function parseJson(text: string, limits: BodyLimits): { readonly value: unknown } | Rejection {
  switch (scanJson(text, limits.maxDepth)) {
    case 'too_deep':
      return tooDeep(text.length, limits.maxDepth);
    case 'duplicate_key':
      return malformed(text, 'An object holds the same key twice; one of the two values would be lost.');
    case 'prototype_key':
      return malformed(text, 'The key __proto__ is not accepted anywhere in a body.');
    case undefined:
  }
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return malformed(text, 'The body is not valid JSON.');
  }
}

function yamlNestsTooDeep(text: string): boolean {
  let open = 0;
  for (const line of text.split('\n')) {
    const indent = line.length - line.trimStart().length;
    if (indent > YAML_MAX_INDENT) return true;
    const dashes = /^(?:[-?:] ){0,1000}/.exec(line.trimStart())?.[0].length ?? 0;
    if (dashes / 2 > YAML_MAX_OPEN) return true;
    for (const char of line) {
      if (char === '[' || char === '{') open += 1;
      else if (char === ']' || char === '}') open -= 1;
      if (open > YAML_MAX_OPEN) return true;
    }
  }
  return false;
}

function depthOf(value: unknown, left: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (left === 0) return false;
  return Object.values(value).every((member) => depthOf(member, left - 1));
}

function hasPrototypeKey(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.hasOwn(value, '__proto__') || Object.values(value).some(hasPrototypeKey);
}

/**
 * Keys as they would be in JSON: `1` and `"1"` are one key, and a list is none. The parser's own look for duplicates
 * compares values and takes quadratic time.
 */
function yamlKeyProblem(document: Document.Parsed): string | undefined {
  let problem: string | undefined;
  visit(document, {
    Map(_, { items }) {
      const seen = new Set<string>();
      for (const { key } of items) {
        if (!isScalar(key)) problem = 'A key is not plain text.';
        const text = isScalar(key) ? String(key.value ?? '') : '';
        if (seen.has(text))
          problem ??= 'A map holds the same key twice; one of the two values would be lost.';
        if (problem !== undefined) return visit.BREAK;
        seen.add(text);
      }
      return undefined;
    },
  });
  return problem;
}

function parseYaml(text: string, limits: BodyLimits): { readonly value: unknown } | Rejection {
  if (text.length > YAML_MAX_LENGTH) {
    return reject('body_too_large', {
      field: 'body',
      received: `(redacted, body, ${text.length} characters)`,
      expected: `at most ${YAML_MAX_LENGTH} characters of YAML; JSON for larger bodies`,
      why: `A YAML body has at most ${YAML_MAX_LENGTH} characters; send a larger one as JSON.`,
    });
  }
  if (yamlNestsTooDeep(text)) return tooDeep(text.length, limits.maxDepth);
  try {
    const document = parseDocument(text, {
      uniqueKeys: false,
      prettyErrors: false,
      version: '1.2',
      schema: 'core',
    });
    const problem = document.errors[0];
    if (problem) return malformed(text, `The body is not valid YAML: ${problem.code}.`);
    const keyProblem = yamlKeyProblem(document);
    if (keyProblem !== undefined) return malformed(text, keyProblem);
    const value: unknown = document.toJS({ maxAliasCount: 100 });
    if (!depthOf(value, limits.maxDepth)) return tooDeep(text.length, limits.maxDepth);
    if (hasPrototypeKey(value))
      return malformed(text, 'The key __proto__ is not accepted anywhere in a body.');
    return { value };
  } catch (error) {
    if (error instanceof RangeError) return tooDeep(text.length, limits.maxDepth);
    return malformed(text, 'The body is not valid YAML.');
  }
}

const MEDIA_TYPE = /^(application\/[a-z-]+)(?:\s*;\s*charset="?utf-8"?)?\s*$/i;
const YAML_TYPES = ['application/yaml', 'application/x-yaml'];

/** A body is JSON unless the route takes YAML and the header says so; the format is never guessed. */
export function parseBody(
  bytes: Buffer,
  contentType: string | undefined,
  route: { readonly yaml?: boolean },
  limits: BodyLimits,
): { readonly value: unknown } | Rejection {
  const media =
    contentType === undefined ? undefined : MEDIA_TYPE.exec(contentType.trim())?.[1]?.toLowerCase();
  const yaml = media !== undefined && YAML_TYPES.includes(media);
  if (media !== 'application/json' && !(yaml && route.yaml)) {
    return reject('content_type_unsupported', {
      field: 'Content-Type',
      received: received(contentType),
      expected: route.yaml ? 'application/json or application/yaml' : 'application/json',
      why: 'The media type of the body is missing or not taken by this route.',
    });
  }
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return malformed(bytes, 'The body is not valid UTF-8.');
  }
  return yaml ? parseYaml(text, limits) : parseJson(text, limits);
}
