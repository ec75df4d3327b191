import { Terminal } from '@xterm/xterm';
import '@xterm/xterm/css/xterm.css';
import { useEffect, useRef } from 'react';
import type { ChannelEnd } from '../../../core/contract/channel-messages.ts';
import { type ChannelTarget, ExecChannel } from '../../lib/exec-channel.ts';
import { OutputQueue } from '../../lib/output-queue.ts';
import { StyledElements } from '../../lib/styled-elements.ts';

const SCROLLBACK_LINES = 5000;
const SCROLLBAR_PX = 14;
const READABLE = 4.5;

export interface TerminalRun {
  readonly target: ChannelTarget;
  readonly command: readonly string[];
}

function themed() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  return {
    background: colour('--surface'),
    foreground: colour('--ink'),
    cursor: colour('--accent'),
    cursorAccent: colour('--surface'),
    selectionBackground: colour('--accent-soft'),
  };
}

function emulator(): Terminal {
  const style = getComputedStyle(document.documentElement);
  return new Terminal({
    fontFamily: style.getPropertyValue('--font-mono').trim() || 'monospace',
    fontSize: 13,
    scrollback: SCROLLBACK_LINES,
    minimumContrastRatio: READABLE,
    theme: themed(),
    // Addresses that a workload prints stay text.
    linkHandler: { activate: () => undefined },
  });
}

/** As many cells as there is room for. */
function fit(terminal: Terminal, room: HTMLElement): void {
  const screen = room.querySelector('.xterm-screen')?.getBoundingClientRect();
  if (screen === undefined || screen.width === 0 || screen.height === 0) return;
  const columns = Math.floor(((room.clientWidth - SCROLLBAR_PX) * terminal.cols) / screen.width);
  const rows = Math.floor((room.clientHeight * terminal.rows) / screen.height);
  if (columns > 1 && rows > 1) terminal.resize(columns, rows);
}

/** A way out by keyboard, and a selection that can be copied; all other keys are for the command. */
function isForCommand(terminal: Terminal, event: KeyboardEvent): boolean {
  if (terminal.options.disableStdin === true) return false;
  if (event.key === 'Tab' && event.shiftKey) return false;
  if (event.key === 'c' && event.ctrlKey && terminal.hasSelection()) {
    // Once it is copied; the next one interrupts.
    setTimeout(() => terminal.clearSelection());
    return false;
  }
  return true;
}

/** One command from its start to its end; another `run` is another command. */
export function TerminalScreen({
  run,
  label,
  describedBy,
  isSpoken,
  isOver,
  leave,
  onStarted,
  onEnd,
}: {
  readonly run: TerminalRun;
  readonly label: string;
  readonly describedBy: string;
  /** Output for screen readers, too. */
  readonly isSpoken: boolean;
  /** Closed from here: what was printed stays to be read. */
  readonly isOver: boolean;
  /** Aborted by who leaves the command running. */
  readonly leave: AbortSignal;
  readonly onStarted: () => void;
  readonly onEnd: (end: ChannelEnd | undefined) => void;
}) {
  const room = useRef<HTMLDivElement>(null);
  const shown = useRef<Terminal>(null);
  const joined = useRef<ExecChannel>(null);
  const said = useRef({ onStarted, onEnd });
  said.current = { onStarted, onEnd };
  useEffect(() => {
    const element = room.current;
    if (element === null) return undefined;
    const terminal = emulator();
    const styled = new StyledElements(() => terminal.open(element));
    shown.current = terminal;
    terminal.textarea?.setAttribute('aria-label', label);
    terminal.textarea?.setAttribute('aria-describedby', describedBy);
    fit(terminal, element);
    const { cols: columns, rows } = terminal;
    const output = new OutputQueue((piece, drawn) => terminal.write(piece, drawn));
    const channel = new ExecChannel(
      run.target,
      { type: 'exec', command: run.command, tty: true, stdin: true, columns, rows },
      {
        onStarted: () => said.current.onStarted(),
        onOutput: (bytes) => output.add(bytes),
        onEnd: (end) => {
          terminal.options.disableStdin = true;
          said.current.onEnd(end);
        },
      },
    );
    joined.current = channel;
    terminal.attachCustomKeyEventHandler((event) => isForCommand(terminal, event));
    const encoder = new TextEncoder();
    terminal.onData((text) => channel.type(encoder.encode(text)));
    terminal.onBinary((text) => channel.type(Uint8Array.from(text, (character) => character.charCodeAt(0))));
    terminal.onResize((size) => channel.say({ type: 'resize', columns: size.cols, rows: size.rows }));
    leave.addEventListener('abort', () => channel.say({ type: 'detach' }), { once: true });
    const resized = new ResizeObserver(() => fit(terminal, element));
    resized.observe(element);
    const dyed = new MutationObserver(() => (terminal.options.theme = themed()));
    dyed.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    terminal.focus();
    return () => {
      resized.disconnect();
      dyed.disconnect();
      channel.close();
      terminal.dispose();
      styled.dispose();
      shown.current = null;
    };
  }, [run, label, describedBy, leave]);
  useEffect(() => {
    if (shown.current !== null) shown.current.options.screenReaderMode = isSpoken;
  }, [isSpoken, run]);
  useEffect(() => {
    if (isOver) joined.current?.close();
  }, [isOver]);
  return (
    <div className="rounded-lg border bg-surface p-3 focus-within:outline-2 focus-within:outline-accent">
      <div ref={room} className="h-[min(60dvh,36rem)] overflow-hidden" />
    </div>
  );
}
