import { isRecord } from '../../core/model/values.ts';
import { ExpressionError, Scanner } from './scanner.ts';

/** From what was found so far to what is found below it. */
type Step = (found: readonly unknown[]) => readonly unknown[];
export type JsonPath = (value: unknown) => readonly unknown[];

/**
 * A part of JSONPath: fields (`.name`, `['a.b']`), elements (`[0]`, `[-1]`), all of them (`[*]`, `.*`), and those that a comparison holds for
 * (`[?(@.state=="running")]`). `$` at the beginning and braces around the whole may be left out.
 */
export function jsonPath(text: string): JsonPath {
  const isBraced = text.startsWith('{');
  if (isBraced && !text.endsWith('}')) throw new ExpressionError('a brace that is not closed', 0);
  const scanner = new Scanner(text, isBraced ? 1 : 0, isBraced ? text.length - 1 : text.length);
  const path = pathIn(scanner);
  if (!scanner.isAtEnd) throw scanner.error('expected . or [');
  return path;
}

/** Up to what belongs to no path. */
export function pathIn(scanner: Scanner, root = '$'): JsonPath {
  const hasRoot = scanner.takes(root);
  const steps: Step[] = [];
  for (;;) {
    if (scanner.takes('.')) steps.push(fieldStep(scanner, hasRoot || steps.length > 0));
    else if (scanner.takes('[')) steps.push(bracketStep(scanner));
    else break;
  }
  if (!hasRoot && steps.length === 0) throw scanner.error(`expected a path such as ${root}.name`);
  return (value) => {
    let found: readonly unknown[] = [value];
    for (const step of steps) found = step(found);
    return found;
  };
}

function fieldStep(scanner: Scanner, isBelow: boolean): Step {
  if (scanner.takes('*')) return everyChild;
  if (scanner.next === '.') throw scanner.error('.. is not in this language; name each field on the way');
  // `.` alone is the whole.
  if (!isBelow && scanner.isAtEnd) return (found) => found;
  return field(scanner.name());
}

function bracketStep(scanner: Scanner): Step {
  scanner.blanks();
  if (scanner.takes('*')) return closed(scanner, everyChild);
  if (scanner.takes('?')) return closed(scanner, filterStep(scanner));
  const name = scanner.quoted();
  if (name !== undefined) return closed(scanner, field(name));
  const at = scanner.number(false);
  if (at === undefined) throw scanner.error('expected a number, *, a name in quotes or ?(…) after [');
  return closed(scanner, (found) =>
    found.flatMap((one): unknown[] => {
      const list: readonly unknown[] = Array.isArray(one) ? one : [];
      const index = at < 0 ? list.length + at : at;
      return index >= 0 && index < list.length ? [list[index]] : [];
    }),
  );
}

function closed(scanner: Scanner, step: Step): Step {
  scanner.blanks();
  scanner.expect(']', 'to close the bracket');
  return step;
}

const field =
  (name: string): Step =>
  (found) =>
    found.flatMap((one): unknown[] => (isRecord(one) && Object.hasOwn(one, name) ? [one[name]] : []));

const everyChild: Step = (found) => found.flatMap(childrenOf);

function childrenOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return isRecord(value) ? Object.values(value) : [];
}

type Compare = (left: unknown, right: unknown) => boolean;

const ordered =
  (holds: (order: number) => boolean): Compare =>
  (left, right) => {
    if (typeof left === 'number' && typeof right === 'number') return holds(left - right);
    if (typeof left === 'string' && typeof right === 'string')
      return holds(left < right ? -1 : left > right ? 1 : 0);
    return false;
  };

/** Longer ones first. */
const COMPARISONS: readonly (readonly [string, Compare])[] = [
  ['==', (left, right) => left === right],
  ['!=', (left, right) => left !== right],
  ['<=', ordered((order) => order <= 0)],
  ['>=', ordered((order) => order >= 0)],
  ['<', ordered((order) => order < 0)],
  ['>', ordered((order) => order > 0)],
];

const WORDS: readonly (readonly [string, unknown])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
];

/** Filters within filters: nobody writes more, and each of them is a call within a call. */
const DEEPEST = 20;

function filterStep(scanner: Scanner): Step {
  if (scanner.depth === DEEPEST) throw scanner.error(`at most ${DEEPEST} filters within each other`);
  scanner.depth += 1;
  const isWrapped = scanner.takes('(');
  scanner.blanks();
  if (scanner.next !== '@') throw scanner.error('expected @ and a path in a filter');
  const path = pathIn(scanner, '@');
  scanner.blanks();
  const holds = comparison(scanner, path);
  scanner.blanks();
  if (isWrapped) scanner.expect(')', 'to close the filter');
  scanner.depth -= 1;
  return (found) => found.flatMap(childrenOf).filter(holds);
}

/** A path alone: there is something. */
function comparison(scanner: Scanner, path: JsonPath): (value: unknown) => boolean {
  const [, compare] = COMPARISONS.find(([sign]) => scanner.takes(sign)) ?? [];
  if (compare === undefined) {
    if (scanner.next !== ')' && scanner.next !== ']') throw scanner.error('expected ==, !=, <, <=, > or >=');
    return (value) => path(value).length > 0;
  }
  scanner.blanks();
  const right = literal(scanner);
  // As of a field that is not there.
  return (value) => compare(path(value)[0], right);
}

function literal(scanner: Scanner): unknown {
  const text = scanner.quoted() ?? scanner.number(true);
  if (text !== undefined) return text;
  const word = WORDS.find(([name]) => scanner.takes(name));
  if (word === undefined) throw scanner.error('expected a text in quotes, a number, true, false or null');
  return word[1];
}
