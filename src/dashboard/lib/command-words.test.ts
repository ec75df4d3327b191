import { expect, it } from 'vitest';
import { commandWords } from './command-words.ts';

it.each([
  ['/bin/sh', ['/bin/sh']],
  ['  psql  -U postgres ', ['psql', '-U', 'postgres']],
  [`sh -c 'echo "a  b"'`, ['sh', '-c', 'echo "a  b"']],
  [`echo "it's" a\\ b ""`, ['echo', "it's", 'a b', '']],
  ['   ', []],
])('reads %j', (line, words) => {
  expect(commandWords(line)).toEqual(words);
});
