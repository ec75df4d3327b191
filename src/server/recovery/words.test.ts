import { describe, expect, it } from 'vitest';
import { readWords } from './words.ts';

const FLAGS = [{ name: '--to', value: 'FILE', about: '' }];

describe('words of a command', () => {
  it('are its own flags, settings of the control plane, and files', () => {
    expect(
      readWords(['a.backup', '--to', 'x', '--data-dir', '/d', '--insecure-listen', '--config=b.yaml'], FLAGS),
    ).toEqual({
      values: { '--to': 'x' },
      files: ['a.backup'],
      settings: ['--data-dir', '/d', '--insecure-listen', '--config=b.yaml'],
    });
    expect(readWords(['--to=x=y'], FLAGS).values).toEqual({ '--to': 'x=y' });
  });

  it.each([[['--to']], [['--to=']], [['--to', '--data-dir', '/d']]])('of %j lack a value', (args) => {
    expect(() => readWords(args, FLAGS)).toThrow('--to needs a value');
  });
});
