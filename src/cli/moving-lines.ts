import { clipped, displayWidth } from './display-width.ts';

interface Screen {
  readonly columns: () => number;
  write(text: string): void;
  /** Empties the line of the cursor, and so many above it. */
  erase(above: number): void;
}

/** The last lines of a terminal, which are drawn again and again. All else that is written goes above them. */
export class MovingLines {
  readonly #screen: Screen;
  #drawn: readonly string[] = [];

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  /** In place of those before; none: they are taken back. */
  draw(lines: readonly string[]): void {
    const columns = this.#screen.columns();
    // A window that became narrower wraps what was drawn, or cuts it off: how many rows it takes, each terminal decides for itself.
    if (this.#drawn.some((line) => displayWidth(line) >= columns)) this.#screen.write('\n');
    else if (this.#drawn.length > 0) this.#screen.erase(this.#drawn.length - 1);
    this.#drawn = lines.map((line) => clipped(line, columns - 1));
    if (lines.length > 0) this.#screen.write(this.#drawn.join('\n'));
  }

  above(text: string, write: (text: string) => void): void {
    const lines = this.#drawn;
    if (lines.length === 0) {
      write(text);
      return;
    }
    this.draw([]);
    write(text.endsWith('\n') ? text : `${text}\n`);
    this.draw(lines);
  }
}
