import { utf8Length } from '../../core/model/text-bytes.ts';
import { ROUNDED_NUMBER } from '../../core/schema/exact-number.ts';
import { scanJson } from '../../core/schema/json-scan.ts';
import { received, redacted } from '../../core/rejections/redaction.ts';
import { reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import { jsonFault, placeOf } from './json-fault.ts';
import { parseYaml, YAML_MAX_LENGTH, YAML_MAX_TOKENS } from './yaml-body.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const YAML_FORM = 'one well-formed YAML document in UTF-8, each key once in its mapping';

function malformed(text: string | Buffer, why: string, yaml = false): Rejection {
  return reject('body_malformed', {
    field: 'body',
    received: redacted(text.toString()),
    ...(yaml ? { expected: YAML_FORM } : {}),
    why,
  });
}

/** What came is text by now; its characters are not its bytes. */
function sizeOf(text: string): string {
  return `(redacted, body, ${utf8Length(text)} bytes)`;
}

function faultText(text: string): string {
  if (text.trim() === '') return ': it is empty';
  const fault = jsonFault(text);
  return fault === undefined ? '' : `: ${placeOf(text, fault.at)}: ${fault.what}`;
}

function tooDeep(text: string, maxDepth: number): Rejection {
  return reject('body_too_deep', {
    field: 'body',
    received: sizeOf(text),
    expected: `at most ${maxDepth} levels`,
    why: `The body is nested more than ${maxDepth} levels deep.`,
  });
}

export interface BodyLimits {
  readonly maxDepth: number;
  /** Told how many requests more a body counts as. */
  readonly charge?: (requests: number) => void;
}

/** A megabyte can hold hundreds of thousands, which take a tenth of a second to read; a text of the same length takes a few milliseconds. */
const JSON_MAX_MEMBERS = 20_000;

function parseJson(
  text: string,
  limits: BodyLimits,
  maxMembers: number,
): { readonly value: unknown } | Rejection {
  switch (scanJson(text, limits.maxDepth, maxMembers)) {
    case 'too_deep':
      return tooDeep(text, limits.maxDepth);
    case 'too_many':
      return reject('body_too_large', {
        field: 'body',
        received: sizeOf(text),
        expected: `at most ${maxMembers} members of lists and objects`,
        why: `The body holds more than ${maxMembers} members; reading them would hold up other requests.`,
      });
    case 'duplicate_key':
      return malformed(text, 'An object holds the same key twice; one of the two values would be lost.');
    case 'prototype_key':
      return malformed(text, 'The key __proto__ is not accepted anywhere in a body.');
    case 'rounded_number':
      return malformed(text, ROUNDED_NUMBER);
    case undefined:
  }
  try {
    return { value: JSON.parse(text) };
  } catch {
    return malformed(text, `The body is not valid JSON${faultText(text)}.`);
  }
}

function yamlValue(text: string, limits: BodyLimits): { readonly value: unknown } | Rejection {
  const parsed = parseYaml(text, limits.maxDepth);
  if ('value' in parsed) return parsed;
  switch (parsed.problem) {
    case 'too_deep':
      return tooDeep(text, limits.maxDepth);
    case 'malformed':
      return malformed(text, parsed.why, true);
    case 'too_long':
      return reject('body_too_large', {
        field: 'body',
        received: sizeOf(text),
        expected: `YAML of at most ${YAML_MAX_LENGTH} characters and ${YAML_MAX_TOKENS} tokens; JSON is bounded by its size alone`,
        why: 'The document is longer than what is parsed as YAML.',
      });
  }
}

/** So much of it takes about as long as a request without a body. */
const YAML_LENGTH_PER_REQUEST = 512;
const JSON_LENGTH_PER_REQUEST = 32 * 1024;
const MEDIA_TYPE = /^(application\/[a-z-]+)(?:\s*;\s*charset\s*=\s*"?utf-8"?)?\s*$/i;
const PARAMETER = /^[^;]*;\s*(?:charset\s*=\s*"?([\w.:-]{1,40})"?|([\w.-]{1,40})\s*=.*)\s*$/i;
const YAML_TYPES = ['application/yaml', 'application/x-yaml'];

function isTaken(media: string | undefined, { yaml }: { readonly yaml?: boolean }): boolean {
  return media === 'application/json' || (yaml === true && YAML_TYPES.includes(media ?? ''));
}

/** What is wrong with a header whose type alone would be taken. */
function parameterText(contentType: string): string {
  const [, charset, name] = PARAMETER.exec(contentType) ?? [];
  if (charset !== undefined) return `The charset of the body is ${charset}; bodies are read as UTF-8 only.`;
  const what = name === undefined ? 'something that is no charset' : `the parameter ${name}`;
  return `The media type has ${what}; only charset=utf-8 may follow it.`;
}

function mediaRejection(contentType: string | undefined, route: { readonly yaml?: boolean }): Rejection {
  const alone = contentType?.split(';', 1)[0]?.trim().toLowerCase();
  const isParameter = contentType !== undefined && isTaken(alone, route);
  const types = route.yaml ? 'application/json or application/yaml' : 'application/json';
  return reject('content_type_unsupported', {
    field: 'Content-Type',
    received: received(contentType),
    expected: isParameter ? `${alone}, alone or with charset=utf-8` : types,
    why: isParameter
      ? parameterText(contentType)
      : 'The media type of the body is missing or not taken by this route.',
  });
}

/** A body is JSON unless the route takes YAML and the header says so; the format is never guessed. */
export function parseBody(
  bytes: Buffer,
  contentType: string | undefined,
  route: { readonly yaml?: boolean; readonly maxMembers?: number },
  limits: BodyLimits,
): { readonly value: unknown } | Rejection {
  const media =
    contentType === undefined ? undefined : MEDIA_TYPE.exec(contentType.trim())?.[1]?.toLowerCase();
  if (!isTaken(media, route)) return mediaRejection(contentType, route);
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return malformed(bytes, 'The body is not valid UTF-8.');
  }
  if (media === 'application/json') {
    limits.charge?.(Math.floor(text.length / JSON_LENGTH_PER_REQUEST));
    return parseJson(text, limits, route.maxMembers ?? JSON_MAX_MEMBERS);
  }
  limits.charge?.(Math.ceil(Math.min(text.length, YAML_MAX_LENGTH) / YAML_LENGTH_PER_REQUEST));
  return yamlValue(text, limits);
}
