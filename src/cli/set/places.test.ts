import { LineCounter, parseAllDocuments } from 'yaml';
import { describe, expect, it } from 'vitest';
import { placesIn } from './places.ts';

async function placeIn(text: string, field: string, index = 0): Promise<string> {
  const lineCounter = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter });
  const document = Array.isArray(documents) ? documents[index] : undefined;
  if (document === undefined) throw new Error('no such document');
  return (await placesIn(document, lineCounter))(field);
}

const TEXT = `# a remark
name: web
ports:
  - container: 80
  - container: 99999
    host: 1
labels:
  a: "1"
  a.b: "2"
environment: { A: "1", B: "2" }
---
name: second
healthCheck:
  type: exec
`;

describe('the place of a field', () => {
  it.each([
    ['name', '2:1'],
    ['ports[1].container', '5:5'],
    ['ports[1]', '5:5'],
    ['ports[7].container', '3:1'],
    ['labels.a.b', '9:3'],
    ['environment.B', '10:24'],
    ['healthCheck.command', '2:1'],
    ['body', '2:1'],
  ])('%s', async (field, place) => {
    expect(await placeIn(TEXT, field)).toBe(place);
  });

  it('of what is missing is that of what it is missing in', async () => {
    expect(await placeIn(TEXT, 'healthCheck.command[0]', 1)).toBe('13:1');
    expect(await placeIn(TEXT, 'image', 1)).toBe('12:1');
  });

  it('is known in JSON too', async () => {
    expect(
      await placeIn('{\n\t"name": "web",\n\t"ports": [{ "container": 0 }]\n}\n', 'ports[0].container'),
    ).toBe('3:14');
  });
});
