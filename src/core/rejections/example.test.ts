import { describe, expect, it } from 'vitest';
import { exampleLines, parseExample } from './example.ts';

describe('parseExample', () => {
  it('tells a body from a request', () => {
    expect(parseExample('{ "a": 1 }')).toEqual({ head: [], body: { a: 1 } });
    expect(parseExample('[1]')).toEqual({ head: [], body: [1] });
    expect(parseExample('GET /x\nA: b')).toEqual({ head: ['GET /x', 'A: b'] });
    expect(parseExample('PUT /x\nA: b\n\n{}')).toEqual({ head: ['PUT /x', 'A: b'], body: {} });
  });

  it('throws on a body that is not JSON', () => {
    expect(() => parseExample('{ "a": }')).toThrow(SyntaxError);
    expect(() => parseExample('PUT /x\n\nnot json')).toThrow(SyntaxError);
  });
});

describe('exampleLines', () => {
  it('opens the outermost object and keeps short values on a line', () => {
    expect(exampleLines('{"a":{"b":[1,2]},"c":[],"d":{}}')).toEqual([
      '{',
      '  "a": { "b": [1, 2] },',
      '  "c": [],',
      '  "d": {}',
      '}',
    ]);
  });

  it('opens what is longer than a line', () => {
    const long = 'x'.repeat(40);
    expect(exampleLines(JSON.stringify({ list: [{ one: long, two: long }] }))).toEqual([
      '{',
      '  "list": [',
      '    {',
      `      "one": "${long}",`,
      `      "two": "${long}"`,
      '    }',
      '  ]',
      '}',
    ]);
  });

  it('sets a remark apart and keeps a blank line before the body', () => {
    expect(exampleLines('PUT /x      while away\nA: b\n\n{}')).toEqual([
      'PUT /x   # while away',
      'A: b',
      '',
      '{}',
    ]);
  });
});
