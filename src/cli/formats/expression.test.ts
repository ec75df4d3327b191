import { describe, expect, it } from 'vitest';
import { Failure } from '../failure.ts';
import { expressionOf } from './expression.ts';

const WEB = {
  name: 'web',
  replicas: 2,
  labels: { 'app.kind/tier': 'front', empty: '' },
  status: {
    phase: 'Running',
    instances: [
      { id: 'a', state: 'running', restarts: 0, health: 'healthy' },
      { id: 'b', state: 'starting', restarts: 3 },
      { id: 'c', state: 'running', restarts: 7 },
    ],
  },
};

const lines = (word: string, value: unknown = WEB) => expressionOf(word)?.lines(value);

describe('a path', () => {
  it.each([
    ['.name', ['web']],
    ['$.name', ['web']],
    ['{.name}', ['web']],
    ['.replicas', ['2']],
    ['.status.instances[0].id', ['a']],
    ['.status.instances[-1].id', ['c']],
    ['.status.instances[3].id', []],
    ['.status.instances[*].id', ['a', 'b', 'c']],
    ["['labels']['app.kind/tier']", ['front']],
    ['.labels.*', ['front', '']],
    ['.status.instances[?(@.state=="running")].id', ['a', 'c']],
    ["$.status.instances[?@.state != 'running'].id", ['b']],
    ['.status.instances[?(@.restarts>=3)].id', ['b', 'c']],
    ['.status.instances[?(@.restarts < 3.5)].id', ['a', 'b']],
    ['.status.instances[?(@.health)].id', ['a']],
    ['.status.instances[?(@.health==null)].id', []],
    ['.missing.name', []],
    ['.name.length', []],
    ['.constructor', []],
    ['.__proto__', []],
    ['.labels', ['{"app.kind/tier":"front","empty":""}']],
    ['$', [JSON.stringify(WEB)]],
    ['.', [JSON.stringify(WEB)]],
  ])('%s', (path, found) => expect(lines(`jsonpath=${path}`)).toEqual(found));

  it('sees a list as it is printed', () => {
    expect(lines('jsonpath=[*].name', [WEB, { name: 'db' }])).toEqual(['web', 'db']);
    expect(lines('jsonpath=[?(@.status)].name', [WEB, { name: 'db' }])).toEqual(['web']);
  });
});

describe('a template', () => {
  it.each([
    ['{{.name}} {{ .status.phase }}', 'web Running'],
    ['{{.name}}\\t{{.missing}}|', 'web\t|'],
    ['{{.status.instances[*].id}}', 'a,b,c'],
    ['{{.status.instances[?(@.state=="running")].id}}', 'a,c'],
    ['plain \\\\ {text} \\x', 'plain \\ {text} \\x'],
  ])('%s', (text, filled) => expect(lines(`template=${text}`)).toEqual([filled]));

  it('is filled for each record of a list', () => {
    expect(lines('template={{.name}}', [WEB, { name: 'db' }])).toEqual(['web', 'db']);
  });
});

describe('a wrong expression', () => {
  it.each([
    ['jsonpath', 'needs an expression', undefined],
    ['jsonpath=', 'needs an expression', undefined],
    ['jsonpath=name', 'character 1: expected a path such as $.name', 0],
    ['jsonpath=.status.', 'character 9: expected the name of a field, but it ends here', 8],
    ['jsonpath=.status..phase', 'character 9: .. is not in this language', 8],
    ['jsonpath=.a[', 'character 4: expected a number', 3],
    ['jsonpath=.a[1', 'character 5: expected ] to close the bracket, but it ends here', 4],
    ['jsonpath=.a b', 'character 3: expected . or [', 2],
    ['jsonpath={.a', 'character 1: a brace that is not closed', 0],
    ["jsonpath=.a['b", 'character 4: a text that is not closed', 3],
    ["jsonpath=.a['b\\", 'character 4: a text that is not closed', 3],
    ['jsonpath=.a[?(.b)]', 'character 6: expected @ and a path', 5],
    ['jsonpath=.a[?(@.b=1)]', 'character 9: expected ==, !=, <, <=, > or >=', 8],
    ['jsonpath=.a[?(@.b==x)]', 'character 11: expected a text in quotes', 10],
    ['jsonpath=.a[?(@.b==1]', 'character 12: expected ) to close the filter', 11],
    ['template={{.name', 'character 8: expected }} to close the placeholder, but it ends here', 7],
    ['template={{range .x}}', 'character 3: expected a path such as .name', 2],
    ['template=a }} b', 'character 3: }} without a {{ before it', 2],
  ])('%s: %s', (word, message, at) => {
    let error: unknown;
    try {
      expressionOf(word);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(Failure);
    const { message: said, advice, exitCode } = error as Failure;
    expect(said).toContain(message);
    expect(exitCode).toBe(2);
    if (at !== undefined) expect(advice).toEqual([word.slice(word.indexOf('=') + 1), `${' '.repeat(at)}^`]);
  });

  it('is none of another form', () => {
    for (const word of ['json', 'xml=.a', 'toString=x']) expect(expressionOf(word)).toBeUndefined();
  });
});

it('takes time in proportion to its length', () => {
  // Each of them would be seconds where a part is looked at again from its beginning.
  const long = 20_000;
  expect(lines(`jsonpath=${'.a'.repeat(long)}`)).toEqual([]);
  expect(lines(`template=${'{{.name}}'.repeat(long)}`)?.[0]).toHaveLength(3 * long);
  expect(() => lines(`jsonpath=.a[${' '.repeat(long)}`)).toThrow('expected a number');
  expect(() => lines(`jsonpath=.a['${'b'.repeat(long)}`)).toThrow('not closed');
  expect(() => lines(`jsonpath=.a${'[?(@'.repeat(long)}`)).toThrow('at most 20 filters within each other');
});
