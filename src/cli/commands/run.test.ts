import { describe, expect, it } from 'vitest';
import { environmentEntry, nameFromImage, portOf } from './run.ts';

describe('what run makes of its words', () => {
  it.each([
    ['nginx:1.29.1', 'nginx'],
    ['registry.internal:5000/shop/Web_App:1.4', 'web-app'],
    ['ghcr.io/a/b@sha256:00', 'b'],
    ['localhost:5000/7zip:1', 'zip'],
  ])('the name of %s is %s', (image, name) => expect(nameFromImage(image)).toBe(name));

  it('asks for a name when none can be made', () =>
    expect(() => nameFromImage('x/123:1')).toThrow('no name can be made'));

  it.each([
    ['18080:8080', { host: 18080, container: 8080 }],
    ['8080', { container: 8080 }],
  ])('the port %s is %o', (text, port) => expect(portOf(text)).toEqual(port));

  it.each(['a:b', '1:2:3', '', '127.0.0.1:80:80'])('the port %s is refused', (text) =>
    expect(() => portOf(text)).toThrow('HOST:CONTAINER'),
  );

  it('keeps everything after the first = of a variable', () => {
    expect(environmentEntry('A=b=c')).toEqual(['A', 'b=c']);
    expect(() => environmentEntry('=b')).toThrow('KEY=VALUE');
  });

  it('does not repeat a value that was given without a key', () => {
    expect(() => environmentEntry('=hunter2')).toThrow(/^(?!.*hunter2)/);
  });
});
