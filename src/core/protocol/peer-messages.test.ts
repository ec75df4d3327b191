import { describe, expect, it } from 'vitest';
import { peerAnswers, peerQuestion, peerStreamLine, peerStreamRequest } from './peer-messages.ts';
import { frameReader } from '../schema/read-message.ts';

const readLine = frameReader(peerStreamLine);
const readQuestion = frameReader(peerQuestion);

describe('what control planes say to each other', () => {
  it.each([
    { item: { text: 'x', channel: 'stdout' } },
    { item: { value: [{ any: 1 }] } },
    { end: {} },
    { end: { exitCode: 1, error: { reason: 'r', message: 'm' } } },
  ])('a line of a stream: %j', (line) => {
    expect(readLine(JSON.stringify(line))).toEqual(line);
    expect(readLine(JSON.stringify({ ...line, later: 1 }))).toEqual(line);
  });

  it.each([{}, { item: { text: 1 } }, { item: {}, end: {} }, [], null])('no line: %j', (line) => {
    expect(readLine(JSON.stringify(line))).toBeUndefined();
  });

  it('a question of a newer version is not answered, with a newer field it is', () => {
    expect(readQuestion('{"kind":"later"}')).toBeUndefined();
    expect(readQuestion('{"kind":"constructor"}')).toBeUndefined();
    expect(readQuestion('{"kind":"store","later":1}')).toEqual({ kind: 'store' });
    const stream = frameReader(peerStreamRequest);
    expect(stream('{"tenantId":"t","node":"n","operation":{"kind":"later"}}')).toBeUndefined();
  });

  it('an answer is what was asked for, or none', () => {
    const usage = [{ instanceId: 'i', cpuPercent: 1, memoryBytes: 2, ageMs: 3 }];
    expect(frameReader(peerAnswers.usage)(JSON.stringify(usage))).toEqual(usage);
    expect(frameReader(peerAnswers.usage)('{"why":"x"}')).toBeUndefined();
    expect(frameReader(peerAnswers.scaling)('null')).toBeUndefined();
    expect(frameReader(peerAnswers.store)('true')).toBe(true);
  });
});
