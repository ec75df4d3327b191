const ALPHABETS = {
  alphanumeric: 'q7RfZ2kVbN9xLs4TgYw8HdJc3MpXe6AvKu5DnQiGzWt1BoSrFyEhCjPmUlOa0I',
  lower: 'q7fz2kvbn9xls4tgyw8hdjc3mpe6au5riot1',
  upper: 'R7FZ2KVBN9XLS4TGYW8HDJC3MPE6AU5QIOT1',
  hex: '7f2b9c4d8e3a6051',
  digits: '7294836150',
} as const;

/**
 * Made-up text in the shape of a credential. Examples are built instead of written out, so that the
 * scanners of code hosts do not take the documentation for a leak.
 */
export function specimen(prefix: string, length: number, alphabet: keyof typeof ALPHABETS = 'alphanumeric') {
  const characters = ALPHABETS[alphabet];
  let state = prefix.length + length;
  let text = prefix;
  for (let index = 0; index < length; index += 1) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    text += characters[Math.floor(state / 65_536) % characters.length];
  }
  return text;
}
