import { existsSync, readFileSync } from 'node:fs';
import { nearest } from '../core/schema/nearest.ts';
import { isCountry } from '../core/model/countries.ts';
import { parseDuration } from '../core/model/quantity.ts';
import { type KindAmounts, QUOTA_KINDS } from '../core/model/quota.ts';
import type { Region } from '../core/model/region.ts';
import { isIntegerWithin, isOneOf, isRecord, messageOf } from '../core/model/values.ts';
import { yaml } from './yaml.ts';
import { CONFIG_KEYS, type ConfigKey, type ConfigTypes } from './config-keys.ts';

/** A configuration that cannot be used: the message says which key, where it came from and what it takes. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

type Values = ReadonlyMap<string, unknown>;

function typeError(key: ConfigKey, source: string, expected: string): ConfigError {
  return new ConfigError(`${key.path} (${source}) must be ${expected}. ${key.description}`);
}

const MAX_TIMER_MS = 2 ** 31 - 1;

function checkNumber(key: ConfigKey, value: number, source: string): number {
  if (!Number.isFinite(value) || (key.type === 'integer' && !Number.isSafeInteger(value)))
    throw typeError(key, source, `a${key.type === 'integer' ? 'n integer' : ' number'}`);
  if (key.minimum !== undefined && value < key.minimum)
    throw typeError(key, source, `at least ${key.minimum}${key.type === 'duration' ? 'ms' : ''}`);
  return value;
}

function checkRegions(key: ConfigKey, value: unknown, source: string): readonly Region[] {
  const bad = typeError(key, source, 'a list of {name, countries} with ISO 3166-1 alpha-2 codes');
  if (!Array.isArray(value)) throw bad;
  return value.map((entry: unknown) => {
    const { name, countries } = isRecord(entry) ? entry : {};
    if (typeof name !== 'string' || name === '' || !Array.isArray(countries)) throw bad;
    const codes = countries.map((country) => String(country).toUpperCase());
    if (!codes.every(isCountry) || countries.some((country) => String(country).length !== 2)) throw bad;
    return { name, countries: codes };
  });
}

function checkAmounts(key: ConfigKey, value: unknown, source: string): KindAmounts {
  const bad = typeError(
    key,
    source,
    `an object of kind (${QUOTA_KINDS.join(', ')}) and a number of 0 or more`,
  );
  if (!isRecord(value)) throw bad;
  const amounts: { -readonly [K in keyof KindAmounts]: KindAmounts[K] } = {};
  for (const [kind, amount] of Object.entries(value)) {
    if (!isOneOf(QUOTA_KINDS, kind) || !isIntegerWithin(amount, 0, Number.MAX_SAFE_INTEGER)) throw bad;
    amounts[kind] = amount;
  }
  return amounts;
}

/** Undefined when the text is not JSON: then it is no list either, and is refused as such. */
function jsonText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** One value of one key; text (from a variable or a flag) is read by the key's type. */
function convert(key: ConfigKey, value: unknown, source: string): ConfigTypes[keyof ConfigTypes] {
  const fromText = typeof value === 'string' && source !== 'berth.yaml' && !source.endsWith('.yaml');
  switch (key.type) {
    case 'string':
      if (typeof value !== 'string') throw typeError(key, source, 'text');
      return value;
    case 'duration': {
      const ms = typeof value === 'string' ? parseDuration(value) : undefined;
      if (ms === undefined) throw typeError(key, source, 'a duration such as 15s or 500ms');
      // A timer takes no more: beyond it, it would fire at once and without end.
      if (ms > MAX_TIMER_MS) throw typeError(key, source, 'at most 596h');
      return checkNumber(key, ms, source);
    }
    case 'integer':
    case 'number':
      return checkNumber(
        key,
        typeof value === 'number' ? value : fromText && value !== '' ? Number(value) : Number.NaN,
        source,
      );
    case 'boolean':
      if (typeof value === 'boolean') return value;
      if (fromText && (value === 'true' || value === 'false')) return value === 'true';
      throw typeError(key, source, 'true or false');
    case 'strings': {
      const list = fromText
        ? value
            .split(',')
            .map((part) => part.trim())
            .filter((part) => part !== '')
        : value;
      if (!Array.isArray(list) || !list.every((part) => typeof part === 'string'))
        throw typeError(key, source, 'a list of texts');
      return list;
    }
    case 'amounts':
      return checkAmounts(key, fromText ? jsonText(value) : value, source);
    case 'regions':
      return checkRegions(key, fromText ? jsonText(value) : value, source);
  }
}

function flatten(
  value: Readonly<Record<string, unknown>>,
  prefix: string,
  known: ReadonlySet<string>,
  into: Map<string, unknown>,
): void {
  for (const [name, member] of Object.entries(value)) {
    const path = prefix === '' ? name : `${prefix}.${name}`;
    if (!known.has(path) && isRecord(member)) flatten(member, path, known, into);
    else into.set(path, member);
  }
}

