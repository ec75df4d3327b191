/**
 * Fades what is not wanted, without drawing anything again: of thousands of cells a search changes nothing but this, and drawing them
 * for each key would take more than a second.
 */
export function fade(cells: Element | null, wanted: string): void {
  for (const cell of cells?.querySelectorAll<HTMLElement>('a[data-owner]') ?? []) {
    const isFaded = wanted !== '' && cell.dataset['owner']?.includes(wanted) !== true;
    if (isFaded !== cell.hasAttribute('data-faded')) cell.toggleAttribute('data-faded', isFaded);
  }
}
