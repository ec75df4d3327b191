/**
 * The terminal emulator writes style elements and style attributes, and the page's policy allows neither. While one is shown, what it
 * makes does the same in ways that the policy allows: what stands for a style element fills an adopted style sheet, and a style attribute
 * sets properties.
 */
export class StyledElements {
  readonly #sheets: CSSStyleSheet[] = [];

  /** All style elements are made by this call, the spans of its lines at any time. One at a time. */
  constructor(open: () => void) {
    this.#make((name) => (name === 'style' ? this.#style() : made(name)));
    try {
      open();
    } catch (error) {
      this.dispose();
      throw error;
    }
    this.#make(made);
  }

  dispose(): void {
    Reflect.deleteProperty(document, 'createElement');
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => !this.#sheets.includes(one));
  }

  #make(create: (name: string) => HTMLElement): void {
    Object.defineProperty(document, 'createElement', { configurable: true, value: create });
  }

  #style(): HTMLElement {
    const sheet = new CSSStyleSheet();
    this.#sheets.push(sheet);
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    const element = made('template');
    Object.defineProperty(element, 'textContent', {
      set: (text: string) => {
        sheet.replaceSync(text);
      },
    });
    return element;
  }
}

function made(name: string): HTMLElement {
  const element = Document.prototype.createElement.call(document, name);
  if (name === 'span') element.setAttribute = setAllowed;
  return element;
}

function setAllowed(this: HTMLElement, name: string, value: string): void {
  if (name === 'style') this.style.cssText = value;
  else Element.prototype.setAttribute.call(this, name, value);
}