function readFile(path: string): Map<string, unknown> {
  let parsed: unknown;
  try {
    parsed = yaml().parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new ConfigError(`${path} cannot be read: ${messageOf(cause)}`, { cause });
  }
  parsed ??= {};
  if (!isRecord(parsed)) throw new ConfigError(`${path} must hold settings as key: value`);
  const known = new Set<string>(CONFIG_KEYS.map((key) => key.path));
  const flat = new Map<string, unknown>();
  flatten(parsed, '', known, flat);
  for (const name of flat.keys()) {
    if (known.has(name)) continue;
    const near = nearest(name, [...known]);
    throw new ConfigError(
      `${path}: unknown key ${name}${near === undefined ? '' : `; did you mean ${near}?`}`,
    );
  }
  return flat;
}

export function variableOf(path: string): string {
  return `BERTH_${path
    .replaceAll('.', '_')
    .replaceAll(/([a-z])([A-Z])/g, '$1_$2')
    .toUpperCase()}`;
}

/** Variables that are not settings of the server. */
const OTHER_VARIABLES = new Set(['BERTH_BOOTSTRAP_TOKEN', 'BERTH_CONFIG']);
const FOREIGN_PREFIXES = ['BERTH_TEST_', 'BERTH_AGENT_', 'BERTH_CLI_'];

function readVariables(environment: NodeJS.ProcessEnv): Map<string, unknown> {
  const byVariable = new Map<string, ConfigKey>(CONFIG_KEYS.map((key) => [variableOf(key.path), key]));
  const found = new Map<string, unknown>();
  for (const [name, value] of Object.entries(environment)) {
    if (
      !name.startsWith('BERTH_') ||
      OTHER_VARIABLES.has(name) ||
      FOREIGN_PREFIXES.some((prefix) => name.startsWith(prefix))
    )
      continue;
    const key = byVariable.get(name);
    if (key === undefined) {
      const near = nearest(name, [...byVariable.keys()]);
      throw new ConfigError(`unknown variable ${name}${near === undefined ? '' : `; did you mean ${near}?`}`);
    }
    found.set(key.path, value);
  }
  return found;
}

function readFlags(args: readonly string[]): {
  readonly flags: Map<string, unknown>;
  readonly file?: string;
} {
  const byFlag = new Map<string, ConfigKey>(
    CONFIG_KEYS.flatMap((key: ConfigKey) => (key.flag === undefined ? [] : [[key.flag, key] as const])),
  );
  const flags = new Map<string, unknown>();
  let file: string | undefined;
  for (let index = 0; index < args.length; index += 1) {
    const [name = '', inline] = (args[index] ?? '').split(/=(.*)/s, 2);
    const key = byFlag.get(name);
    if (key === undefined && name !== '--config') {
      const near = nearest(name, [...byFlag.keys(), '--config', '--help']);
      throw new ConfigError(`unknown flag ${name}${near === undefined ? '' : `; did you mean ${near}?`}`);
    }
    let value = inline;
    if (value === undefined && key?.type === 'boolean') value = 'true';
    if (value === undefined) {
      index += 1;
      value = args[index];
    }
    // The next flag is no value: --data-dir --listen … would make a folder of that name.
    if (value === undefined || (inline === undefined && value.startsWith('--')))
      throw new ConfigError(`${name} needs a value`);
    if (key === undefined) file = value;
    else flags.set(key.path, value);
  }
  return { flags, ...(file === undefined ? {} : { file }) };
}

/** berth.yaml, then BERTH_* variables, then flags. */
export function loadValues(args: readonly string[], environment: NodeJS.ProcessEnv): Values {
  const { flags, file } = readFlags(args);
  const configFile =
    file ?? environment['BERTH_CONFIG'] ?? (existsSync('berth.yaml') ? 'berth.yaml' : undefined);
  const layers: readonly (readonly [string, Map<string, unknown>])[] = [
    ...(configFile === undefined
      ? []
      : [[configFile.endsWith('.yaml') ? configFile : `${configFile}.yaml`, readFile(configFile)] as const]),
    ['environment', readVariables(environment)],
    ['flag', flags],
  ];
  const values = new Map<string, unknown>();
  const keys: readonly ConfigKey[] = CONFIG_KEYS;
  for (const key of keys) {
    const usual = key.default;
    if (usual !== undefined)
      values.set(
        key.path,
        key.type === 'duration' && typeof usual === 'string' ? parseDuration(usual) : usual,
      );
    for (const [source, layer] of layers) {
      if (layer.has(key.path)) values.set(key.path, convert(key, layer.get(key.path), source));
    }
  }
  return values;
}
