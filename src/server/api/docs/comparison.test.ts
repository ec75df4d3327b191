import { describe, expect, it } from 'vitest';
import { compareExamples } from './comparison.ts';

function changed(failing: string, corrected: string): readonly (readonly string[])[] {
  return compareExamples(failing, corrected).map((lines) =>
    lines.filter((line) => line.changed).map((line) => line.text.trim()),
  );
}

describe('compareExamples', () => {
  it('marks the line that differs in both', () => {
    expect(changed('{"a":1,"b":2}', '{"a":1,"b":3}')).toEqual([['"b": 2'], ['"b": 3']]);
  });

  it('does not mark a line that only got a comma', () => {
    expect(changed('{"a":1}', '{"a":1,"b":2}')).toEqual([[], ['"b": 2']]);
  });

  it('marks a whole inserted block, the brackets included', () => {
    const long = 'x'.repeat(60);
    expect(changed('{"a":1}', JSON.stringify({ a: 1, list: [long] }))).toEqual([
      [],
      ['"list": [', `"${long}"`, ']'],
    ]);
  });

  it('marks a request line and never the blank line', () => {
    expect(changed('PUT /a\n\n{}', 'PUT /b\n\n{}')).toEqual([['PUT /a'], ['PUT /b']]);
    expect(changed('GET /a', 'PUT /b\n\n{}')).toEqual([['GET /a'], ['PUT /b', '{}']]);
  });
});
