/** Colours, and where links begin and end. */
const ESCAPE = /^(?:\u001B\[[0-9;]*m|\u001B\]8;[!-~]*\u001B\\)$/;
const PIECES = /\u001B\[[0-9;]*m|\u001B\]8;[!-~]*\u001B\\|[^\u001B]+|\u001B/g;
/** The first part is all of an end. */
const LINK = /^(\u001B\]8;[^;]*;)([!-~]*)\u001B\\$/;
/** One column for each: ASCII, and the ellipsis of what was cut off. */
const PLAIN = /^[\u0020-\u007E\u2026]*$/;

/** Two columns: scripts of East Asia, their full-width forms, and pictures. */
const WIDE =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97C\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{16FE0}-\u{18CFF}\u{1B000}-\u{1B2FF}\u{1F300}-\u{1F64F}\u{1F680}-\u{1F6FF}\u{1F900}-\u{1FAFF}\u{20000}-\u{3FFFD}]|\uFE0F|\p{Emoji_Presentation}/u;
/** None of their own: marks that stand on the letter before them, and what joins letters. */
const MARKS = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

let segmenter: Intl.Segmenter | undefined;

/** Made when there is text for it: that takes a tenth of what a short command takes. */
function lettersOf(text: string): Iterable<{ readonly segment: string }> {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  return segmenter.segment(text);
}

function widthOfLetter(letter: string): number {
  if (MARKS.test(letter)) return 0;
  return WIDE.test(letter) ? 2 : 1;
}

interface Piece {
  readonly text: string;
  readonly width: number;
}

/** What a person calls a letter stays whole; colours take no room. */
function* piecesOf(text: string): Generator<Piece> {
  for (const [part] of text.matchAll(PIECES)) {
    if (ESCAPE.test(part)) yield { text: part, width: 0 };
    else if (PLAIN.test(part)) for (const letter of part) yield { text: letter, width: 1 };
    else for (const { segment } of lettersOf(part)) yield { text: segment, width: widthOfLetter(segment) };
  }
}

/** Columns that a text takes on a terminal, without its colours. */
export function displayWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const piece of piecesOf(text)) width += piece.width;
  return width;
}

/** At most so many columns; what is cut off is shown by an ellipsis. Never cuts a letter in two, and ends the colours and links that it cuts. */
export function clipped(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  let [kept, width, isColoured, linkEnd] = ['', 0, false, ''];
  for (const piece of piecesOf(text)) {
    if (width + piece.width > Math.max(1, columns - 1)) break;
    kept += piece.text;
    width += piece.width;
    const [, before, url] = LINK.exec(piece.text) ?? [];
    if (before !== undefined) linkEnd = url === '' ? '' : `${before}\u001B\\`;
    else isColoured ||= piece.text.startsWith('\u001B');
  }
  return `${kept}${linkEnd}…${isColoured ? '\u001B[0m' : ''}`;
}
